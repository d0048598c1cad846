"""The parts that every search uses: log-probabilities, limits, and hypotheses made of tensors."""

import math

import numpy as np
import pytest
import torch

from regard.errors import RegardError
from regard.search._common import Hypothesis, gathered, log_probs, steps_of, truly_possible

inf = math.inf
nobody = torch.zeros(0, dtype=torch.long)


def test_log_probs_by_hand():
    """Logits 0, log 3 are 1/4 and 3/4; a banned token takes its probability with it."""
    logits = torch.tensor([[[0.0, math.log(3), -inf]]], dtype=torch.float64)
    assert log_probs(logits, nobody).exp().flatten().tolist() == pytest.approx([0.25, 0.75, 0])
    assert log_probs(logits, torch.tensor([1])).exp().flatten().tolist() == pytest.approx([0.25, 0, 0])


def test_what_is_not_a_number_cannot_be_chosen():
    logits = torch.tensor([[[-inf, -inf], [math.nan, 1.0], [0.0, 0.0]]])
    found = log_probs(logits, nobody)[0]
    assert found[:2].tolist() == [[-inf, -inf], [-inf, -inf]]
    assert found[2].tolist() == pytest.approx([-math.log(2)] * 2)


@pytest.mark.parametrize(("given", "worked"), [("bfloat16", "float32"), ("float32", "float32"), ("float64", "float64")])
def test_at_least_single_precision(given, worked):
    assert log_probs(torch.zeros(1, 1, 2, dtype=getattr(torch, given)), nobody).dtype == getattr(torch, worked)


def test_steps():
    assert steps_of(torch.tensor([3, 9, 1])) == 9
    with pytest.raises(RegardError, match="max_length -1; expected at least 1"):
        steps_of(torch.tensor([3, -1]))


def test_the_first_impossible_sentence_is_named():
    truly_possible(torch.tensor([True, True]))
    with pytest.raises(RegardError, match="sentence 1 of the batch"):
        truly_possible(torch.tensor([True, False, False]))


def test_gathered_by_hand():
    """One sentence, two hypotheses: the first looked from slot 1 and then 0; the second was never found."""
    looks = [torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), torch.tensor([[[5.0, 6.0], [7.0, 8.0]]])]
    [[h]] = gathered(
        tokens=torch.tensor([[[4, 0]], [[5, 0]]]),
        lengths=torch.tensor([[2, 1]]),
        scores=torch.tensor([[-0.5, -inf]]),
        totals=torch.tensor([[-1.0, 0.0]]),
        slots=torch.tensor([[[1, 0]], [[0, 0]]]),
        looks=looks,
    )
    assert (h.tokens, h.rank_score, h.log_prob) == ((4, 5), -0.5, -1.0)
    assert h.weights.tolist() == [[3.0, 4.0], [5.0, 6.0]]


def test_gathered_under_heads_where_fewer_began():
    """Two heads; one hypothesis began, two went on: whose weights they are is the same as step by step."""
    looks = [torch.rand(3, 2, 1, 4), torch.rand(3, 2, 2, 4), torch.rand(3, 2, 2, 4)]
    slots = torch.stack([torch.zeros(3, 2, dtype=torch.long), *torch.randint(2, (2, 3, 2))])
    lengths = torch.tensor([[3, 2], [1, 3], [2, 2]])
    ones = torch.zeros(3, 2)
    found = gathered(torch.zeros(3, 3, 2, dtype=torch.long), lengths, ones, ones, slots, looks)
    for b, i in [(b, i) for b in range(3) for i in range(2)]:
        steps = [looks[t][b, :, slots[t, b, i]] for t in range(int(lengths[b, i]))]
        assert torch.equal(found[b][i].weights, torch.stack(steps, dim=1))
        assert found[b][i].weights.untyped_storage().nbytes() == 4 * found[b][i].weights.numel()  # its own, no more


@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("heads", [(), (2,)])
def test_gathered_in_every_precision(kind, heads):
    looks = [torch.rand(2, *heads, 3, 4).to(kind) for _ in range(3)]
    slots = torch.randint(3, (3, 2, 3))
    lengths = torch.tensor([[1, 3, 2], [3, 1, 1]])
    scores = torch.tensor([[-1.0, -inf, -2.0], [-1.0, -2.0, -3.0]])
    found = gathered(torch.zeros(3, 2, 3, dtype=torch.long), lengths, scores, scores, slots, looks)
    assert [len(row) for row in found] == [2, 3]  # one was never found, and moves no other's weights
    for b, i, h in [(0, 0, found[0][0]), (0, 2, found[0][1]), *((1, i, h) for i, h in enumerate(found[1]))]:
        expected = torch.stack([looks[t][b, ..., slots[t, b, i], :] for t in range(int(lengths[b, i]))], dim=-2)
        assert h.weights.dtype == (torch.float32 if kind == torch.bfloat16 else kind)
        assert torch.equal(h.weights, expected.to(h.weights.dtype))
        assert h.weights.untyped_storage().nbytes() == h.weights.dtype.itemsize * h.weights.numel()
        assert h.array.dtype == "float32"
        assert h.array.tolist() == expected.float().tolist()


def test_a_hypothesis_keeps_its_own_sentence_alone():
    looks = [torch.rand(5, 2, 4) for _ in range(3)]
    lengths, ones = torch.full((5, 2), 3), torch.zeros(5, 2)
    [first, *_], *_ = gathered(
        torch.zeros(3, 5, 2, dtype=torch.long), lengths, ones, ones, torch.zeros(3, 5, 2, dtype=torch.long), looks
    )
    assert first.array.base.nbytes == 2 * first.array.nbytes


def test_an_array_or_a_tensor_is_the_same_to_its_reader():
    array = np.array([[0.25, 0.75]], dtype=np.float32)
    one, other = Hypothesis((7,), -0.5, -1.0, array), Hypothesis((7,), -0.5, -1.0, torch.from_numpy(array.copy()))
    assert one == other
    assert (repr(one), hash(one)) == (repr(other), hash(other))
    assert one.weights.tolist() == other.weights.tolist() == one.array.tolist() == other.array.tolist()
    kept = one.weights
    array[:] = 0
    assert kept.tolist() == [[0.25, 0.75]]  # its own
    assert Hypothesis((7,), 0.0, 0.0, array.astype(np.float64)).array.dtype == "float32"


def test_without_weights_there_is_no_array():
    one = Hypothesis((7,), 0.0, 0.0)
    assert one.weights is None
    assert one.array is None
