"""The way back along back-pointers by hand, and lists of several groups made one."""

import math

import torch

from regard.search._trail import Mark, in_beam, spread, walk_back

inf = math.inf


def test_by_hand():
    """One sentence, two steps, two slots: 5 then 9 from slot 1; and 4, which ended at the first step."""
    first = Mark(*(torch.tensor([row]) for row in ([-1.0, -2.0, -3.0], [4, 7, 5], [0, 0, 0], [1, 2])))
    second = Mark(*(torch.tensor([row]) for row in ([-3.5, -4.0, -5.0], [9, 8, 4], [1, 0, 1], [0, 1])))
    looks = [torch.tensor([[[0.1, 0.9]]]), torch.tensor([[[0.2, 0.8], [0.3, 0.7]]])]
    [found] = walk_back(torch.tensor([[-0.5, -0.9, -inf]]), torch.tensor([[0, 3, 0]]), [first, second], looks)
    assert [h.tokens for h in found] == [(4,), (5, 9)]
    assert [h.log_prob for h in found] == [-1.0, -3.5]
    assert torch.equal(found[0].weights, looks[0][0, :1])
    assert torch.equal(found[1].weights, torch.stack([looks[0][0, 0], looks[1][0, 1]]))


def test_places_in_the_whole_beam():
    """Two sentences of two groups of three: the second group's slots lie after the first's."""
    assert in_beam(torch.tensor([[0, 2], [0, 2], [1, 1], [1, 1]]), 2, 3).tolist() == [[0, 2], [3, 5], [1, 1], [4, 4]]


def test_every_group_before_any_second():
    """Groups of two: a −1, b −2 | a −1, c −9 | d −5, nothing."""
    found = torch.tensor([[[7, 8, 7, 9, 6, 0]]])
    scores = torch.tensor([[-1.0, -2.0, -1.0, -9.0, -5.0, -inf]])
    lengths = torch.ones_like(found[0])
    assert spread(found, lengths, scores, 2).tolist() == [[0, 4]]  # not b, though it scores better than d
    assert spread(found[..., :4], lengths[:, :4], scores[:, :4], 2).tolist() == [[0, 1]]
    assert spread(found[..., ::3], lengths[:, :2], torch.tensor([[-inf, -2.0]]), 1).tolist() == [[1]]
    longer = torch.cat([found, found])
    assert spread(longer, torch.tensor([[1, 1, 2, 1, 1, 1]]), scores, 2).tolist() == [[0, 2]]  # "7" is not "7 7"
    assert spread(found[..., ::2], lengths[:, :3], scores[:, ::2], 1).tolist() == [[0]]
    assert spread(found[..., 2:3], lengths[:, :1], scores[:, :1], 3).tolist() == [[0, -1, -1]]


def test_two_groups_by_hand():
    """One sentence, groups of two slots: 4 then 8 in the first, 5 then 9 in the second, each with its own looks."""
    first = Mark(*(torch.tensor([row] * 2) for row in ([-1.0, -2.0], [4, 5], [0, 0], [0, 1])))
    second = Mark(*(torch.tensor([row] * 2) for row in ([-3.0, -4.0], [8, 9], [0, 1], [0, 1])))
    looks = [torch.tensor([[[1.0], [2.0]]]), torch.tensor([[[3.0], [4.0], [5.0], [6.0]]])]
    [found] = walk_back(torch.tensor([[-1.5], [-2.0]]), torch.tensor([[2], [3]]), [first, second], looks, groups=2)
    assert [h.tokens for h in found] == [(4, 8)]
    assert found[0].weights.tolist() == [[1.0], [3.0]]
    [found] = walk_back(torch.tensor([[-2.0], [-1.5]]), torch.tensor([[2], [3]]), [first, second], looks, groups=2)
    assert [h.tokens for h in found] == [(5, 9)]
    assert found[0].weights.tolist() == [[2.0], [6.0]]
