"""DiSAN: its equations token by token and feature by feature, in both directions; directional; the published size."""

from math import exp, tanh

import pytest
import torch
from disan_cases import by_hand, lengths, sequences

from regard.encode.disan import Disan, Two, places
from regard.errors import RegardError
from regard.kernels import choose
from regard.types import Sequences


@pytest.mark.parametrize("c", [5.0, 0.7])
def test_it_is_the_published_equations(c: float) -> None:
    part = Disan(5, hidden=3, c=c).double()
    for parameter in part.parameters():
        torch.nn.init.normal_(parameter)
    values = torch.randn(3, 7, 5).double()
    memory = part(sequences(values, lengths))
    ((name, look),) = memory.looks
    assert (name, look.features, part.size, part.summary) == ("self-attention", True, 6, 6)
    assert memory.keys is memory.values
    assert look.weights.shape == (3, 2, 7, 7, 3)
    assert look.by_key.shape == (3, 2, 7, 7)
    for row, length in enumerate(lengths):
        states, _, weights = by_hand(part, values[row, :length])
        torch.testing.assert_close(memory.keys[row, :length], states)
        torch.testing.assert_close(memory.summary[row], states.mean(0))
        torch.testing.assert_close(look.weights[row, :, :length, :length], weights)
        assert not look.weights[row, :, :, length:].any()


def test_its_gradients_are_those_of_the_equations() -> None:
    part = Disan(4, hidden=3).double()
    for parameter in part.parameters():
        torch.nn.init.normal_(parameter)
    values = torch.randn(3, 6, 4).double().requires_grad_()
    pull = torch.randn(3, 6, 6).double()
    given = sequences(values, lengths)
    wanted = [values, *part.parameters()]
    found = torch.autograd.grad((part(given).keys * pull * given.mask.unsqueeze(-1)).sum(), wanted)
    plain = sum((by_hand(part, values[row, :n])[0] * pull[row, :n]).sum() for row, n in enumerate(lengths))
    for one, other in zip(found, torch.autograd.grad(plain, wanted), strict=True):
        torch.testing.assert_close(one, other)


def test_worked_by_hand() -> None:
    """One feature, the words 1 and 2, W = 1: h = 1, 2. The gate's weights are 0 and so F = ½, `u = (h + s)/2`.

    Forwards the first sees nothing and the second the first: ½ and (2 + 1)/2. Backwards 1.5 and 1.
    """
    part = Disan(1, hidden=1).double()
    with torch.no_grad():
        for layer, number in [(part.W, 1.0), (part.W_attend, 1.0), (part.W_gate, 0.0)]:
            layer.weight.fill_(number)
            layer.bias.zero_()
    u = part(sequences(torch.tensor([[[1.0], [2.0]]]).double(), [2])).values
    assert u[0].tolist() == [[0.5, 1.5], [1.5, 1.0]]
    # A third word, 0, sees both: e = 5 tanh((0 + 1)/5), 5 tanh((0 + 2)/5); backwards the first sees 2 and 0.
    memory = part(sequences(torch.tensor([[[1.0], [2.0], [0.0]]]).double(), [3]))
    one, two = exp(5 * tanh(0.2)), exp(5 * tanh(0.4))
    assert memory.values[0, 2, 0].item() == pytest.approx((one + 2 * two) / (one + two) / 2, abs=1e-12)
    assert memory.looks[0][1].weights[0, 0, 2, :, 0].tolist() == pytest.approx(
        [one / (one + two), two / (one + two), 0]
    )
    to_two, to_none = exp(5 * tanh(0.6)), exp(5 * tanh(0.2))
    assert memory.values[0, 0, 1].item() == pytest.approx((1 + 2 * to_two / (to_two + to_none)) / 2, abs=1e-12)


def test_each_half_knows_one_side_only() -> None:
    """What comes later changes nothing of u_fw, what came before nothing of u_bw; the word itself changes both."""
    part, values = Disan(4, hidden=3).double(), torch.randn(1, 6, 4).double()
    before = part(sequences(values, [6])).values[0]
    for changed in range(6):
        other = values.clone()
        other[0, changed] += 1
        differs = (part(sequences(other, [6])).values[0] != before).view(6, 2, 3).any(-1)
        assert differs[:, 0].tolist() == [place >= changed for place in range(6)]
        assert differs[:, 1].tolist() == [place <= changed for place in range(6)]


def test_a_word_never_looks_at_itself() -> None:
    weights = Disan(4, hidden=3)(sequences(torch.randn(2, 6, 4), [6, 3])).looks[0][1].weights
    assert not weights.diagonal(dim1=2, dim2=3).any()
    sums = weights[0].sum(2)  # [way, head, feature]: 1, but 0 where there is nobody to look at
    expected = torch.ones(2, 6, 3)
    expected[0, 0] = expected[1, -1] = 0
    torch.testing.assert_close(sums, expected)


def test_places_count_both_ways() -> None:
    assert places(torch.ones(2, 3, dtype=torch.bool)).tolist() == [[[0, 1, 2]] * 2, [[0, -1, -2]] * 2]


