"""Feature-wise attention among chosen tokens in Triton: equal to float64 under the same choice, written out."""

import os
from typing import Any

import pytest
import torch

from tiers import sweep_but, tries

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when the kernels are first imported
pytest.importorskip("triton")

from feature_cases import PATTERNS, close, like_a_gpu
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from regard.errors import RegardError
from regard.kernels import feature_triton, selected_feature_triton
from regard.kernels.feature import feature_attention
from regard.kernels.selected import selected_attention

pytestmark = [
    pytest.mark.skipif(torch.cuda.is_available(), reason="benchmarks/check_feature.py does this on a GPU"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),  # the interpreter is NumPy, which remarks on every overflow
]


@pytest.fixture(autouse=True)
def _small_tiles_and_poison(monkeypatch):
    """Tiles that small inputs fill, and memory that holds anything but zeros."""
    for name in ("answer", "query_gradient", "key_gradient"):
        monkeypatch.setitem(feature_triton.TILES, name, (8, 8, 4))
    for name in ("empty", "empty_like"):
        plain = getattr(torch, name)

        def filled(*given: Any, plain: Any = plain, **options: Any) -> Tensor:
            out = plain(*given, **options)
            return out.fill_(float("nan") if out.is_floating_point() else -1)

        monkeypatch.setattr(torch, name, filled)


def with_gradients(attend: Any, inputs: tuple[Tensor, ...], dtype: torch.dtype) -> list[Tensor]:
    """The answer and the gradients of q, k, v, with the same draw of dropout each time."""
    q, k, v = (t.detach().to(dtype).requires_grad_() for t in inputs)
    torch.manual_seed(7)
    answer = attend(q, k, v)
    pull = torch.randn(answer.shape, generator=torch.Generator().manual_seed(3)).to(answer)
    return [answer.detach(), *torch.autograd.grad(answer, (q, k, v), pull)]


def chosen(inputs: tuple[Tensor, ...], asks: Tensor, seen: Tensor, dtype=torch.float32, **options: Any) -> list[Tensor]:
    options = {"backend": "triton", **options}
    return with_gradients(lambda *t: selected_attention("feature", *t, asks, seen, **options), inputs, dtype)


def dense(inputs: tuple[Tensor, ...], asks: Tensor, seen: Tensor, **options: Any) -> list[Tensor]:
    mask = asks[:, :, None] & seen[:, None, :]
    attend = lambda *t: feature_attention(*t, mask, backend="reference", **options)  # noqa: E731
    return with_gradients(attend, inputs, torch.float64)


def three(*shape: int, size: float = 1.0) -> tuple[Tensor, ...]:
    return size * torch.randn(shape), size * torch.randn(shape), torch.randn(shape)


def test_numbers_by_hand():
    # Tokens 0, 2, 3 ask, 1 and 2 are looked at, strictly earlier ones only. Token 2 sees token 1 alone; token 3 sees
    # both, whose scores 5·tanh(0/5) = 0 are equal, so it answers the mean; token 0 sees nothing.
    v = torch.tensor([[[10.0], [1.0], [3.0], [20.0]]], requires_grad=True)
    zeros = torch.zeros(1, 4, 1)
    asks, seen = torch.tensor([[True, False, True, True]]), torch.tensor([[False, True, True, False]])
    answer = selected_attention("feature", zeros, zeros, v, asks, seen, pattern="forward", backend="triton")
    assert answer.flatten().tolist() == pytest.approx([0.0, 0.0, 1.0, 2.0])
    assert torch.autograd.grad(answer.sum(), v)[0].flatten().tolist() == pytest.approx([0.0, 1.5, 0.5, 0.0])


def test_the_list_by_hand():
    # Five ask where there is room for three, and nobody is seen: two counts, three rows, and nothing else is touched.
    asks, seen = torch.ones(1, 5, dtype=torch.bool), torch.zeros(1, 5, dtype=torch.bool)
    shape = torch.Size((1, 5, 2))
    plan = selected_feature_triton._plan(shape, 3, 5.0, 0.0, "none", -1, False, True, None, "here")
    listed, out = torch.empty(plan.list_size + 4, dtype=torch.int32), torch.empty(1, 6, 2)
    plan.listing(asks, seen, asks, listed, out)
    assert listed.tolist() == [3, 0, 0, 1, 2] + [-1] * 7
    assert not out[0, :5].any()
    assert out[0, 5].isnan().all()


