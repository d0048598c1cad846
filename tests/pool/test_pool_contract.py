"""What every pooling promises. Nothing is listed: the tests walk the folder, so a new file is held to it at once."""

import pytest
import torch
from safetensors.torch import load, save
from torch import Tensor

from regard import find
from regard.errors import RegardError
from regard.pool import Pool, Pooled
from regard.types import Memory
from tiers import sweep_but

every = pytest.mark.parametrize("name", find.names("pool"))
precisely = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])  # fused and readable
inputs, summary = 6, 4
lengths = [3, 5, 1]
# Made small where a pooling has these options; all else is as a user finds it.
small = {"hidden": 8, "hops": 3}


def pool(name: str, dtype: torch.dtype = torch.float64) -> Pool:
    known = find.settable(find.find("pool", name))
    options = {key: value for key, value in small.items() if key in known}
    part = find.build("pool", {"name": name, **options}, inputs=inputs, summary=summary)
    assert isinstance(part, Pool)
    return part.to(dtype).eval()


def memory(values: Tensor, mask: Tensor | None, end: Tensor | None = None) -> Memory:
    torch.manual_seed(2)
    end = torch.randn(len(values), summary, dtype=values.dtype) if end is None else end
    return Memory(values, values, mask, end)


def masked(counts: list[int], time: int = 7) -> Tensor:
    return torch.arange(time)[None, :] < torch.tensor(counts)[:, None]


def given(fill: float | None = None, dtype: torch.dtype = torch.float64, counts: list[int] = lengths) -> Memory:
    """Three sequences in a batch two steps wider than the longest, the room after them filled."""
    torch.manual_seed(1)
    values, mask = torch.randn(3, 7, inputs, dtype=torch.float64).to(dtype), masked(counts)
    return memory(values if fill is None else values.masked_fill(~mask.unsqueeze(-1), fill), mask)


def loss(pooled: Pooled) -> Tensor:
    """Something of everything it gives."""
    weight = torch.linspace(-1, 2, pooled.vector.shape[1], dtype=pooled.vector.dtype)
    total = (pooled.vector.square() * weight).sum()
    return total if pooled.penalty is None else total + pooled.penalty.sum()


def all_of(pooled: Pooled, row: int, seen: Tensor) -> list[Tensor]:
    """The vector of one sequence, its penalty, and its weights on the keys that are there."""
    found = [pooled.vector[row]]
    if pooled.penalty is not None:
        found.append(pooled.penalty[row])
    if pooled.look is not None:
        found.append(pooled.look.by_key[row][..., seen])
    return found


def same(one: list[Tensor], other: list[Tensor]) -> None:
    for a, b in zip(one, other, strict=True):
        torch.testing.assert_close(a, b)


@every
@precisely
def test_it_is_as_wide_as_it_says(name: str, dtype: torch.dtype) -> None:
    part = pool(name, dtype)
    pooled = part(given(dtype=dtype))
    assert pooled.vector.shape == (len(lengths), part.size)
    assert part.size % part.rows == 0
    assert pooled.vector.dtype == dtype
    assert pooled.penalty is None or pooled.penalty.shape == (len(lengths),)


@every
@precisely
def test_every_sequence_is_pooled_as_if_alone(name: str, dtype: torch.dtype) -> None:
    part, batch = pool(name, dtype), given(dtype=dtype)
    pooled = part(batch)
    for row, length in enumerate(lengths):
        values, end = batch.values[row : row + 1, :length], batch.summary[row : row + 1]
        for mask in [masked([length], length), None]:  # no mask is a mask that hides nothing
            alone = part(memory(values, mask, end))
            same(all_of(pooled, row, batch.mask[row]), all_of(alone, 0, torch.ones(length, dtype=torch.bool)))
    turned = part(batch.select(torch.tensor([2, 0])))
    same(all_of(turned, 0, batch.mask[2]), all_of(pooled, 2, batch.mask[2]))


@every
def test_what_is_hidden_may_stand_anywhere(name: str) -> None:
    """Not only at the end: what was not chosen counts no more than padding."""
    part, batch = pool(name), given()
    mask = torch.tensor([[True, False, True, True, False, False, True]] * 3)
    few = part(memory(batch.values[:, mask[0]], None, batch.summary))
    some = part(memory(batch.values, mask, batch.summary))
    for row in range(3):
        same(all_of(some, row, mask[0]), all_of(few, row, torch.ones(4, dtype=torch.bool)))


@every
@precisely
def test_what_fills_the_padding_is_nothing(name: str, dtype: torch.dtype) -> None:
    """Nor does it leak where it is no number: neither into the vector nor into a gradient."""
    part, found = pool(name, dtype), []
    for fill in [0.0, 1e3, torch.finfo(dtype).max, float("inf"), float("-inf"), float("nan")]:
        batch = given(fill, dtype)
        leaves = [batch.values.requires_grad_(), batch.summary.requires_grad_(), *part.parameters()]
        pooled = part(batch)
        gradients = torch.autograd.grad(loss(pooled), leaves, allow_unused=True)
        if gradients[0] is not None:
            assert not gradients[0][~batch.mask].any()
            assert gradients[0][batch.mask].any()
        rows = [tensor for row in range(len(lengths)) for tensor in all_of(pooled, row, batch.mask[row])]
        found.append(rows + [gradient for gradient in gradients if gradient is not None])
    assert all(tensor.isfinite().all() for tensor in found[0])
    for other in found[1:]:
        same(found[0], other)


