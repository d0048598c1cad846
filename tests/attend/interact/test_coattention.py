"""Coattention: one example by hand, and every entry by loops over its equations."""

import torch
from interact_cases import HERE, LN2, D, Q, close, memory

from regard.attend.interact.coattention import Coattention, coattention


def test_by_hand() -> None:
    """Over the document the two words of the question look at [2/3, 1/3] and [1/2, 1/2], so C^Q = [2/3, 1/2] ln 2;
    over the question the two of the document look at [2/3, 1/3] and [1/2, 1/2]."""
    context, affinity, over_document, over_question = coattention(D, Q, HERE, HERE)
    close(affinity[0], torch.tensor([[LN2, 0], [0, 0]], dtype=torch.float64))
    close(over_document[0], torch.tensor([[2 / 3, 1 / 3], [1 / 2, 1 / 2]], dtype=torch.float64))
    close(over_question[0], torch.tensor([[2 / 3, 1 / 3], [1 / 2, 1 / 2]], dtype=torch.float64))
    close(context[0], torch.tensor([[2 / 3, 11 / 18 * LN2], [1 / 2, 7 / 12 * LN2]], dtype=torch.float64))


def test_by_loops_with_sentinels() -> None:
    one = Coattention(inputs=4).double()
    assert one.sentinels is not None
    document, question = memory((5, 3), 1), memory((2, 4), 2)
    found = one(document, question)
    for row, (m, n) in enumerate(((5, 2), (3, 4))):
        d = [*document.values[row, :m], one.sentinels[0]]
        q = [torch.tanh(one.W_q(word)) for word in (*question.values[row, :n], one.sentinels[1])]
        scores = torch.stack([torch.stack([a @ b for b in q]) for a in d])
        c_q = [sum(weight * a for weight, a in zip(scores[:, j].softmax(0), d, strict=True)) for j in range(n + 1)]
        for i in range(m):
            looked = scores[i].softmax(0)
            c_d = sum(weight * torch.cat([b, c]) for weight, b, c in zip(looked, q, c_q, strict=True))
            close(found.values[row, i], torch.cat([d[i], c_d]))


def test_without_sentinels() -> None:
    """What is weighted is then only what is there; with them a part of the weight is theirs."""
    torch.manual_seed(1)
    plain, usual = Coattention(inputs=4, sentinel=False).double(), Coattention(inputs=4).double()
    document, question = memory((5, 3), 1), memory((2, 4), 2)
    assert plain(document, question).affinity.shape == (2, 5, 4)
    found = usual(document, question)
    assert found.affinity.shape == (2, 6, 5)
    assert found.over_document[:, :, -1].min() > 0
    assert found.values.shape == plain(document, question).values.shape == (2, 5, 12)
