"""What every decoder promises. Nothing is listed: the tests walk the folder, so a new file is held to it at once."""

from functools import partial
from typing import Any

import pytest
import torch
from safetensors.torch import load, save
from torch import Tensor

from regard import find
from regard.attend.attention import make
from regard.errors import RegardError
from regard.predict.generate import Decoder
from regard.types import Beams, Memory

every = pytest.mark.parametrize("name", find.names("predict.generate"))
vocab, width = 7, 8
lengths = [4, 2]
tokens = torch.tensor([[1, 6, 0, 3, 2], [1, 4, 4, 5, 6]])
# Made small where a decoder has these options; all else is as a user finds it.
small = {"hidden": 8, "embed": 8, "size": 8, "layers": 2}
given = {"vocab": vocab, "memory": width, "summary": width, "attention": partial(make)}


def decoder(name: str) -> Decoder:
    known = find.settable(find.find("predict.generate", name))
    options = {key: value for key, value in small.items() if key in known}
    part = find.build("predict.generate", {"name": name, **options}, **given)
    assert isinstance(part, Decoder)
    return part.double().eval()


def a_memory() -> Memory:
    """Two sentences, the second with two keys that are not there."""
    torch.manual_seed(1)
    mask = torch.arange(4)[None, :] < torch.tensor(lengths)[:, None]
    keys, values, summary = (torch.randn(*shape).double() for shape in [(2, 4, width), (2, 4, width), (2, width)])
    return Memory(keys, values, mask, summary)


