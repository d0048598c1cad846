"""Matching: one number by hand, what a batch teaches, and what must not matter."""

import math

import pytest
import torch

from regard.predict.ngram_match import NgramMatch, Ngrams
from regard.types import Sequences


def side(weights: list[list[float]]) -> Ngrams:
    """Word vectors as given, no pairs, no attention (all words alike), nothing projected."""
    part = Ngrams(len(weights), len(weights[0]), pairs=5, dropout=0.0)
    with torch.no_grad():
        part.words.weight.copy_(torch.tensor(weights))
        part.after.weight.zero_()
        part.pool.attention.score.w.zero_()
        part.out.weight.copy_(torch.eye(len(weights[0])))
        part.out.bias.zero_()
    return part


def test_a_score_and_a_loss_by_hand() -> None:
    match = NgramMatch(messages=4, replies=3, size=2, pairs=5)
    match.message = side([[0, 0], [1, 0], [0, 1], [1, 1]])
    match.reply = side([[0, 0], [2, 0], [0, 3]])
    with torch.no_grad():
        match.log_scale.copy_(torch.tensor(2.0).log())
    messages, replies = Sequences.pad([[1, 2], [1]]), Sequences.pad([[1], [2]])
    # (1, 0) + (0, 1) is (1, 1) / √2 at length 1, (1, 0) stays; the replies are (1, 0) and (0, 1)
    expected = torch.tensor([[2**0.5, 2**0.5], [2.0, 0.0]])
    with torch.no_grad():
        found = match.scores(match.message(messages).vector, match.reply(replies).vector)
        torch.testing.assert_close(found, expected)
        by_message = math.log(2) + math.log(1 + math.exp(2))
        by_reply = math.log(1 + math.exp(2 - 2**0.5)) + math.log(1 + math.exp(2**0.5))
        assert float(match.loss(match.message(messages).vector, replies)) == pytest.approx(
            by_message + by_reply, rel=1e-5
        )


def test_the_order_of_two_words_counts_and_padding_does_not() -> None:
    torch.manual_seed(1)
    part = Ngrams(9, 4, pairs=101, dropout=0.0).double()
    here = part(Sequences.pad([[5, 6]])).vector
    assert not torch.allclose(here, part(Sequences.pad([[6, 5]])).vector)
    padded = Sequences.pad([[5, 6], [5, 6, 7, 8]])
    torch.testing.assert_close(part(padded).vector[:1], here)
    look = part(padded).look
    assert look is not None
    assert not look.weights[0, 0, 2:].any()
    assert float(look.weights[0].detach().sum()) == pytest.approx(1)
    hidden = Sequences(torch.tensor([[5, 6, 8]]), torch.tensor([[True, True, False]]), torch.tensor([2]))
    torch.testing.assert_close(part(hidden).vector, here)  # what stands in the padding does not matter


def test_copies_of_a_reply_are_no_rivals_and_no_reply_is_no_case() -> None:
    torch.manual_seed(1)
    match = NgramMatch(9, 9, size=4, pairs=11).double()
    messages, replies = [[5], [6], [7]], [[4, 3], [5, 3], [4, 3]]
    one, other = (
        match.loss(
            match.message(Sequences.pad([messages[n] for n in rows])).vector,
            Sequences.pad([replies[n] for n in rows]),
        )
        for rows in ([0, 1], [2, 1])
    )
    # Reply 4 is there twice: messages 5 and 7 each choose between it and reply 5, and it between one of them and 6.
    scores = match.scores(
        match.message(Sequences.pad(messages)).vector, match.reply(Sequences.pad(replies)).vector
    ).masked_fill(torch.tensor([[0, 0, 1], [0, 0, 0], [1, 0, 0]]).bool(), -torch.inf)
    expected = -scores.log_softmax(1).diagonal().sum() - scores.log_softmax(0).diagonal().sum()
    every = match.loss(match.message(Sequences.pad(messages)).vector, Sequences.pad(replies))
    torch.testing.assert_close(every, expected)
    assert not torch.allclose(every, one + other)  # the middle one has two rivals
    empty = Sequences(torch.zeros(3, 2, dtype=torch.long), torch.zeros(3, 2, dtype=torch.bool), torch.zeros(3).long())
    assert float(match.loss(match.message(Sequences.pad(messages)).vector, empty).detach()) == 0
    joined = Sequences(
        torch.tensor([[4, 3], [5, 3], [0, 0]]),
        torch.tensor([[True, True], [True, True], [False, False]]),
        torch.tensor([2, 2, 0]),
    )
    torch.testing.assert_close(match.loss(match.message(Sequences.pad(messages)).vector, joined), one)


def test_gradients() -> None:
    torch.manual_seed(1)
    match = NgramMatch(9, 9, size=3, pairs=7).double()
    messages, replies = Sequences.pad([[5, 6], [7]]), Sequences.pad([[4, 3], [5, 6]])
    every = dict(match.named_parameters())

    def loss(*values: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(_Loss(match), dict(zip(every, values, strict=True)), (messages, replies))

    assert torch.autograd.gradcheck(loss, tuple(one.detach().requires_grad_() for one in every.values()))


class _Loss(NgramMatch):
    """A matching whose call is its loss."""

    def __init__(self, match: NgramMatch) -> None:
        torch.nn.Module.__init__(self)
        self.message, self.reply, self.log_scale = match.message, match.reply, match.log_scale

    def forward(self, messages: Sequences, replies: Sequences) -> torch.Tensor:
        return self.loss(self.message(messages).vector, replies)


def test_it_learns_which_words_go_together() -> None:
    torch.manual_seed(1)
    match = NgramMatch(10, 10, size=8, pairs=64)
    messages = Sequences.pad([[5, 6], [5, 7], [6, 5], [8, 9]])
    replies = Sequences.pad([[4, 5], [5, 4], [6], [7, 8]])
    search = torch.optim.Adam(match.parameters(), lr=0.02)
    for _ in range(60):
        search.zero_grad()
        match.loss(match.message(messages).vector, replies).backward()
        search.step()
    with torch.no_grad():
        found = match.scores(match.message(messages).vector, match.reply(replies).vector)
    assert found.argmax(1).tolist() == [0, 1, 2, 3]
