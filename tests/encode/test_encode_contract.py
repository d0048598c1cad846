"""What every encoder promises. Nothing is listed: the tests walk the folder, so a new file is held to it at once."""

import pytest
import torch
from safetensors.torch import load, save
from torch import Tensor

from regard import find
from regard.encode import Encoder
from regard.errors import RegardError
from regard.pretrained.architecture import Architecture
from regard.types import Memory, Sequences
from small_encoders import configs

every = pytest.mark.parametrize("name", find.names("encode"))
inputs = 8
lengths = [3, 5, 1]
# Made small where an encoder has these options; all else is as a user finds it.
small = {"hidden": 8, "size": 8, "layers": 2}
architecture = Architecture.of(configs["bert"], "config.json")  # of a pre-trained one


def encoder(name: str) -> Encoder:
    known = find.settable(find.find("encode", name))
    options = {key: value for key, value in small.items() if key in known}
    part = find.build("encode", {"name": name, **options}, inputs=inputs, architecture=architecture)
    assert isinstance(part, Encoder)
    return part.double().eval()


def sequences(values: Tensor, lengths: list[int]) -> Sequences:
    counts = torch.tensor(lengths)
    return Sequences(values, torch.arange(values.shape[1])[None, :] < counts[:, None], counts)


def given(fill: float | None = None) -> Sequences:
    """Three sequences in a batch two steps wider than the longest, the room after them filled."""
    torch.manual_seed(1)
    made = sequences(torch.randn(3, 7, inputs).double(), lengths)
    if fill is None:
        return made
    return Sequences(made.values.masked_fill(~made.mask.unsqueeze(-1), fill), made.mask, made.lengths)


def visible(memory: Memory, row: int) -> list[Tensor]:
    assert memory.mask is not None
    assert memory.summary is not None
    seen = memory.mask[row]
    return [memory.keys[row, seen], memory.values[row, seen], memory.summary[row]]


def same(one: list[Tensor], other: list[Tensor]) -> None:
    for a, b in zip(one, other, strict=True):
        torch.testing.assert_close(a, b)


def loss(memory: Memory, rows: slice = slice(None)) -> Tensor:
    """Something of everything that may be looked at."""
    assert memory.mask is not None
    assert memory.summary is not None
    seen = memory.mask[rows].unsqueeze(-1)
    parts = [memory.keys[rows], memory.values[rows].square()]
    return sum((part * seen).sum() for part in parts) + memory.summary[rows].square().sum()


@every
def test_it_is_as_wide_as_it_says(name: str) -> None:
    part = encoder(name)
    memory = part(given())
    assert memory.keys.shape[0] == memory.values.shape[0] == len(lengths)
    assert memory.keys.shape[-1] == memory.values.shape[-1] == part.size
    assert memory.summary is not None
    assert memory.summary.shape == (len(lengths), part.summary)
    assert memory.mask is not None
    assert memory.mask.shape == memory.keys.shape[:2]
    assert memory.mask.any(-1).all()
    assert memory.keys.dtype == memory.values.dtype == memory.summary.dtype == torch.float64


@every
def test_every_sequence_is_read_as_if_alone(name: str) -> None:
    part, batch = encoder(name), given()
    memory = part(batch)
    for row, length in enumerate(lengths):
        alone = part(sequences(batch.values[row : row + 1, :length], [length]))
        same(visible(memory, row), visible(alone, 0))
    turned = part(batch.select(torch.tensor([2, 0])))
    same(visible(turned, 0), visible(memory, 2))
    same(visible(turned, 1), visible(memory, 0))


@every
def test_what_fills_the_padding_is_nothing(name: str) -> None:
    part, found = encoder(name), []
    for fill in [0.0, 1e3]:
        batch = given(fill)
        values = batch.values.requires_grad_()
        memory = part(batch)
        gradients = torch.autograd.grad(loss(memory), [values, *part.parameters()], allow_unused=True)
        assert not gradients[0][~batch.mask].any()
        assert gradients[0][batch.mask].any(-1).all()
        rows = [part for row in range(len(lengths)) for part in visible(memory, row)]
        found.append(rows + [gradient for gradient in gradients if gradient is not None])
    same(*found)


@every
def test_an_empty_sequence_harms_nothing(name: str) -> None:
    """Nothing of it may be looked at, its summary is finite, no gradient is lost, and its neighbours do not notice."""
    part, batch = encoder(name), given()
    counts = [3, 0, 1]
    emptied = sequences(batch.values.requires_grad_(), counts)
    memory = part(emptied)
    assert memory.mask is not None
    assert memory.mask.any(-1).tolist() == [True, False, True]
    assert all(part.isfinite().all() for part in [memory.keys, memory.values, memory.summary])
    gradients = torch.autograd.grad(loss(memory), [batch.values, *part.parameters()], allow_unused=True)
    assert all(gradient.isfinite().all() for gradient in gradients if gradient is not None)
    same(visible(memory, 2), visible(part(given()), 2))


@every
def test_nothing_but_empty_sequences_can_be_read(name: str) -> None:
    memory = encoder(name)(sequences(torch.zeros(2, 0, inputs).double(), [0, 0]))
    assert memory.keys.isfinite().all()
    assert memory.summary is not None
    assert memory.summary.isfinite().all()
    assert memory.mask is not None
    assert not memory.mask.any()


@every
def test_gradients_are_right(name: str) -> None:
    part = encoder(name)

    def encoded(values: Tensor, *_: Tensor) -> Tensor:
        return loss(part(sequences(values, [3, 2])))

    values = torch.randn(2, 3, inputs).double().requires_grad_()
    assert torch.autograd.gradcheck(encoded, (values, *part.parameters()), fast_mode=True)


@every
def test_every_parameter_learns(name: str) -> None:
    part, batch = encoder(name), given()
    batch.values.requires_grad_()
    memory = part(batch)
    taught = sum(choice.log_prob.sum() + choice.entropy.sum() for choice in memory.choices)  # by reinforcement
    (loss(memory) + taught).backward()
    assert [key for key, p in part.named_parameters() if p.grad is None or not p.grad.any()] == []


@every
def test_it_is_saved_whole_and_keeps_no_batch(name: str) -> None:
    part, other, batch = encoder(name), encoder(name), given()
    memory = part(batch)
    part(sequences(torch.randn(2, 4, inputs).double(), [4, 2]))
    other.load_state_dict(load(save(part.state_dict())))
    for row in range(len(lengths)):
        for one in [other, part]:
            for a, b in zip(visible(memory, row), visible(one(batch), row), strict=True):
                torch.testing.assert_close(a, b, rtol=0, atol=0)


@every
def test_it_works_in_half_precision(name: str) -> None:
    part, batch = encoder(name).float().train(), given()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        memory = part(Sequences(batch.values.float().requires_grad_(), batch.mask, batch.lengths))
        total = loss(memory)
    total.backward()
    assert total.isfinite()
    assert all(p.grad.isfinite().all() for p in part.parameters() if p.grad is not None)


@every
def test_an_unknown_option_is_refused(name: str) -> None:
    with pytest.raises(RegardError, match="unknown option 'no_such_option'"):
        find.build("encode", {"name": name, "no_such_option": 1}, inputs=inputs, architecture=architecture)