def tensors(value: Any) -> list[Tensor]:
    """Every tensor of a state, its memory left out."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, tuple):
        return [tensor for item in value for tensor in tensors(item)]
    if isinstance(value, Beams):
        return [tensor for item in vars(value).values() for tensor in tensors(item)]
    return []


def walk(part: Decoder, state: Any, tokens: Tensor) -> tuple[Any, Any, Tensor]:
    """Step through tokens `[batch, beam, time]`: the last state, look and logits."""
    for token in tokens.unbind(-1):
        state, look, logits = part.step(state, token)
    return state, look, logits


@every
def test_all_at_once_is_one_by_one(name: str) -> None:
    part, memory, found = decoder(name), a_memory(), []
    leaves = [memory.keys.requires_grad_(), memory.values.requires_grad_(), *part.parameters()]
    for unroll in [part.unroll, partial(Decoder.unroll, part)]:
        look, logits = unroll(memory, tokens)
        assert logits.shape == (2, 5, vocab)
        gradients = torch.autograd.grad(logits.square().sum(), leaves, allow_unused=True)
        found.append([logits, look.context, look.weights, *gradients])
    for one, other in zip(*found, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            torch.testing.assert_close(one, other)


@every
def test_a_step_knows_nothing_of_later_tokens(name: str) -> None:
    part, memory = decoder(name), a_memory()
    _, logits = part.unroll(memory, tokens)
    for time in range(1, 5):
        changed = tokens.clone()
        changed[:, time:] = (changed[:, time:] + 1) % vocab
        _, other = part.unroll(memory, changed)
        torch.testing.assert_close(other[:, :time], logits[:, :time])
        assert not torch.allclose(other[:, time], logits[:, time])
    torch.testing.assert_close(part.unroll(memory, tokens[:, :2])[1], logits[:, :2])


@every
def test_it_looks_at_what_is_there(name: str) -> None:
    """Weights `[batch, (head,) time, key]`: they sum to one, and hidden keys have none.

    A decoder without attention has none to show, `[batch, time, 0]`, and then the keys and values do not matter to it.
    """
    part, memory = decoder(name), a_memory()
    look, logits = part.unroll(memory, tokens)
    assert look.weights.shape[0] == 2
    if look.weights.shape[-1] == 0:
        assert look.weights.shape == (2, 5, 0)
        other = Memory(memory.keys + 1, memory.values + 1, memory.mask, memory.summary)
        assert torch.equal(part.unroll(other, tokens)[1], logits)
        return
    assert look.weights.shape[-2:] == (5, 4)
    torch.testing.assert_close(look.weights.sum(-1), torch.ones_like(look.weights[..., 0]))
    assert not look.weights[1, ..., 2:].any()
    assert (look.weights[1, ..., :2] > 0).all()


@every
def test_padding_of_the_source_changes_nothing(name: str) -> None:
    part, memory = decoder(name), a_memory()
    _, logits = part.unroll(memory, tokens)
    assert memory.mask is not None
    keys, values = (one.masked_fill(~memory.mask.unsqueeze(-1), 1e3) for one in (memory.keys, memory.values))
    keys, values = keys.requires_grad_(), values.requires_grad_()
    _, other = part.unroll(Memory(keys, values, memory.mask, memory.summary), tokens)
    torch.testing.assert_close(other, logits)
    for gradient in torch.autograd.grad(other.square().sum(), [keys, values], allow_unused=True):
        assert gradient is None or not gradient[1, 2:].any()
    row = torch.tensor([1])
    alone = Memory(memory.keys[row, :2], memory.values[row, :2], memory.mask[row, :2], memory.summary[row])  # type: ignore[index]
    torch.testing.assert_close(part.unroll(alone, tokens[row])[1], logits[row])


@every
def test_an_empty_source_harms_nothing(name: str) -> None:
    part, memory = decoder(name), a_memory()
    mask = torch.tensor([[True] * 4, [False] * 4])
    _, logits = part.unroll(Memory(memory.keys, memory.values, mask, memory.summary), tokens)
    logits.square().sum().backward()
    assert logits.isfinite().all()
    assert all(p.grad is None or p.grad.isfinite().all() for p in part.parameters())
    torch.testing.assert_close(logits[:1], part.unroll(memory.select(torch.tensor([0])), tokens[:1])[1])


@every
def test_each_hypothesis_goes_its_own_way(name: str) -> None:
    """Two steps, a change of parents, a third step: each hypothesis is as if its history had been read alone."""
    part, memory = decoder(name), a_memory()
    words = torch.tensor([[[1, 2], [3, 0], [1, 5]], [[4, 4], [0, 6], [2, 1]]])
    parents, last = torch.tensor([[2, 0, 0], [1, 2, 1]]), torch.tensor([[3, 3, 4], [6, 0, 5]])
    state, _, _ = walk(part, part.start(memory).reorder(torch.zeros(2, 3, dtype=torch.long)), words)
    _, look, logits = part.step(state.reorder(parents), last)
    assert logits.shape == (2, 3, vocab)
    for row in range(2):
        for beam in range(3):
            history = torch.cat([words[row, parents[row, beam]], last[row, beam : beam + 1]])
            own = part.start(memory.select(torch.tensor([row])))
            _, one_look, one = walk(part, own, history.reshape(1, 1, 3))
            torch.testing.assert_close(logits[row, beam], one[0, 0])
            torch.testing.assert_close(look.weights[row, ..., beam, :], one_look.weights[0, ..., 0, :])


@every
def test_beams_share_one_memory(name: str) -> None:
    part, memory = decoder(name), a_memory()
    state, _, _ = part.step(part.start(memory), tokens[:, :1])
    assert isinstance(state, Beams)
    wide = state.reorder(torch.zeros(2, 3, dtype=torch.long))
    assert tensors(wide)
    assert all(tensor.shape[:2] == (2, 3) for tensor in tensors(wide))
    memories = [key for key, value in vars(state).items() if isinstance(value, Memory)]
    assert memories
    for key in memories:
        assert getattr(wide, key) is getattr(state, key)


@every
def test_sentences_can_be_left_out_on_the_way(name: str) -> None:
    part, rows = decoder(name), torch.tensor([1, 0, 1])
    state, _, _ = walk(part, part.start(a_memory()), tokens[:, None, :2])
    _, _, logits = part.step(state, tokens[:, 2:3])
    _, _, some = part.step(state.select(rows), tokens[rows, 2:3])
    torch.testing.assert_close(some, logits[rows])


@every
def test_a_state_is_never_changed_by_a_step(name: str) -> None:
    """State travels by argument: going on twice from one state gives the same twice."""
    part = decoder(name)
    state, _, _ = part.step(part.start(a_memory()), tokens[:, :1])
    before = [tensor.clone() for tensor in tensors(state)]
    _, _, once = walk(part, state, tokens[:, None, 1:3])
    part.step(part.start(a_memory()), tokens[:, 3:4])
    _, _, again = walk(part, state, tokens[:, None, 1:3])
    assert torch.equal(once, again)
    assert all(torch.equal(*pair) for pair in zip(before, tensors(state), strict=True))


@every
def test_it_is_saved_whole(name: str) -> None:
    part, other = decoder(name), decoder(name)
    other.load_state_dict(load(save(part.state_dict())))
    assert torch.equal(other.unroll(a_memory(), tokens)[1], part.unroll(a_memory(), tokens)[1])


@every
def test_gradients_are_right(name: str) -> None:
    part, memory = decoder(name), a_memory()

    def answer(keys: Tensor, values: Tensor, summary: Tensor, *_: Tensor) -> Tensor:
        return part.unroll(Memory(keys, values, memory.mask, summary), tokens[:, :2])[1]

    leaves = [one.requires_grad_() for one in (memory.keys, memory.values, memory.summary) if one is not None]
    assert torch.autograd.gradcheck(answer, (*leaves, *part.parameters()), fast_mode=True)


@every
def test_every_parameter_learns(name: str) -> None:
    part = decoder(name)
    part.unroll(a_memory(), tokens)[1].log_softmax(-1)[..., 2].sum().backward()
    assert [key for key, p in part.named_parameters() if p.grad is None or not p.grad.any()] == []


@every
@pytest.mark.parametrize("half", [False, True], ids=["float32", "bfloat16"])
def test_it_learns_in_lower_precision(name: str, half: bool) -> None:
    part, memory = decoder(name).float().train(), a_memory()
    assert memory.summary is not None
    memory = Memory(memory.keys.float(), memory.values.float(), memory.mask, memory.summary.float())
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=half):
        _, logits = part.unroll(memory, tokens)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), tokens.flatten())
        _, _, stepped = part.step(part.start(memory), tokens[:, :1])
    loss.backward()
    assert loss.isfinite()
    assert stepped.isfinite().all()
    assert all(p.grad is None or p.grad.isfinite().all() for p in part.parameters())


@every
def test_an_unknown_option_is_refused(name: str) -> None:
    with pytest.raises(RegardError, match="unknown option 'no_such_option'"):
        find.build("predict.generate", {"name": name, "no_such_option": 1}, **given)
