"""Transformer decoder: its equations, one answer however its tokens are read, every layer's looks, beams, learning."""

from collections.abc import Callable
from functools import partial
from itertools import product
from math import log, sqrt
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from regard import find
from regard.attend.attention import Attention, make
from regard.attend.bias import Bias, Terms
from regard.attend.heads import Heads
from regard.attend.positions import Kind
from regard.attend.score.scaled_dot import ScaledDot
from regard.encode.transformer import Transformer as Encoder
from regard.errors import RegardError
from regard.predict.generate import Decoder
from regard.predict.generate.transformer import Transformer, TransformerState
from regard.search.beam import Beam
from regard.types import Look, Memory, Sequences
from tiers import sweep_but

vocab, width, size, heads = 11, 6, 8, 2
kinds: list[Kind] = ["sinusoid", "learned", "rotary"]
every = pytest.mark.parametrize("kind", kinds)
scaled: Callable[..., Attention] = partial(make, score="scaled_dot")


def decoder(attention: Callable[..., Attention] = scaled, memory: int = width, **options: Any) -> Transformer:
    """Small, exact and at rest; gains and biases are not those it begins with, which would hide where they stand."""
    options = {"size": size, "layers": 2, "heads": heads, "ffn": 12, "max_length": 30, **options}
    part = Transformer(vocab, memory, attention, **options)
    for parameter in part.parameters():
        if parameter.dim() == 1:
            nn.init.normal_(parameter, mean=0.5)
    return part.double().eval()


def a_memory(memory: int = width, keys: int = 5) -> Memory:
    """Keys that are not the values; a shorter sentence, and an empty one."""
    mask = torch.arange(keys)[None, :] < torch.tensor([keys, 2, 0])[:, None]
    return Memory(torch.randn(3, keys, memory).double(), torch.randn(3, keys, memory).double(), mask)


def some_tokens(time: int = 6) -> Tensor:
    return torch.randint(vocab, (3, time))


