"""Answering: the loss counts every turn, padding changes nothing, and words that both sides have are told."""

from typing import Any

import pytest
import torch

from regard.encode.bigru import Bigru
from regard.fields.embed.words import Words
from regard.find import build
from regard.networks.answering import Answering
from regard.types import Batch, Sequences

pytestmark = pytest.mark.usefixtures("one_thread")
DOCUMENTS, QUESTIONS = [[5, 6, 7, 8, 3], [9, 5, 3]], [[6, 4], [5, 8, 7]]


def network(interact: Any = "coattention", point: Any = "dynamic", **options: Any) -> Answering:
    torch.manual_seed(1)
    encoder = Bigru(inputs=4, hidden=3)
    met = build("attend.interact", interact, inputs=6)
    spec = {"name": "dynamic", "hidden": 3, "pool": 2, "turns": 3} if point == "dynamic" else point
    pointer = build("predict.point", spec, inputs=6) if met.gives == "values" else None
    again = Bigru(inputs=met.size, hidden=3) if pointer is not None else None
    return Answering(Words(vocab=10, found=0, dim=4), encoder, met, again, pointer, **options).double().eval()


def batch(*rows: int, groups: Any = None) -> Batch:
    sides = [Sequences.pad([some[row] for row in rows]) for some in (DOCUMENTS, QUESTIONS)]
    target = torch.tensor([[[1, 2]], [[0, 0]]])[list(rows)]
    if groups is None:
        return Batch(tuple(sides), target)
    return Batch((*sides, Sequences.pad([groups[row] for row in rows], fill=-1)), target[:, 0, 0])


@pytest.mark.parametrize("interact", ["coattention", "attention", "concatenation"])
@pytest.mark.parametrize("overlap", [True, False])
def test_a_batch_is_the_sum_of_its_rows(interact: str, overlap: bool) -> None:
    one = network(interact, overlap=overlap)
    whole = one(batch(0, 1))
    assert whole.count == 2
    each = [one(batch(row)).total.item() for row in (0, 1)]
    assert whole.total.item() == pytest.approx(sum(each), rel=1e-9)


def test_words_too() -> None:
    one = network("attention_over_attention")
    groups = [[0, 1, 0, -1, -1], [0, 1, -1]]
    each = [one(batch(row, groups=groups)).total.item() for row in (0, 1)]
    assert one(batch(0, 1, groups=groups)).total.item() == pytest.approx(sum(each), rel=1e-9)


def test_the_loss_counts_every_turn_and_shows_the_last() -> None:
    one = network().train()
    found = one(batch(0, 1))
    read = one.read(batch(0, 1).inputs)
    assert read.pointed is not None
    assert read.pointed.start.shape[1] == 3
    target = batch(0, 1).target
    assert isinstance(target, torch.Tensor)
    expected = 0.0
    for turn in range(3):
        for scores, place in ((read.pointed.start, target[:, 0, 0]), (read.pointed.end, target[:, 0, 1])):
            expected -= scores[:, turn].log_softmax(-1).gather(1, place[:, None]).sum().item()
    assert found.total.item() == pytest.approx(expected)
    assert found.shown is not None
    assert found.shown.item() < expected


def test_what_both_sides_have() -> None:
    """Of 5 6 7 8 </s> and 6 4 only 6 is in both; an end and an unknown word are no words."""
    one = network(overlap=True)
    assert one.overlap is not None
    document, question = (Sequences.pad([row]) for row in ([5, 6, 7, 1, 3], [6, 4, 1, 3]))
    told = one.words(document, question)
    plain = one.embed(document).values, one.embed(question).values
    for side, (with_it, without) in enumerate(zip((one_.values for one_ in told), plain, strict=True)):
        added = (with_it - without)[0]
        where = [1] if side == 0 else [0]
        for place, vector in enumerate(added):
            expected = one.overlap[side] if place in where else torch.zeros(4, dtype=torch.float64)
            torch.testing.assert_close(vector, expected)


def test_dropout_only_in_training() -> None:
    one = network(dropout=0.5)
    assert one(batch(0, 1)).total.item() == one(batch(0, 1)).total.item()
    one.train()
    assert one(batch(0, 1)).total.item() != one(batch(0, 1)).total.item()


@pytest.mark.parametrize("point", ["dynamic", "linear"])
def test_affinities_and_scores_are_never_in_half_precision(point: str) -> None:
    """In bfloat16 many would be equal; what an encoder computes may be."""
    one = network(point=point).float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        read = one.read(batch(0, 1).inputs)
    assert read.pointed is not None
    for found in (read.interaction.affinity, read.interaction.values, read.pointed.start):
        assert found is not None
        assert found.dtype is torch.float32
        assert not torch.equal(found.bfloat16().float(), found)
