"""A softmax in two steps is a distribution, and single words have what they have there."""

import pytest
import torch

from regard.predict.grouped_softmax import GroupedSoftmax


@pytest.mark.parametrize("vocab", [5, 9, 11])
def test_a_grouped_softmax_is_a_distribution_and_its_words_cost_what_they_are(vocab: int) -> None:
    torch.manual_seed(1)
    out = GroupedSoftmax(vocab, 4).double()
    r = torch.randn(6, 4).double()
    every = out(r)
    assert every.shape == (6, vocab)
    torch.testing.assert_close(every.exp().sum(-1), torch.ones(6).double())
    rows, words = torch.tensor([0, 0, 1, 5, 5]), torch.tensor([vocab - 1, 0, 2, vocab - 1, 1])
    with torch.no_grad():
        torch.testing.assert_close(out.some(r, out.plan(rows, words)), every[rows, words])


def test_a_grouped_softmax_by_hand() -> None:
    """Four words in two groups: half for each group, and in the first group 3 : 1."""
    out = GroupedSoftmax(4, 1).double()
    for parameter in out.parameters():
        torch.nn.init.zeros_(parameter)
    with torch.no_grad():
        out.word.bias[0] = torch.tensor(3.0).log()
    torch.testing.assert_close(
        out(torch.ones(1, 1).double()).exp(), torch.tensor([[0.375, 0.125, 0.25, 0.25]]).double()
    )
