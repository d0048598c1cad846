"""The Transformer decoder's short step: what the long one gives, whenever it is taken, and only where it may be."""

from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from regard.attend.attention import Attention, make
from regard.attend.normalizer.sparsemax import Sparsemax
from regard.attend.positions import Kind
from regard.errors import RegardError
from regard.kernels.choose import NARROW
from regard.predict.generate import Decoder, _cached
from regard.predict.generate._cached import CHUNK, DecodingPlan, Quick, TransformerState
from regard.predict.generate.transformer import Transformer
from regard.search.beam import Beam
from regard.types import Look, Memory

vocab, width, size, heads, layers = 11, 6, 8, 2, 3
scaled = partial(make, score="scaled_dot")


def decoder(attention: Any = scaled, memory: int = width, **options: Any) -> Transformer:
    torch.manual_seed(1)
    options = {"size": size, "layers": layers, "heads": heads, "ffn": 12, "positions": "rotary", **options}
    part = Transformer(vocab, memory, attention, **options)
    for parameter in part.parameters():
        if parameter.dim() == 1:
            nn.init.normal_(parameter, mean=0.5)
    return part.eval()


def a_memory(masked: bool = True) -> Memory:
    """Keys that are not the values; a shorter sentence, and an empty one."""
    mask = torch.arange(5)[None, :] < torch.tensor([5, 2, 0])[:, None]
    return Memory(torch.randn(3, 5, width), torch.randn(3, 5, width), mask if masked else None)


def long_way(part: Transformer, memory: Memory) -> TransformerState:
    return TransformerState((), (), (None,) * len(part.blocks), part._prepared(memory), memory)


def walk(part: Transformer, state: Any, steps: int = 6, beam: int = 4) -> tuple[Any, list[Look], list[Tensor]]:
    """The same tokens and the same parents, whatever the state."""
    looks, logits, some = [], [], torch.Generator().manual_seed(5)
    parents = torch.zeros(3, beam, dtype=torch.long)
    for _ in range(steps):
        state, look, said = part.step(state.reorder(parents), torch.randint(vocab, (3, beam), generator=some))
        looks.append(look)
        logits.append(said)
        parents = torch.randint(beam, (3, beam), generator=some)
    return state, looks, logits


def same(one: list[Tensor], other: list[Tensor], half: bool) -> None:
    for a, b in zip(one, other, strict=True):
        assert a.dtype == b.dtype
        near = 0.02 if half else 1e-5
        torch.testing.assert_close(a, b, rtol=near, atol=near)


@pytest.mark.thin
@pytest.mark.parametrize("kind", ["sinusoid", "learned", "rotary"])
@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("masked", [True, False])
def test_both_steps_are_the_same(kind: Kind, half: bool, masked: bool) -> None:
    """Logits, answers, weights and what is kept, of a shorter and of an empty sentence too, beyond a table's end."""
    part, memory = decoder(positions=kind), a_memory(masked)
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16, enabled=half):
        state = part.start(memory)
        assert isinstance(state, Quick)
        quick, looks, logits = walk(part, state, steps=CHUNK + 2)
        slow, long_looks, long_logits = walk(part, long_way(part, memory), steps=CHUNK + 2)
        assert isinstance(quick, Quick)
        assert quick.time == slow.time == CHUNK + 2
        same(logits, long_logits, half)
        for name in ["weights", "context", "by_key"]:
            same([getattr(one, name) for one in looks], [getattr(one, name) for one in long_looks], half)
        apart = quick.apart()
        same([*apart.keys, *apart.values], [*slow.keys, *slow.values], half)


@pytest.mark.parametrize("look", ["last", "mean", "all", 0])
@pytest.mark.parametrize("own", [{}, {"heads": 4, "size": 12}])
def test_every_look_is_the_same(look: Any, own: dict[str, int]) -> None:
    part, memory = decoder(partial(scaled, **own), look=look), a_memory()
    with torch.no_grad():
        _, looks, _ = walk(part, part.start(memory))
        _, long_looks, _ = walk(part, long_way(part, memory))
        same([one.weights for one in looks], [one.weights for one in long_looks], False)
        same([one.context for one in looks], [one.context for one in long_looks], False)
    assert looks[0].weights.shape[2:] == (4, 5)
    assert not looks[0].weights[2].any()


def test_it_is_the_whole_sequence_read_at_once() -> None:
    part, memory, tokens = decoder(), a_memory(), torch.randint(vocab, (3, 9))
    with torch.no_grad():
        look, logits = part.unroll(memory, tokens)
        looks, steps = Decoder.unroll(part, memory, tokens)
        torch.testing.assert_close(steps, logits)
        torch.testing.assert_close(looks.weights, look.weights)


