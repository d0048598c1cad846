"""What is hidden may hold anything: on every path nothing of it reaches an answer or a gradient."""

import os
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from tiers import sweep_but

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when the kernels are first imported

from regard.attend.attention import Attention
from regard.attend.heads import Heads
from regard.find import build, names
from regard.kernels.additive import additive_attention
from regard.kernels.direct import TRITON
from regard.kernels.dot import dot_attention
from regard.kernels.feature import feature_attention
from regard.kernels.hidden import poisoned, shielded, tame, without_padding
from regard.kernels.selected import selected_attention

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the interpreter's numpy speaks of overflow
INTERPRETED = TRITON and os.environ.get("TRITON_INTERPRET") == "1"
nan, inf = float("nan"), float("inf")
BATCH, TIME, WIDTH = 3, 6, 4
lengths = torch.tensor([6, 4, 0])
there = torch.arange(TIME) < lengths[:, None]
middle = there & (torch.arange(TIME) != 2)  # padding, and one hidden in the middle
held = pytest.mark.parametrize("held", [nan, inf, -inf, 1e38], ids=["nan", "inf", "-inf", "large"])

Call = Callable[[Tensor, Tensor, Tensor], Tensor]
Made = tuple[list[Tensor], Tensor, Tensor]


def inputs(dtype: torch.dtype = torch.float32) -> list[Tensor]:
    torch.manual_seed(4)
    return [torch.randn(BATCH, TIME, WIDTH, dtype=dtype) for _ in range(3)]


def ran(call: Callable[..., Tensor], tensors: list[Tensor], rows: Tensor | None = None) -> list[Tensor]:
    """The answers (of these queries), and the gradients of all that was given."""
    leaves = [one.clone().requires_grad_() for one in tensors]
    answer = call(*leaves)
    shown = answer if rows is None else answer[rows]
    up = torch.linspace(-1, 1, shown.numel()).reshape(shown.shape).to(shown.dtype)
    return [shown.detach(), *torch.autograd.grad(shown, leaves, up, allow_unused=True)]


def nothing_of_it(
    call: Callable[..., Tensor], tensors: list[Tensor], hidden: Tensor, held: float, more: int = 0
) -> None:
    """The same answers and gradients, whatever keys and values (and `more` that follow) hold where they are hidden."""
    clean = [one if i == 0 else one.masked_fill(_beside(hidden, one), 0.0) for i, one in enumerate(tensors)]
    dirty = [
        one if i == 0 or i > 2 + more else one.masked_fill(_beside(hidden, one), held) for i, one in enumerate(tensors)
    ]
    for one, other in zip(ran(call, dirty), ran(call, clean), strict=True):
        if one is None:  # through a choice there is none
            continue
        assert one.isfinite().all()
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)
    for gradient in ran(call, dirty)[2:4]:
        assert gradient is None or not gradient[hidden].any()


def _beside(hidden: Tensor, one: Tensor) -> Tensor:
    return hidden.unsqueeze(1) if one.shape == (BATCH, 1, TIME) else hidden.unsqueeze(-1)


# --- kernels ---------------------------------------------------------------------------------------------------


@pytest.mark.thin
@held
@pytest.mark.parametrize("backend", ["reference", "cpu"])
@pytest.mark.parametrize("score", ["additive", "feature"])
@pytest.mark.parametrize("how", ["lengths", "mask"])
def test_padding(score: str, backend: Any, how: str, held: float) -> None:
    w = torch.linspace(-1, 1, WIDTH)
    seen: dict[str, Any] = {"lengths": lengths} if how == "lengths" else {"mask": middle.unsqueeze(1)}
    hidden = ~(there if how == "lengths" else middle)

    def call(q: Tensor, k: Tensor, v: Tensor, *bias: Tensor) -> Tensor:
        given = {**seen, "bias": bias[0]} if bias else seen
        if score == "additive":
            return additive_attention(q, k, v, w, backend=backend, **given)
        return feature_attention(q, k, v, backend=backend, **given)

    nothing_of_it(call, inputs(), hidden, held)
    nothing_of_it(call, [*inputs(), torch.randn(BATCH, 1, TIME)], hidden, held, more=1)


@pytest.mark.parametrize("backend", ["reference", "cpu"])
@pytest.mark.parametrize("held", [nan, inf])
def test_gradients_of_w(backend: Any, held: float) -> None:
    w = torch.linspace(-1, 1, WIDTH).requires_grad_()
    q, k, v = inputs()
    for seen in ({"lengths": lengths}, {"mask": middle.unsqueeze(1)}):
        hidden = ~(there if "lengths" in seen else middle).unsqueeze(-1)
        clean, dirty = (
            torch.autograd.grad(
                additive_attention(
                    q, k.masked_fill(hidden, x), v.masked_fill(hidden, x), w, backend=backend, **seen
                ).sum(-1).square().sum(), w,
            )[0]
            for x in (0.0, held)
        )  # fmt: skip
        torch.testing.assert_close(dirty, clean)