def norm(x: Tensor, layer: nn.LayerNorm) -> Tensor:
    x = (x - x.mean(-1, keepdim=True)) / (x.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    return x * layer.weight + layer.bias


def normalized(q: Tensor, k: Tensor, v: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
    """Answers, and weights `[head, query, key]`, head by head."""
    answers, weights = [], []
    for one in range(heads):
        own = slice(one * size // heads, (one + 1) * size // heads)
        scores = (q[:, own] @ k[:, own].T / sqrt(size // heads)).masked_fill(~seen, -torch.inf)
        weights.append(torch.softmax(scores, -1))
        answers.append(weights[-1] @ v[:, own])
    return torch.cat(answers, -1), torch.stack(weights)


def by_hand(part: Transformer, memory: Memory, row: int, words: Tensor) -> tuple[Tensor, list[Tensor]]:
    """Logits and each layer's weights of one sentence (sinusoids or learned places)."""
    time = len(words)
    assert memory.mask is not None
    keys, values = (one[row, memory.mask[row]] for one in (memory.keys, memory.values))
    if part.W_m is not None:
        keys, values = part.W_m(keys), part.W_m(values)
    places = part.positions(0, time).vectors
    assert places is not None
    x, looked = sqrt(size) * part.embedding.weight[words] + places, []
    for block in part.blocks:
        q, k, v = (norm(x, block.norm_attend) @ block.attending.W_qkv.weight.T).chunk(3, -1)
        answer, _ = normalized(q, k, v, torch.ones(time, time).bool().tril())
        x = x + block.attending.attention.heads.W_o(answer)
        around = block.asking.heads
        q, k, v = around.W_q(norm(x, block.norm_ask)), around.W_k(keys), around.W_v(values)
        answer, weights = normalized(q, k, v, torch.ones(time, len(keys)).bool())
        x = x + around.W_o(answer)
        looked.append(weights)
        x = x + block.W_2(block.W_1(norm(x, block.norm_think)).clamp(min=0))
    return norm(x, part.norm) @ part.embedding.weight.T, looked


class InOrder(TorchDispatchMode):
    """Matrix products that add up term after term, as a library's do not: there the order of a row's sum changes with
    how many rows there are (MKL: those beyond the last multiple of four), and rounding with it."""

    def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        aten = torch.ops.aten
        if op in (aten.mm.default, aten.bmm.default):
            return self._product(*args)
        if op is aten.addmm.default:
            return self._product(*args[1:3]) + args[0]
        assert op not in (aten.linear.default, aten.matmul.default, aten.baddbmm.default)
        return op(*args, **(kwargs or {}))

    def _product(self, a: Tensor, b: Tensor) -> Tensor:
        total = a.new_zeros(*a.shape[:-1], b.shape[-1])
        for k in range(a.shape[-1]):
            total = total + a[..., k : k + 1] * b[..., k : k + 1, :]
        return total


class Tired(Bias):
    """A bias with a memory of its own: what was looked at before is looked at less."""

    stateful = True

    def start(self, memory: Memory, queries: int) -> Tensor:
        return memory.values.new_zeros(len(memory.values), queries, heads, memory.values.shape[-2])

    def terms(self, memory: Memory, queries: int, state: Tensor) -> Terms:
        return Terms(scores=-2.0 * state.transpose(1, 2))

    def update(self, state: Tensor, weights: Tensor) -> Tensor:
        return state + weights


def tired(query: int, key: int, value: int) -> Attention:
    part = query // heads
    return Attention(ScaledDot(part, part), bias=[Tired()], heads=Heads(query, key, value, heads))


# The equations


def test_worked_by_hand() -> None:
    """One layer, one head, two features, which a norm turns into 1 for the greater and −1 for the less."""
    part = Transformer(2, 2, scaled, size=2, layers=1, heads=1, ffn=2).double().eval()
    [block], one = part.blocks, torch.eye(2)
    asking = block.asking.heads
    for norm in [block.norm_attend, block.norm_ask, block.norm_think, part.norm]:
        norm.eps = 0.0
    with torch.no_grad():
        part.embedding.weight.copy_(torch.tensor([[2.0, 5.0], [0.5, -0.5]]))
        block.attending.W_qkv.weight.copy_(torch.cat([0 * one, 0 * one, one]))
        for W in [block.attending.attention.heads.W_o, asking.W_q, asking.W_k, asking.W_v, asking.W_o]:
            W.weight.copy_(one)
        block.W_1.weight.copy_(torch.tensor([[2.0, 0.0], [0.0, 1.0]]))
        block.W_2.weight.copy_(torch.tensor([[-1.0, 0.0], [0.0, 1.0]]))
    keys = torch.tensor([[[sqrt(2) * log(3), 0.0], [0.0, 0.0]]], dtype=torch.float64)
    _, look, logits = part.step(
        part.start(Memory(keys, torch.tensor([[[0.0, 4.0], [4.0, 0.0]]]).double())), torch.tensor([[1]])
    )
    # x = √2 (0.5, −0.5) + (sin 0, cos 0) = (0.70711, 0.29289). The token finds itself: + (1, −1) = (1.70711, −0.70711).
    # Asking (1, −1): e = log 3 and 0, so 3/4 (0, 4) + 1/4 (4, 0) = (1, 3), and x = (2.70711, 2.29289).
    # (1, −1) within: relu(2, −1) = (2, 0), − (2, 0), and x = (0.70711, 2.29289) is (−1, 1) in the end.
    assert look.weights.flatten().tolist() == pytest.approx([0.75, 0.25], abs=1e-12)
    assert look.context.flatten().tolist() == pytest.approx([1.0, 3.0], abs=1e-12)
    assert logits.flatten().tolist() == pytest.approx([-2.0 + 5.0, -0.5 - 0.5], abs=1e-12)


@pytest.mark.parametrize("kind", ["sinusoid", "learned"])
@pytest.mark.parametrize("memory", [size, width])
def test_equations(kind: Kind, memory: int) -> None:
    part, given, tokens = decoder(memory=memory, positions=kind, look="all"), a_memory(memory), some_tokens()
    look, logits = part.unroll(given, tokens)
    for row, keys in enumerate([5, 2]):
        expected, looked = by_hand(part, given, row, tokens[row])
        torch.testing.assert_close(logits[row], expected)
        torch.testing.assert_close(look.weights[row, ..., :keys], torch.cat(looked))
    assert not look.weights[2].any()


def test_rotary_places_reach_self_attention() -> None:
    """The order of earlier tokens counts, where without places they would be a set."""
    part, memory = decoder(positions="rotary"), a_memory()
    one, other = (part.unroll(memory, torch.tensor([words] * 3))[1][:, -1] for words in ([1, 2, 3, 4], [2, 1, 3, 4]))
    assert not torch.allclose(one, other)


def test_the_size_is_as_said() -> None:
    """Embeddings serve both ends; a layer has 4·256² + 256, 4·256² + 4·256, 2·256·1024 + 1280 and three norms."""
    part = Transformer(8000, 256, scaled)
    layer = 8 * 256**2 + 5 * 256 + 2 * 256 * 1024 + 1280 + 6 * 256
    assert sum(p.numel() for p in part.parameters()) == 8000 * 256 + 4 * layer + 512
    assert part.blocks[0].asking.heads.heads == 4
    assert part.parallel


# One by one, and all at once


@every
@pytest.mark.parametrize("score", sweep_but(["scaled_dot", "additive", "cosine"], "scaled_dot"))
def test_a_cached_step_is_the_same_sum(kind: Kind, score: str) -> None:
    """To the bit where products add in one order; else within the rounding of a library's matrix products."""
    part, memory, tokens = decoder(partial(make, score=score), positions=kind), a_memory(), some_tokens(13)
    with torch.no_grad(), InOrder():
        (look, logits), (looks, steps) = part.unroll(memory, tokens), Decoder.unroll(part, memory, tokens)
    assert torch.equal(logits, steps)
    assert torch.equal(look.weights, looks.weights)
    assert torch.equal(look.context, looks.context)
    with torch.no_grad():
        for one in [part.unroll(memory, tokens)[1], Decoder.unroll(part, memory, tokens)[1]]:
            assert float((one - logits).abs().max() / logits.abs().max()) < 64 * torch.finfo(torch.float64).eps


@every
def test_a_cached_step_is_the_same_in_lower_precision(kind: Kind) -> None:
    part, memory, tokens = decoder(positions=kind).float(), a_memory(), some_tokens()
    memory = Memory(memory.keys.float(), memory.values.float(), memory.mask)
    _, whole = part.unroll(memory, tokens)
    torch.testing.assert_close(Decoder.unroll(part, memory, tokens)[1], whole, rtol=1e-4, atol=1e-4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        look, half = part.unroll(memory, tokens)
        looks, steps = Decoder.unroll(part, memory, tokens)
        state, _, _ = part.step(part.start(memory), tokens[:, :1])
    assert state.keys[0].dtype == state.values[0].dtype == torch.bfloat16  # half the room
    torch.testing.assert_close(half.float(), whole, rtol=0.05, atol=0.15)
    torch.testing.assert_close(steps.float(), whole, rtol=0.05, atol=0.15)
    torch.testing.assert_close(looks.weights.float(), look.weights.float(), rtol=0.05, atol=0.02)


def test_what_was_read_is_kept_and_the_memory_is_not_copied() -> None:
    part, memory = decoder(), a_memory()
    state = part.start(memory)
    assert state.time == 0
    for time in range(1, 4):
        state, _, _ = part.step(state.reorder(torch.zeros(3, 4, dtype=torch.long)), torch.full((3, 4), time))
        assert state.time == time
        assert [one.shape for one in state.keys] == [(3, 4, heads, time, size // heads)] * 2
    assert isinstance(state, TransformerState)
    assert [one.keys.shape for one in state.prepared] == [(3, heads, 5, size // heads)] * 2
    followed = state.reorder(torch.zeros(3, 4, dtype=torch.long))
    assert all(one is other for one, other in zip(followed.prepared, state.prepared, strict=True))


def test_keys_that_are_values_are_mapped_once() -> None:
    part, keys, calls = decoder(), torch.randn(3, 5, width).double(), []
    assert part.W_m is not None
    part.W_m.register_forward_hook(lambda *_: calls.append(1))
    _, same = part.unroll(Memory(keys, keys), some_tokens(1) * 0)
    assert len(calls) == 1
    _, apart = part.unroll(Memory(keys, keys.clone()), some_tokens(1) * 0)
    torch.testing.assert_close(same, apart)


def test_attention_that_remembers_goes_step_by_step() -> None:
    part, plain, memory, tokens = decoder(tired), decoder(), a_memory(), some_tokens()
    assert not part.parallel
    plain.load_state_dict(part.state_dict())
    look, logits = part.unroll(memory, tokens)
    _, untired = plain.unroll(memory, tokens)
    torch.testing.assert_close(logits[:, 0], untired[:, 0])
    assert not torch.allclose(logits[:2, 1:], untired[:2, 1:])
    assert look.weights.shape == (3, heads, 6, 5)


# Looking


def test_any_layer_may_be_shown() -> None:
    memory, tokens, shown = a_memory(), some_tokens(), {}
    kept = decoder(layers=3).state_dict()
    for look in ["last", "mean", "all", 0, 1, 2, -1]:
        part = decoder(layers=3, look=look)
        part.load_state_dict(kept)
        shown[look], logits = part.unroll(memory, tokens)
        steps, stepped = Decoder.unroll(part, memory, tokens)
        torch.testing.assert_close(steps.weights, shown[look].weights)
        torch.testing.assert_close(steps.context, shown[look].context)
        assert torch.equal(logits, part.unroll(memory, tokens)[1])
        torch.testing.assert_close(stepped, logits)
    first, second, last = (shown[layer].weights for layer in range(3))
    assert first.shape == (3, heads, 6, 5)
    assert torch.equal(shown["last"].weights, last)
    assert torch.equal(shown[-1].weights, last)
    assert not torch.allclose(first, second)
    torch.testing.assert_close(shown["mean"].weights, (first + second + last) / 3)
    assert torch.equal(shown["all"].weights, torch.cat([first, second, last], 1))
    answers = [shown[layer].context for layer in range(3)]
    torch.testing.assert_close(shown["mean"].context, sum(answers) / 3)
    assert torch.equal(shown["all"].context, torch.cat(answers, -1))


def test_only_what_is_asked_for_is_worked_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """In float32 all answers come from the fused kernel; weights are made for the layers shown, when they are read."""
    memory, tokens, made = a_memory(), some_tokens(), []
    memory = Memory(memory.keys.float(), memory.values.float(), memory.mask)
    honest = Attention._weighed

    def counted(self: Attention, *parts: Any) -> Any:
        made.append(self)
        return honest(self, *parts)

    monkeypatch.setattr(Attention, "_weighed", counted)
    for look, layers in [("last", [2]), (0, [0]), ("mean", [0, 1, 2]), ("all", [0, 1, 2])]:
        part = decoder(layers=3, look=look).float()
        seen, logits = part.unroll(memory, tokens)
        _, step, _ = part.step(part.start(memory), tokens[:, :1])
        before = logits.clone()
        assert made == []
        torch.testing.assert_close(step.weights, seen.weights[:, :, :1])
        assert made == [part.blocks[layer].asking for layer in layers] * 2
        assert torch.equal(logits, before)
        made.clear()


def test_choices_are_told() -> None:
    """Where keys are sampled a token has the log-probability of all its choices, whichever layer's look is shown."""
    memory, tokens = a_memory(), some_tokens()
    hard = partial(make, score="scaled_dot", normalizer="sample")
    kept = decoder(hard).state_dict()
    for normalizer in ["softmax", "sample"]:  # of self-attention
        told = []
        for look in ["last", 0, "mean", "all"]:
            part = decoder(hard, look=look, dropout=0.0, normalizer=normalizer).train()
            part.load_state_dict(kept)
            looks: list[Look] = []
            for block in part.blocks:
                for one in (block.asking, block.attending.attention):
                    one.register_forward_hook(lambda _, __, look, looks=looks: looks.append(look))
            torch.manual_seed(3)
            seen, _ = part.unroll(memory, tokens)
            drawn = [one for one in looks if one.log_prob is not None]
            assert len(drawn) == (2 if normalizer == "softmax" else 4)
            for name in ["log_prob", "entropy"]:
                torch.testing.assert_close(
                    getattr(seen, name), torch.stack([getattr(one, name).sum(1) for one in drawn]).sum(0)
                )
            assert seen.log_prob is not None
            assert seen.entropy is not None
            assert seen.weights.shape[-2:] == (6, 5)
            told.append(torch.stack([seen.log_prob, seen.entropy]))
        assert told[0].shape == (2, 3, 6)
        assert (told[0][0, :2] < 0).all()
        assert all(torch.equal(one, told[0]) for one in told)


def test_choices_of_every_hypothesis_are_told() -> None:
    memory, tokens = a_memory(), torch.tensor([[1, 2], [3, 4], [0, 1]])
    part = decoder(
        partial(make, score="scaled_dot", normalizer="sample"), normalizer="sample"
    )  # takes the likeliest keys
    beams = part.start(memory).reorder(torch.zeros(3, 2, dtype=torch.long))
    _, look, _ = part.step(beams, tokens)
    assert look.log_prob is not None
    assert look.log_prob.shape == (3, 2)
    for beam in range(2):
        _, alone, _ = part.step(part.start(memory), tokens[:, beam : beam + 1])
        torch.testing.assert_close(look.log_prob[:, beam : beam + 1], alone.log_prob)


def test_heads_are_the_attentions_own_where_it_has_them() -> None:
    for given, found in [({}, 2), ({"heads": 4}, 4), ({"heads": 1}, 1), ({"heads": 4, "size": 12}, 4)]:
        look, _ = decoder(partial(make, score="scaled_dot", **given)).unroll(a_memory(), some_tokens())
        assert look.weights.shape == (3, found, 6, 5)
    part = find.build(
        "predict.generate",
        {"name": "transformer", "size": 8, "heads": 2, "layers": 1},
        vocab=5,
        memory=8,
        summary=8,
        attention=partial(find.call, make, {"heads": None}),
    )
    assert part.blocks[0].asking.heads.heads == 2


@pytest.mark.parametrize("score", ["feature_wise", "additive", "bilinear"])
def test_any_score_may_ask(score: str) -> None:
    for look in ["mean", "all"]:
        seen, logits = decoder(partial(make, score=score), look=look).unroll(a_memory(), some_tokens())
        assert logits.isfinite().all()
        torch.testing.assert_close(seen.by_key[:2].sum(-1), torch.ones_like(seen.by_key[:2, ..., 0]))


def test_what_cannot_be_is_said() -> None:
    with pytest.raises(RegardError, match=r"look=2; expected a layer from 0 to 1"):
        decoder(look=2)
    with pytest.raises(RegardError, match="layers: got 0"):
        decoder(layers=0)
    with pytest.raises(RegardError, match="decoder"):
        find.check(Transformer, {"look": "first"}, "decoder.")
    with pytest.raises(RegardError, match="3 heads with size 8"):
        decoder(heads=3)
    part = decoder(positions="learned", max_length=2)
    with pytest.raises(RegardError, match=r"3 tokens.*at most 2"):
        part.unroll(a_memory(), some_tokens(3))


# Searching and learning


@every
def test_a_wide_beam_finds_the_best_of_all(kind: Kind) -> None:
    """Against every sequence of up to three tokens, scored in one call each."""
    part, memory, end = decoder(positions=kind), a_memory().select(torch.tensor([0, 1])), 2
    part.embedding = nn.Embedding.from_pretrained(part.embedding.weight[:4] * 2)
    found = Beam(beam_size=40, length_penalty=1.0, n_best=3)(
        part, memory, start=1, end=end, max_length=torch.tensor([3, 3]), weights=True
    )
    others = [0, 1, 3]
    ended = [(*words, end) for n in range(3) for words in product(others, repeat=n)]
    for row, best in enumerate(found):
        scores = {}
        for words in [*ended, *product(others, repeat=3)]:
            look, logits = part.unroll(memory.select(torch.tensor([row])), torch.tensor([[1, *words[:-1]]]))
            log_probs = logits[0].detach().log_softmax(-1)
            scores[words] = float(sum(log_probs[i, word] for i, word in enumerate(words))) / len(words)
            for one in best:
                if one.tokens == words:
                    assert one.weights is not None
                    torch.testing.assert_close(one.weights, look.weights[0])
        expected = sorted(scores, key=lambda words: -scores[words])[:3]
        assert [one.tokens for one in best] == expected
        assert [one.rank_score for one in best] == pytest.approx([scores[words] for words in expected], abs=1e-5)


@pytest.mark.sweep
def test_it_learns_to_turn_words_round() -> None:
    """Five words backwards: most are right after a few seconds, and it looks where they come from."""
    words, time, steps = 8, 5, 200
    embedding = nn.Embedding(words, 32)
    nn.init.normal_(embedding.weight, std=32**-0.5)
    reader = Encoder(32, 32, layers=1, heads=2, ffn=64, dropout=0.0)
    part = Transformer(words, 32, scaled, 32, layers=1, heads=2, ffn=64, dropout=0.0)
    everything = nn.ModuleList([embedding, reader, part])
    optimiser = torch.optim.AdamW(everything.parameters(), lr=5e-3, betas=(0.9, 0.98))

    def batch(rows: int) -> tuple[Memory, Tensor, Tensor]:
        source = torch.randint(2, words, (rows, time))
        mask = torch.ones(rows, time, dtype=torch.bool)
        memory = reader(Sequences(embedding(source), mask, mask.sum(1)))
        target = source.flip(1)
        return memory, torch.cat([torch.ones_like(target[:, :1]), target[:, :-1]], 1), target

    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = 5e-3 * min(1.0, (step + 1) / 20) * (1 - step / steps)
        memory, before, target = batch(64)
        _, logits = part.unroll(memory, before)
        nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten(), label_smoothing=0.1).backward()
        optimiser.step()
        optimiser.zero_grad()
    everything.eval()
    with torch.no_grad():
        memory, before, target = batch(100)
        look, logits = part.unroll(memory, before)
        found = Beam(beam_size=3)(part, memory, start=1, end=0, max_length=torch.full((100,), time))
    assert float((logits.argmax(-1) == target).float().mean()) > 0.95
    assert sum(best[0].tokens == tuple(words) for best, words in zip(found, target.tolist(), strict=True)) > 80
    looked = look.weights.mean((0, 1))
    assert looked.argmax(-1).tolist() == [4, 3, 2, 1, 0]


def test_other_layers_are_shown_by_name_and_change_nothing() -> None:
    part, given, tokens = decoder(layers=3, dropout=0.0), a_memory(), some_tokens()
    seen = {}
    for layers in ("last", "1", "2", "3", "mean", "all"):
        view = part.showing(layers)
        look, logits = view.unroll(given, tokens)
        seen[layers] = look.weights
        torch.testing.assert_close(logits, seen.setdefault("logits", logits), rtol=0, atol=0)
        heads = seen["last"].shape[1]
        assert view.head_names == (
            tuple(f"layer {i} head {j}" for i in (1, 2, 3) for j in range(1, heads + 1)) if layers == "all" else ()
        )
    torch.testing.assert_close(seen["3"], seen["last"], rtol=0, atol=0)
    torch.testing.assert_close(seen["all"], torch.cat([seen["1"], seen["2"], seen["3"]], 1), rtol=0, atol=0)
    for wrong in ("0", "4", "-1", "some"):
        with pytest.raises(RegardError, match=rf"layers {wrong}; expected a number from 1 to 3"):
            part.showing(wrong)