def test_where_it_is_not_for() -> None:
    """Gradients, training, float64, other scores and normalizers, biases."""
    part, memory = decoder(), a_memory()
    assert isinstance(part.start(memory), TransformerState)
    with torch.no_grad():
        assert isinstance(part.start(memory), Quick)
        assert isinstance(part.train().start(memory), TransformerState)
        wide = Memory(memory.keys.double(), memory.values.double(), memory.mask)
        assert isinstance(part.eval().double().start(wide), TransformerState)
        for attention in [
            make,
            partial(make, score="bilinear"),
            partial(make, score="cosine"),
            partial(scaled, normalizer="sparsemax"),
            partial(scaled, bias=("relative_position",)),
        ]:
            assert isinstance(decoder(attention).start(memory), TransformerState)
        assert isinstance(decoder(normalizer="sparsemax").start(memory), TransformerState)
        assert isinstance(decoder(score="additive").start(memory), TransformerState)


def test_it_may_be_left_on_the_way() -> None:
    """Another normalizer stands in, gradients are wanted, sentences are taken out: the long step goes on from it."""
    part, memory, token = decoder(), a_memory(), torch.tensor([[1, 2, 3, 4]] * 3)
    with torch.no_grad():
        quick, _, _ = walk(part, part.start(memory))
        slow, _, _ = walk(part, long_way(part, memory))
        rows = torch.tensor([1, 0])
        some = quick.select(rows)
        assert isinstance(some, TransformerState)
        torch.testing.assert_close(part.step(some, token[:2])[2], part.step(quick, token)[2][rows])
        assert isinstance(quick.to("cpu"), TransformerState)
        asking: Attention = part.blocks[-1].asking
        own, asking.normalizer = asking.normalizer, Sparsemax()
        other, expected = part.step(quick, token), part.step(slow, token)
        asking.normalizer = own
        assert isinstance(other[0], TransformerState)
        torch.testing.assert_close(other[2], expected[2])
        torch.testing.assert_close(other[1].weights, expected[1].weights)
        assert not torch.allclose(other[2], part.step(quick, token)[2])
    _, _, logits = part.step(quick, token)
    assert logits.requires_grad
    torch.testing.assert_close(logits.detach(), part.step(slow, token)[2].detach())


def test_one_state_may_be_gone_on_from_twice() -> None:
    """Nothing that was kept is written over."""
    part, memory = decoder(), a_memory()
    with torch.no_grad():
        state, _, _ = walk(part, part.start(memory))
        before = [one.clone() for one in state.kept]
        first = part.step(state, torch.full((3, 4), 1))[2]
        part.step(state.reorder(torch.ones(3, 4, dtype=torch.long)), torch.full((3, 4), 7))
        assert all(torch.equal(one, other) for one, other in zip(before, state.kept, strict=True))
        assert torch.equal(part.step(state, torch.full((3, 4), 1))[2], first)


def test_a_search_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    part, memory = decoder(), a_memory()

    def found() -> list[Any]:
        return Beam(beam_size=4, n_best=3)(
            part, memory, start=1, end=2, max_length=torch.tensor([9, 6, 4]), weights=True
        )

    quick = found()
    monkeypatch.setattr(DecodingPlan, "of", staticmethod(lambda *_: None))
    for some, others in zip(quick, found(), strict=True):
        assert [one.tokens for one in some] == [one.tokens for one in others]
        assert [one.rank_score for one in some] == pytest.approx([one.rank_score for one in others], abs=1e-5)
        same([one.weights for one in some], [one.weights for one in others], False)


class Counted(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls += 1
        return op(*args, **(kwargs or {}))


def test_it_takes_half_the_calls() -> None:
    part, memory, token, calls = decoder(), a_memory(), torch.ones(3, 4, dtype=torch.long), []
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        for start in (part.start(memory), long_way(part, memory)):
            state, _, _ = walk(part, start)
            with Counted() as counted:
                part.step(state.reorder(token), token)
            calls.append(counted.calls)
    assert calls[0] < 0.55 * calls[1]


def test_learned_places_end() -> None:
    part, memory = decoder(positions="learned", max_length=3), a_memory()
    with torch.no_grad():
        state, _, _ = walk(part, part.start(memory), steps=3)
        with pytest.raises(RegardError, match=r"4 tokens.*at most 3"):
            part.step(state, torch.ones(3, 4, dtype=torch.long))


def test_few_questions_over_many_keys_are_answered_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a GPU they take the readable path."""
    q, k, v, bias = torch.randn(2, 2, 3, 4), torch.randn(2, 2, 5, 4), torch.randn(2, 2, 5, 4), torch.randn(2, 1, 3, 5)
    fused = [_cached._attend(q, k, v, some, 0.7) for some in (None, bias)]
    monkeypatch.setattr(_cached, "choose", lambda *_: NARROW)
    same(fused, [_cached._attend(q, k, v, some, 0.7) for some in (None, bias)], half=False)


def test_one_layer_carries_nothing_to_later_tokens() -> None:
    assert not decoder(layers=1).carries
    assert decoder(layers=2).carries