@pytest.mark.parametrize("fused", [True, False])
def test_both_paths_give_the_same(monkeypatch: pytest.MonkeyPatch, fused: bool) -> None:
    if fused:
        monkeypatch.setitem(choose.SMALL["cpu"], "feature", 0)
    part, given = Disan(6, hidden=5), sequences(torch.randn(3, 7, 6), lengths)
    values = given.values.clone().requires_grad_()
    pull = torch.randn(3, 7, 10).masked_fill(~given.mask.unsqueeze(-1), 0.0)
    memory = part(Sequences(values, given.mask, given.lengths))
    found = torch.autograd.grad((memory.keys * pull).sum(), [values, *part.parameters()])
    exact = part.double()
    values = given.values.double().requires_grad_()
    wanted = exact(Sequences(values, given.mask, given.lengths))
    true = torch.autograd.grad((wanted.keys * pull).sum(), [values, *exact.parameters()])
    torch.testing.assert_close(memory.keys[given.mask].double(), wanted.keys[given.mask], rtol=1e-5, atol=1e-5)
    for one, other in zip(found, true, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=1e-4, atol=1e-5)


def test_padding_may_hold_anything() -> None:
    part, given = Disan(3, hidden=2), sequences(torch.randn(3, 7, 3), lengths)
    filled = given.values.masked_fill(~given.mask.unsqueeze(-1), float("nan"))
    memory, other = part(Sequences(filled, given.mask, given.lengths)), part(given)
    assert torch.equal(memory.keys[given.mask], other.keys[given.mask])
    assert torch.equal(memory.summary, other.summary)


def test_dropout_is_for_training_only() -> None:
    part, given = Disan(3, hidden=2, dropout=0.5), sequences(torch.randn(3, 7, 3), lengths)
    assert not torch.equal(part(given).keys, part(given).keys)
    part.eval()
    assert torch.equal(part(given).keys, part(given).keys)


@pytest.mark.parametrize("drop", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("widths", [(4,), (3, 2)])
def test_a_layer_of_both_directions(drop: float, widths: tuple[int, ...]) -> None:
    """What is dropped of parts side by side is drawn once, kept for the way back, and scaled up."""
    layer = Two(sum(widths), 3).double()
    torch.nn.init.normal_(layer.bias)
    parts = [torch.randn(2, 2, 3, width).double().requires_grad_() for width in widths]

    def run(*given: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(1)
        return layer(*given, drop=drop)

    assert torch.autograd.gradcheck(run, parts)
    found = torch.autograd.grad(run(*parts).square().sum(), [*parts, *layer.parameters()])
    torch.manual_seed(1)
    x = torch.native_dropout(torch.cat(parts, -1).flatten(1, 2), drop, True)[0] if drop else torch.cat(parts, -1)
    plain = x.view(2, 6, -1) @ layer.weight + layer.bias
    torch.testing.assert_close(run(*parts), plain.view(2, 2, 3, 3))
    for one, other in zip(found, torch.autograd.grad(plain.square().sum(), [*parts, *layer.parameters()]), strict=True):
        torch.testing.assert_close(one, other)


def test_of_what_is_kept_for_the_way_back_no_copy_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """In units of [2, batch, time, hidden] bfloat16: x ½, h, q, k, the answer and its sums in float32 (2 each), s, F,
    and which of 3 numbers fell (½ each) with those of x (¼)."""
    monkeypatch.setitem(choose.SMALL["cpu"], "feature", 0)
    kept = dict[int, int]()
    part, given = Disan(64, hidden=64, dropout=0.5), sequences(torch.randn(8, 40, 64), [40] * 8)
    own = {p.untyped_storage().data_ptr() for p in part.parameters()}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own and tensor.numel() >= 8 * 40 * 64:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor), torch.autocast("cpu", torch.bfloat16):
        memory = part(given)
    assert memory.values.dtype == torch.bfloat16
    unit = 2 * 8 * 40 * 64 * 2
    assert sum(kept.values()) / unit <= 0.5 + 1 + 2 + 4 + 2 + 3 * 0.5 + 0.25


def test_it_has_a_layer_of_each_kind_for_each_direction() -> None:
    """On SNLI 0.9m, without source2token and the classifier: 300 × 300, 300 × 600 and 600 × 300 each way."""
    part = Disan(300)
    assert (part.size, part.summary, part.pool) == (600, 600, "source2token")
    count = sum(p.numel() for p in part.parameters())
    assert count == 2 * (300 * 300 + 300 + 300 * 600 + 600 + 600 * 300 + 300)


@pytest.mark.parametrize("option", [{"hidden": 0}, {"c": 0.0}, {"c": float("nan")}, {"dropout": 1.5}])
def test_sizes_that_make_none_are_refused(option: dict[str, float]) -> None:
    with pytest.raises(RegardError, match=rf"^{next(iter(option))}: got"):
        Disan(3, **option)  # type: ignore[arg-type]
