"""Attention over attention: one example by hand, and by loops over its equations."""

import torch
from interact_cases import HERE, D, Q, close, memory

from regard.attend.interact.attention_over_attention import AttentionOverAttention, attention_over_attention


def test_by_hand() -> None:
    """α = [2/3, 1/3] and [1/2, 1/2], β = the mean of [2/3, 1/3] and [1/2, 1/2] = [7/12, 5/12];
    s = [7/12 · 2/3 + 5/12 · 1/2, 7/12 · 1/3 + 5/12 · 1/2]."""
    weights, *_ = attention_over_attention(D, Q, HERE, HERE)
    close(weights[0], torch.tensor([43 / 72, 29 / 72], dtype=torch.float64))


def test_by_loops() -> None:
    document, question = memory((5, 3), 1), memory((2, 4), 2)
    found = AttentionOverAttention(4)(document, question)
    for row, (m, n) in enumerate(((5, 2), (3, 4))):
        scores = document.values[row, :m] @ question.values[row, :n].T
        beta = sum(scores[i].softmax(0) for i in range(m)) / m
        s = sum(beta[t] * scores[:, t].softmax(0) for t in range(n))
        close(found.weights[row, :m], s)
