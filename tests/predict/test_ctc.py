"""CTC: all paths counted one by one, PyTorch's loss, searches, and padding."""

from itertools import product

import pytest
import torch

from regard.predict.ctc import Ctc
from regard.search.beam import Beam
from regard.search.greedy import Greedy
from regard.text import Tokenizer
from regard.types import Memory, Sequences

VOCAB, SIZE = 6, 3
LETTERS = (Tokenizer.pad, Tokenizer.unknown, 4, 5)  # the blank first


def made(positions: tuple[int, ...] = (4, 3)) -> tuple[Ctc, Memory]:
    torch.manual_seed(1)
    ctc = Ctc(VOCAB, SIZE).double()
    keys = 2 * torch.randn(len(positions), max(positions), SIZE).double()
    mask = torch.arange(max(positions)) < torch.tensor(positions)[:, None]
    return ctc, Memory(keys, keys, mask)


def merged(path: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(c for c, before in zip(path, (0, *path), strict=False) if c and c != before)


def counted(ctc: Ctc, memory: Memory, row: int) -> dict[tuple[int, ...], float]:
    """The probability of every output, from every path."""
    assert memory.mask is not None
    y = ctc.log_probs(memory).exp()[row].tolist()
    total: dict[tuple[int, ...], float] = {}
    for path in product(LETTERS, repeat=int(memory.mask[row].sum())):
        p = 1.0
        for time, c in enumerate(path):
            p *= y[time][c]
        total[merged(path)] = total.get(merged(path), 0.0) + p
    return total


@pytest.mark.parametrize("row", [0, 1])
def test_every_output_has_the_probability_of_its_paths(row: int) -> None:
    ctc, memory = made()
    total = counted(ctc, memory, row)
    assert sum(total.values()) == pytest.approx(1)
    one = memory.select(torch.tensor([row]))
    for tokens, p in total.items():
        with torch.no_grad():
            _, logits = ctc.unroll(one, torch.tensor([[Tokenizer.start, *tokens]]))
            found = (
                torch.log_softmax(logits[0], -1).gather(-1, torch.tensor([*tokens, Tokenizer.end])[:, None]).sum().exp()
            )
            loss = ctc.loss(one, Sequences.pad([[*tokens, Tokenizer.end]]))
        assert float(found) == pytest.approx(p, rel=1e-9)
        assert float((-loss).exp()) == pytest.approx(p, rel=1e-9)


def test_searches_find_the_best_output() -> None:
    ctc, memory = made()
    ways = {
        "start": Tokenizer.start,
        "end": Tokenizer.end,
        "max_length": torch.tensor([8, 8]),
        "banned": (Tokenizer.pad, Tokenizer.start),
    }
    found = Beam(beam_size=60, length_penalty=0.0)(ctc, memory, **ways)  # type: ignore[arg-type]
    for row, [best] in enumerate(found):
        total = counted(ctc, memory, row)
        tokens = max(total, key=total.__getitem__)
        assert best.tokens == (*tokens, Tokenizer.end)
        assert torch.tensor(best.log_prob).exp() == pytest.approx(total[tokens], rel=1e-5)
    [[greedy], _] = Greedy()(ctc, memory, **ways)  # type: ignore[arg-type]
    chosen: tuple[int, ...] = ()
    total = counted(ctc, memory, 0)
    while True:  # the likeliest next token by definition
        beginning = {c: sum(p for g, p in total.items() if g[: len(chosen) + 1] == (*chosen, c)) for c in LETTERS[1:]}
        c = max(beginning, key=beginning.__getitem__)
        if beginning[c] <= total.get(chosen, 0.0):
            break
        chosen += (c,)
    assert greedy.tokens == (*chosen, Tokenizer.end)


def test_a_look_says_when_the_next_token_begins() -> None:
    """Clear probabilities, 4 at the second position and 5 at the fourth; then nothing comes."""
    ctc = Ctc(VOCAB, VOCAB).double()
    ctc.out.weight.data, ctc.out.bias.data = 20 * torch.eye(VOCAB).double(), torch.zeros(VOCAB).double()
    keys = torch.nn.functional.one_hot(torch.tensor([[0, 4, 4, 5, 0]]), VOCAB).double()
    look, _ = ctc.unroll(Memory(keys, keys), torch.tensor([[Tokenizer.start, 4, 5]]))
    assert look.weights.argmax(-1).tolist() == [[1, 3, 4]]
    torch.testing.assert_close(look.weights.sum(-1), torch.ones(1, 3))


def test_padding_changes_nothing_and_a_target_that_is_too_long_costs_nothing() -> None:
    ctc, memory = made()
    one = memory.select(torch.tensor([1]))
    short = Memory(one.keys[:, :3], one.values[:, :3], one.mask[:, :3])  # type: ignore[index]
    tokens = torch.tensor([[Tokenizer.start, 4, 4]])
    torch.testing.assert_close(ctc.unroll(one, tokens)[1], ctc.unroll(short, tokens)[1])
    target = Sequences.pad([[4, 4, 5, Tokenizer.end]])  # the blank between the two 4s has no room
    loss = ctc.loss(short, target)
    assert loss.tolist() == [0.0]
    gradient = torch.autograd.grad(loss.sum(), ctc.out.weight)[0]
    assert torch.isfinite(gradient).all()
