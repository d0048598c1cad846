"""The network of sentence tasks: words → encode → pool → match → predict, one sentence or two at a time."""

import pytest
import torch
from torch.nn.functional import cross_entropy

from regard.attend.reinforce import Reinforce
from regard.encode._words import Words
from regard.find import build
from regard.predict.classify import Classify
from regard.predict.match.difference import Difference
from regard.predict.tag import Tag
from regard.tasks._reader import Reader, stacked
from regard.types import Sequences

first, second = [[5, 6, 7], [4], [8, 5]], [[6], [7, 8, 4, 5, 5], [4, 4]]


def reader(encoder: str = "bigru", pool: str | None = "attention", pair: bool = True, dropout: float = 0.0) -> Reader:
    part = build("encode", {"name": encoder, "hidden": 3}, inputs=4)
    pooling = None if pool is None else build("pool", pool, inputs=part.size, summary=part.summary)
    match = Difference(pooling.size) if pooling is not None and pair else None
    size = part.size if pooling is None else pooling.size
    head = Tag(size, labels=2) if pooling is None else Classify(size * (4 if pair else 1), labels=2, hidden=5)
    return Reader(Words(vocab=9, found=0, dim=4), part, pooling, match, head, None, dropout).eval()


def test_several_inputs_stand_one_after_the_other() -> None:
    both = stacked([Sequences.pad(first), Sequences.pad(second)])
    assert both.values.tolist() == [
        *([5, 6, 7, 0, 0], [4, 0, 0, 0, 0], [8, 5, 0, 0, 0]),
        *([6, 0, 0, 0, 0], [7, 8, 4, 5, 5], [4, 4, 0, 0, 0]),
    ]
    assert both.lengths.tolist() == both.mask.sum(-1).tolist() == [3, 1, 2, 1, 5, 2]
    assert torch.equal(both.mask, both.values != 0)


@pytest.mark.parametrize("encoder", ["bigru", "disan", "hierarchical"])
@pytest.mark.parametrize("pool", ["attention", "source2token", "max"])
def test_a_pair_is_each_sentence_read_alone_then_matched(encoder: str, pool: str) -> None:
    part = reader(encoder, pool)
    read = part([Sequences.pad(first), Sequences.pad(second)])
    assert read.pooled is not None
    assert read.choices == ()
    for row, pair in enumerate(zip(first, second, strict=True)):
        vectors = []
        for tokens in pair:
            words = part.words(torch.tensor([tokens]))
            alone = Sequences(words, torch.ones(1, len(tokens), dtype=torch.bool), torch.tensor([len(tokens)]))
            vectors.append(part.pool(part.encoder(alone)).vector)
        u, v = vectors
        torch.testing.assert_close(read.pooled.vector[[row, row + 3]], torch.cat(vectors), rtol=1e-5, atol=1e-6)
        matched = torch.cat([u, v, u - v, u * v], -1)
        torch.testing.assert_close(read.logits[[row]], part.head(matched), rtol=1e-5, atol=1e-6)


def test_one_sentence_is_not_matched() -> None:
    part = reader(pair=False)
    read = part([Sequences.pad(first)])
    assert read.pooled is not None
    assert torch.equal(read.logits, part.head(read.pooled.vector))


def test_without_a_pooling_every_state_is_answered_for() -> None:
    part = reader(pool=None)
    read = part([Sequences.pad(first)])
    assert read.pooled is None
    assert read.logits.shape == (3, 3, 2)
    assert torch.equal(read.logits, part.head(read.memory.values))


def test_dropout_is_for_training_only_and_for_what_is_pooled() -> None:
    part, given = reader(dropout=0.9), [Sequences.pad(first), Sequences.pad(second)]
    assert torch.equal(part(given).logits, part(given).logits)
    part.train()
    one, other = part(given), part(given)
    assert torch.equal(one.pooled.vector, other.pooled.vector)
    assert not torch.equal(one.logits, other.logits)


def test_gradients_reach_everything() -> None:
    part = reader("disan", "source2token")
    cross_entropy(part([Sequences.pad(first), Sequences.pad(second)]).logits, torch.tensor([0, 1, 1])).backward()
    # A bias that all scores of a softmax share changes no weight.
    unmoved = {name for name, p in part.named_parameters() if p.grad is None or not (p.grad.abs() > 1e-9).any()}
    assert unmoved <= {"pool.W.bias"}


def test_what_a_learned_baseline_reads_knows_nothing_of_the_choice() -> None:
    """The mean of each sentence's words, side by side; padding is no word, and nobody asks for it else."""
    part = reader()
    assert part([Sequences.pad(first), Sequences.pad(second)]).summary is None
    part.reinforce = Reinforce(size=8, baseline="learned")
    summary = part([Sequences.pad(first), Sequences.pad(second)]).summary
    for row, pair in enumerate(zip(first, second, strict=True)):
        means = [part.words(torch.tensor([tokens])).mean(1)[0] for tokens in pair]
        torch.testing.assert_close(summary[row], torch.cat(means))