@pytest.mark.sweep
@settings(max_examples=tries(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_equals_the_dense_form(data):
    batch, time, width = (data.draw(st.integers(1, most)) for most in (3, 12, 10))
    torch.manual_seed(data.draw(st.integers(0, 10**6)))
    inputs = three(batch, time, width, size=data.draw(st.sampled_from([1.0, 1.0, 40.0])))
    share = data.draw(st.sampled_from([0.0, 0.3, 0.7, 1.0]))
    asks, seen = torch.rand(batch, time) < share, torch.rand(batch, time) < share
    options: dict[str, Any] = {"pattern": data.draw(st.sampled_from(PATTERNS))}
    options["band"] = data.draw(st.sampled_from([-1, -1, 0, 3]))
    options["scale"] = data.draw(st.sampled_from([5.0, 1.0, 12.5]))
    if data.draw(st.booleans()):
        kind = data.draw(st.sampled_from([torch.int64, torch.int32]))
        options["positions"] = torch.randint(0, 20, (batch, time), dtype=kind)
    assert close(chosen(inputs, asks, seen, **options), dense(inputs, asks, seen, **options))


@pytest.mark.sweep
@pytest.mark.parametrize("pattern", ["none", "forward"])
def test_longer_than_a_part_a_chunk_and_a_span(pattern, monkeypatch):
    for name in ("answer", "query_gradient", "key_gradient"):
        monkeypatch.setitem(feature_triton.TILES, name, (32, 8, 4))
    torch.manual_seed(2)
    inputs = three(1, 520, 3)
    asks, seen = torch.rand(1, 520) < 0.07, torch.rand(1, 520) < 0.07
    asks[0, 513:515] = seen[0, 515] = True
    assert min(int(asks.sum()), int(seen.sum())) > 32
    inputs[0][0, 513:515], inputs[1][0, 515] = 300.0, 300.0  # only the last part of the magnitudes knows
    got = chosen(inputs, asks, seen, pattern=pattern, capacity=80)
    assert close(got, dense(inputs, asks, seen, pattern=pattern))


@pytest.mark.sweep
def test_one_sentence_with_nothing_and_one_with_everything():
    inputs, asks = three(3, 9, 5), torch.tensor([[False] * 9, [True] * 9, [True] * 4 + [False] * 5])
    for seen in (asks, asks.flip(0)):
        assert close(chosen(inputs, asks, seen), dense(inputs, asks, seen))


@pytest.mark.parametrize("pattern", sweep_but(PATTERNS, "causal"))
def test_given_positions_need_no_order(pattern):
    inputs, asks, seen = three(2, 9, 5), torch.rand(2, 9) < 0.7, torch.rand(2, 9) < 0.7
    options: dict[str, Any] = {"pattern": pattern, "positions": torch.stack([torch.randperm(9) for _ in range(2)])}
    assert close(chosen(inputs, asks, seen, **options), dense(inputs, asks, seen, **options))


@pytest.mark.parametrize("capacity", sweep_but([0, 1, 3, 100], 0, 3))
def test_what_does_not_fit_is_left_out(capacity):
    inputs, asks, seen = three(2, 9, 5), torch.rand(2, 9) < 0.7, torch.rand(2, 9) < 0.7
    fits = [mask & (mask.cumsum(1) <= max(capacity, 1)) for mask in (asks, seen)]
    got = chosen(inputs, asks, seen, capacity=capacity, pattern="not_self")
    assert close(got, dense(inputs, *fits, pattern="not_self"))


def test_dropout_is_the_same_in_both_passes():
    # The readable path draws by the same numbers: those of the chosen rows, in as much room.
    inputs, asks, seen = three(2, 9, 5), torch.rand(2, 9) < 0.6, torch.rand(2, 9) < 0.6
    options: dict[str, Any] = {"dropout": 0.4, "capacity": 9, "pattern": "not_self"}
    got = chosen(inputs, asks, seen, **options)
    assert close(got, chosen(inputs, asks, seen, torch.float64, **options, backend="reference"))
    assert not torch.allclose(got[0], chosen(inputs, asks, seen, pattern="not_self")[0])


@pytest.mark.parametrize("dtype", sweep_but([torch.float16, torch.bfloat16], torch.bfloat16))
def test_half_precision(dtype):
    inputs, asks, seen = three(2, 9, 5), torch.rand(2, 9) < 0.6, torch.rand(2, 9) < 0.6
    rounded = tuple(t.to(dtype) for t in inputs)
    got = chosen(rounded, asks, seen, dtype, pattern="causal")
    assert all(t.dtype == dtype for t in got)
    tolerance = 4e-3 if dtype == torch.float16 else 2e-2
    assert close(got, dense(rounded, asks, seen, pattern="causal"), tolerance)


@pytest.mark.sweep
def test_unchosen_rows_are_never_read():
    inputs, asks, seen = three(2, 9, 5), torch.rand(2, 9) < 0.5, torch.rand(2, 9) < 0.5
    whole = chosen(inputs, asks, seen, pattern="not_self")
    for tensor, mask in zip(inputs, (asks, seen, seen), strict=True):
        tensor[~mask] = float("nan")
    torn = chosen(inputs, asks, seen, pattern="not_self")
    for a, b, mask in zip(torn, whole, (asks, asks, seen, seen), strict=True):
        assert torch.equal(a, b)
        assert not a[~mask].any()


def test_nothing_is_kept_where_no_gradient_is_asked_for(monkeypatch):
    (q, k, v), asks, seen = three(2, 9, 5), torch.rand(2, 9) < 0.5, torch.rand(2, 9) < 0.5
    sizes: list[int] = []
    plain = torch.empty
    monkeypatch.setattr(torch, "empty", lambda *size, **options: (sizes.append(1), plain(*size, **options))[1])
    attend = lambda: selected_attention("feature", q, k, v, asks, seen, backend="triton")  # noqa: E731
    alone = attend()
    assert len(sizes) == 2  # the list and the workspace
    k.requires_grad_()
    with torch.no_grad():
        assert torch.equal(attend(), alone)
    assert len(sizes) == 4
    assert torch.equal(attend(), alone)
    assert len(sizes) == 7


def test_alone_and_in_a_batch():
    inputs, asks, seen = three(3, 9, 5), torch.rand(3, 9) < 0.5, torch.rand(3, 9) < 0.5
    together = chosen(inputs, asks, seen, pattern="backward")[0]
    for i in range(3):
        one = tuple(t[i : i + 1] for t in inputs)
        assert torch.equal(chosen(one, asks[i : i + 1], seen[i : i + 1], pattern="backward")[0], together[i : i + 1])


def test_any_strides_and_a_graph_walked_twice():
    q, k, v = (t.transpose(0, 1).requires_grad_() for t in three(9, 2, 5))
    asks = seen = (torch.rand(9, 2) < 0.6).T
    answer = selected_attention("feature", q, k, v, asks, seen, backend="triton")
    assert torch.allclose(answer, selected_attention("feature", q, k, v, asks, seen, backend="reference"), atol=1e-5)
    first, second = (torch.autograd.grad(answer.sum(), (q, k, v), retain_graph=True) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def test_other_calls_go_the_other_way(monkeypatch):
    taken: list[int] = []
    plain = selected_feature_triton.selected_feature
    spy = lambda *given: (taken.append(1), plain(*given))[1]  # noqa: E731
    monkeypatch.setattr(selected_feature_triton, "selected_feature", spy)
    (q, k, v), asks = three(1, 4, 3), torch.ones(1, 4, dtype=torch.bool)
    selected_attention("feature", q, k, v, asks, asks, backend="triton")
    assert len(taken) == 1
    selected_attention("feature", q, k, v, asks, asks)  # a CPU has its own way
    selected_attention("feature", q.double(), k.double(), v.double(), asks, asks, backend="triton")
    selected_attention("feature", q.half(), k, v, asks, asks, backend="triton")
    with pytest.raises(RegardError, match="scale"):
        selected_attention("feature", q, k, v, asks, asks, scale=41.0, backend="triton")
    assert len(taken) == 1


@pytest.mark.parametrize("wrong", [{"pattern": "forwards"}, {"band": -2}, {"dropout": 1.0}, {"scale": 0.0}])
def test_what_is_wrong_is_said(wrong):
    q, asks = torch.randn(1, 4, 3), torch.ones(1, 4, dtype=torch.bool)
    with pytest.raises(RegardError):
        selected_attention("feature", q, q, q, asks, asks, backend="triton", **wrong)


@pytest.mark.sweep
def test_what_one_key_answers_is_its_value(monkeypatch):
    like_a_gpu(monkeypatch)
    torch.manual_seed(0)
    inputs, one = three(1, 3, 150), torch.tensor([[False, True, False]])
    found, true = chosen(inputs, one, one), dense(inputs, one, one)
    for i in (0, 3):  # the answer, and the gradient of v
        assert ((found[i].double() - true[i]).abs() <= 1.01 * torch.finfo(torch.float32).eps * true[i].abs()).all()