@held
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_dot_product(dtype: torch.dtype, held: float) -> None:
    for mask in (middle.unsqueeze(1), middle.unsqueeze(1).expand(BATCH, TIME, TIME)):
        nothing_of_it(lambda q, k, v, mask=mask: dot_attention(q, k, v, mask).float(), inputs(), ~middle, held)
    if dtype != torch.float32:
        tensors = inputs(dtype)
        dirty = [tensors[0], *(one.masked_fill(~middle.unsqueeze(-1), held) for one in tensors[1:])]
        found = ran(lambda q, k, v: dot_attention(q, k, v, middle.unsqueeze(1)), dirty)
        assert all(one.isfinite().all() for one in found)


@held
@pytest.mark.parametrize("backend", ["reference", "cpu"])
@pytest.mark.parametrize("score", ["additive", "feature"])
def test_tokens_that_were_not_chosen(score: Any, backend: Any, held: float) -> None:
    w = torch.linspace(-1, 1, WIDTH)

    def call(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return selected_attention(score, q, k, v, there, middle, w=w, pattern="forward", backend=backend)

    nothing_of_it(call, inputs(), ~middle, held)


PAIRED = ["additive-reference", "additive-cpu", "feature-reference", "feature-cpu", "dot-cpu"]


@pytest.mark.parametrize("held", [nan, inf])
@pytest.mark.parametrize("path", PAIRED)
@pytest.mark.parametrize("where", ["keys", "values", "both"])
def test_what_only_some_see_reaches_no_others(path: str, where: str, held: float) -> None:
    """The fourth token is not a number. Under a causal mask the first three answers and the gradients of their queries
    know nothing of it; the others are not numbers."""
    score, backend = path.split("-")
    mask, w, (q, k, v) = torch.ones(TIME, TIME, dtype=torch.bool).tril(), torch.linspace(-1, 1, WIDTH), inputs()
    dirty_k, dirty_v = k.clone(), v.clone()
    if where != "values":
        dirty_k[:, 3] = held
    if where != "keys":
        dirty_v[:, 3] = held

    def call(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        if score == "dot":
            return dot_attention(q, k, v, mask)
        one: Any = additive_attention if score == "additive" else feature_attention
        return one(q, k, v, *([w] if score == "additive" else []), mask, backend=backend)

    first = torch.arange(TIME) < 3
    rows = first.expand(BATCH, TIME)
    found, true = ran(call, [q, dirty_k, dirty_v], rows), ran(call, [q, k, v], rows)
    torch.testing.assert_close(found[0], true[0], rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(found[1][:, first], true[1][:, first], rtol=1e-5, atol=1e-6)  # of their queries
    if not (where == "keys" and held == inf and score != "dot"):  # tanh of what is infinite is a number
        rest = call(q, dirty_k, dirty_v)[:, 3:]
        assert not rest.isfinite().all(-1).any()


# --- Triton, interpreted, which is slow: one sentence, and what the others found on a CPU --------------------------


@pytest.mark.skipif(not INTERPRETED, reason="needs Triton's interpreter")
@pytest.mark.parametrize(("how", "held"), sweep_but([("mask", nan), ("lengths", 1e38), ("pairs", nan)], ("mask", nan)))
def test_additive_attention_in_triton(how: str, held: float) -> None:
    """Answers and all gradients are those of a CPU with zeros there; of pairs, those of queries that do not see it."""
    w, hidden = torch.linspace(-1, 1, WIDTH), ~middle[:1]
    mask = {"mask": middle[:1, None], "pairs": torch.ones(1, 4, TIME, dtype=torch.bool).tril(-1)}.get(how)
    seen: dict[str, Any] = {"lengths": torch.tensor([4])} if mask is None else {"mask": mask}
    if how != "mask":
        hidden = (torch.arange(TIME) >= 4)[None] if how == "lengths" else (torch.arange(TIME) == 2)[None]
    q, k, v = (one[:1] for one in inputs())
    found, true = (
        ran(
            lambda q, k, v, w, backend=backend: additive_attention(q, k, v, w, backend=backend, **seen),
            [q[:, :4], k.masked_fill(hidden.unsqueeze(-1), x), v.masked_fill(hidden.unsqueeze(-1), x), w],
            None if how != "pairs" else torch.tensor([[True, True, True, False]]),
        )
        for backend, x in (("triton", held), ("cpu", 0.0))
    )
    if how == "pairs":
        found, true = [found[0], found[1][:, :3]], [true[0], true[1][:, :3]]
    for one, other in zip(found, true, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


# --- attention made of parts -----------------------------------------------------------------------------------

SCORES = [name for name in names("attend.score") if name != "learned_query"]


@pytest.mark.thin
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("normalizer", names("attend.normalizer"))
@pytest.mark.parametrize("heads", [None, 2])
def test_any_attention(score: str, normalizer: str, heads: int | None) -> None:
    """Padding of a memory, and what a mask hides from every query: answers and gradients, those of parameters too."""
    width = WIDTH if heads is None else WIDTH // heads
    part = Attention(
        build("attend.score", score, query=width, key=width, value=width),
        build("attend.normalizer", normalizer),
        heads=None if heads is None else Heads(WIDTH, WIDTH, WIDTH, heads),
    )
    for masked in (True, False):  # in the memory, or from outside

        def call(q: Tensor, k: Tensor, v: Tensor, masked: bool = masked) -> Tensor:
            torch.manual_seed(7)
            memory = part.prepare(k, v, middle if masked else None)
            return part(q, memory, mask=None if masked else middle.unsqueeze(1)).context  # type: ignore[no-any-return]

        if masked or (heads is None and score != "cosine"):  # what was projected or normalised already is beyond help
            nothing_of_it(call, inputs(), ~middle, nan)
    q, k, v = inputs()
    dirty = [one.masked_fill(~middle.unsqueeze(-1), nan) for one in (k, v)]
    part.zero_grad()
    answer = part(q, part.prepare(*dirty, middle)).context
    if answer.requires_grad:
        answer.sum().backward()
    assert all(one.grad is None or one.grad.isfinite().all() for one in part.parameters())


@pytest.mark.parametrize("score", SCORES)
def test_any_attention_among_pairs(score: str) -> None:
    part = Attention(build("attend.score", score, query=WIDTH, key=WIDTH, value=WIDTH))
    mask, (q, k, v) = torch.ones(1, TIME, TIME, dtype=torch.bool).tril(), inputs()
    dirty = v.clone()
    dirty[:, 3] = nan
    rows = (torch.arange(TIME) < 3).expand(BATCH, TIME)

    def call(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return part(q, part.prepare(k, v), mask=mask).context  # type: ignore[no-any-return]

    for one, other in zip(ran(call, [q, k, dirty], rows), ran(call, [q, k, v], rows), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)
    assert call(q, k, dirty)[:, 3:].isnan().any(-1).all()


# --- by hand ---------------------------------------------------------------------------------------------------


def test_by_hand() -> None:
    k = torch.tensor([[[1.0], [nan], [2.0]]])
    v = torch.tensor([[[1.0], [5.0], [inf]]])
    seen = torch.tensor([[[True, False, False], [True, True, False], [True, False, True]]])
    clean_k, clean_v, reached = shielded(k, v, seen)
    assert clean_k.tolist() == [[[1.0], [0.0], [0.0]]]
    assert clean_v.tolist() == [[[1.0], [0.0], [0.0]]]
    assert reached is not None
    assert reached.tolist() == [[[False], [True], [True]]]
    bad_k, fine_v = poisoned(torch.ones(1, 3, 1), v)
    assert bad_k.isnan().flatten().tolist() == [False, False, True]
    assert fine_v.flatten().tolist() == [1.0, 5.0, 0.0]


def test_what_needs_care() -> None:
    assert tame(torch.full((9,), 1e18))
    assert tame(torch.ones(2, 0, 3))
    for one in (1e19, -1e19, inf, -inf, nan):
        assert not tame(torch.tensor([0.0, one, 0.0]))
    x, mask = torch.ones(1, 2, 1), torch.tensor([[True, False]])
    assert without_padding(x, mask) is x  # nothing to be done
    x[0, 1] = nan
    assert without_padding(x, mask).flatten().tolist() == [1.0, 0.0]


def test_where_numbers_cannot_be_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU: keys that nobody sees are zeros, others as they are."""
    monkeypatch.setattr("regard.kernels.hidden._looks", lambda x: False)
    k, v = torch.full((2, 3, 1), nan), torch.ones(2, 3, 1)
    seen = torch.tensor([[[True, False, True]], [[False, False, True]]])
    clean_k, clean_v, reached = shielded(k, v, seen)
    assert reached is None
    assert clean_v.flatten().tolist() == [1.0, 0.0, 1.0, 0.0, 0.0, 1.0]
    assert clean_k.isnan().flatten().tolist() == [True, False, True, False, False, True]
    pattern = torch.ones(1, 2, 3, dtype=torch.bool)
    assert shielded(k, v, pattern)[1] is v
    assert without_padding(v, seen[:, 0]).flatten().tolist() == [1.0, 0.0, 1.0, 0.0, 0.0, 1.0]
    nothing_of_it(lambda *given: dot_attention(*given, middle.unsqueeze(1)), inputs(), ~middle, nan)
