"""Independent choices: shares, sampled and expected. Log-probabilities and entropies are in `test_selector`."""

import torch
from torch.testing import assert_close

from regard.attend.bernoulli import chosen_with, expected_share, heaviest, log_prob_and_entropy, share


def test_the_expected_share_by_hand() -> None:
    """(½ + ¼) / 2, and of nothing 0; the gradient of each of n tokens is 1/n, that of padding 0."""
    p = torch.tensor([[0.5, 0.25, 0.9], [0.5, 0.5, 0.5]], requires_grad=True)
    mask = torch.tensor([[True, True, False], [False, False, False]])
    found = expected_share(p, mask)
    assert_close(found, torch.tensor([0.375, 0.0]))
    found.sum().backward()
    assert_close(p.grad, torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]))


def test_numbers_below_p_choose() -> None:
    logits = torch.tensor([[0.0, 0.0, 2.0]])
    mask = torch.tensor([[True, True, False]])
    chosen, log_p, entropy = chosen_with(logits, torch.tensor([[0.4, 0.6, 0.0]]), mask)
    assert chosen.tolist() == [[True, False, False]]
    assert_close(log_p, torch.tensor([2 * torch.log(torch.tensor(0.5))]))
    assert_close((log_p, entropy), log_prob_and_entropy(logits, chosen, mask))
    assert share(chosen, mask).tolist() == [0.5]


def test_the_heaviest_tokens() -> None:
    """0.6 of three tokens are 1.8, so two, and of four 2.4, so two; of equals the first; what is not there never
    counts, and one of any there are does."""
    weights = torch.tensor([[0.1, 0.5, 0.4, 9.0], [0.2, 0.1, 0.2, 0.2], [1.0, 1.0, 1.0, 1.0]])
    mask = torch.arange(4) < torch.tensor([3, 4, 0])[:, None]
    assert heaviest(weights, mask, 0.6).int().tolist() == [[0, 1, 1, 0], [1, 0, 1, 0], [0, 0, 0, 0]]
    assert heaviest(weights, mask, 0.0).int().tolist() == [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
    assert torch.equal(heaviest(weights, mask, 1.0), mask)