@every
@precisely
@pytest.mark.parametrize("fill", [None, float("nan")])
def test_an_empty_sequence_is_zeros(name: str, dtype: torch.dtype, fill: float | None) -> None:
    """With gradients that are finite and its own nothing; its neighbours do not notice, and there is nothing to pay."""
    part, batch = pool(name, dtype), given(fill, dtype, [3, 0, 1])
    leaves = [batch.values.requires_grad_(), batch.summary.requires_grad_(), *part.parameters()]
    pooled = part(batch)
    assert not pooled.vector[1].any()
    assert pooled.vector[0].any()
    assert pooled.penalty is None or not pooled.penalty[1].any()
    assert pooled.look is None or not pooled.look.weights[1].any()
    gradients = torch.autograd.grad(loss(pooled), leaves, allow_unused=True)
    assert all(gradient.isfinite().all() for gradient in gradients if gradient is not None)
    assert not any(gradient[1].any() for gradient in gradients[:2] if gradient is not None)
    same(all_of(pooled, 2, batch.mask[2]), all_of(part(given(dtype=dtype)), 2, batch.mask[2]))


@every
@precisely
@pytest.mark.parametrize("mask", [torch.zeros(2, 0, dtype=torch.bool), None])
def test_nothing_but_empty_sequences_can_be_pooled(name: str, dtype: torch.dtype, mask: Tensor | None) -> None:
    part, values = pool(name, dtype), torch.zeros(2, 0, inputs, dtype=dtype, requires_grad=True)
    pooled = part(memory(values, mask, None if mask is not None else torch.zeros(2, summary, dtype=dtype)))
    assert pooled.vector.shape == (2, part.size)
    assert not pooled.vector.any()
    assert pooled.penalty is None or not pooled.penalty.any()


@every
@precisely
def test_where_it_looked_is_what_it_gives(name: str, dtype: torch.dtype) -> None:
    """Weights that sum to one, none on padding; with them the vector can be made again."""
    part, batch = pool(name, dtype), given(float("nan"), dtype)
    pooled = part(batch)
    if pooled.look is None:
        return
    weights, rows = pooled.look.weights, part.rows
    assert weights.shape == (3, rows, 7, *((inputs,) if pooled.look.features else ()))
    torch.testing.assert_close(pooled.look.by_key.sum(-1), torch.ones(3, rows, dtype=dtype))
    assert not weights.transpose(1, 2)[~batch.mask].any()
    values = batch.values.nan_to_num()
    vector = (weights * values.unsqueeze(1)).sum(2) if pooled.look.features else weights @ values
    torch.testing.assert_close(vector.flatten(1), pooled.vector)
    torch.testing.assert_close(pooled.look.context.flatten(1), pooled.vector)


@pytest.mark.parametrize("name", sweep_but(find.names("pool"), "source2token", "max", "mean", "last"))
def test_gradients_are_right(name: str) -> None:
    part, mask = pool(name), masked([3, 2, 0], 3)

    def pooled(values: Tensor, end: Tensor, *_: Tensor) -> Tensor:
        return loss(part(memory(values, mask, end)))

    leaves = (torch.randn(3, 3, inputs).double(), torch.randn(3, summary).double())
    assert torch.autograd.gradcheck(pooled, (*(leaf.requires_grad_() for leaf in leaves), *part.parameters()))


@every
def test_every_parameter_learns(name: str) -> None:
    part, batch = pool(name), given()
    batch.values.requires_grad_()
    batch.summary.requires_grad_()
    loss(part(batch)).backward()
    # A term that is the same for every token changes no softmax over tokens.
    unmoved = {"source2token": ["W.bias"]}.get(name, [])
    still = [key for key, p in part.named_parameters() if p.grad is None or not (p.grad.abs() > 1e-12).any()]
    assert still == unmoved


@every
def test_it_is_saved_whole_and_keeps_no_batch(name: str) -> None:
    part, other, batch = pool(name), pool(name), given()
    pooled = part(batch)
    part(memory(torch.randn(2, 4, inputs).double(), masked([4, 2], 4)))
    other.load_state_dict(load(save(part.state_dict())))
    for one in [other, part]:
        torch.testing.assert_close(one(batch).vector, pooled.vector, rtol=0, atol=0)


@every
@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("states", [torch.float32, None])
def test_it_works_in_half_precision(name: str, half: torch.dtype, states: torch.dtype | None) -> None:
    """Under autocast, from states in full or in half precision, hidden ones that are no numbers beside them."""
    part, whole = pool(name).float(), pool(name)
    whole.load_state_dict(part.state_dict())
    batch = given(float("nan"), states or half, [3, 0, 1])
    leaves = [batch.values.requires_grad_(), batch.summary.requires_grad_(), *part.train().parameters()]
    with torch.autocast("cpu", dtype=half):
        pooled = part(batch)
    total = loss(Pooled(pooled.vector.float(), pooled.look, pooled.penalty))
    total.backward()
    exact = whole(memory(batch.values.double(), batch.mask, batch.summary.double()))
    torch.testing.assert_close(pooled.vector.double(), exact.vector, atol=0.02, rtol=0.02)
    if pooled.penalty is not None:
        assert pooled.penalty.dtype == torch.float32
        torch.testing.assert_close(pooled.penalty.double(), exact.penalty, atol=0.02, rtol=0.02)
    assert all(leaf.grad.isfinite().all() for leaf in leaves if leaf.grad is not None)


@every
def test_an_unknown_option_is_refused(name: str) -> None:
    with pytest.raises(RegardError, match="unknown option 'no_such_option'"):
        find.build("pool", {"name": name, "no_such_option": 1}, inputs=inputs, summary=summary)
