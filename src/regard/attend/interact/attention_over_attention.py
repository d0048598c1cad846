"""Attention over attention: each word of the question attends to the document, and attention weighs these words.

With the documents' states as rows of D and the questions' as rows of Q, `M = D Qᵀ` and

    α(t) = softmax of column t over the document        where word t of the question looks
    β    = mean over the document of softmax over the question of each row
    s    = Σ_t β_t α(t)                                 how much each word of the document counts

Cui et al. 2016, "Attention-over-Attention Neural Networks for Reading Comprehension", section 4.

    AttentionOverAttention(inputs=256)(document, question).weights        # [batch, document]
    weights, affinity, over_document, over_question = attention_over_attention(D, Q, document_mask, question_mask)
"""

from typing import ClassVar, Literal

from jaxtyping import Bool, Float
from torch import Tensor

from regard.attend.interact import Interact, Interaction, bare
from regard.attend.normalizer.softmax import softmax
from regard.types import Memory

__all__ = ["AttentionOverAttention", "attention_over_attention"]

Found = tuple[Tensor, Tensor, Tensor, Tensor]


def attention_over_attention(
    document: Float[Tensor, "batch rows dim"],
    question: Float[Tensor, "batch columns dim"],
    document_mask: Bool[Tensor, "batch rows"],
    question_mask: Bool[Tensor, "batch columns"],
) -> Found:
    """s `[batch, rows]`, M `[batch, rows, columns]`, α `[batch, columns, rows]` and the rows that β is the mean of
    `[batch, rows, columns]`. What is masked must be finite."""
    affinity = document @ question.transpose(1, 2)
    over_document = softmax(affinity.transpose(1, 2), document_mask.unsqueeze(1))
    over_question = softmax(affinity, question_mask.unsqueeze(1))
    count = document_mask.sum(1, keepdim=True).clamp(min=1)
    beta = over_question.masked_fill(~document_mask.unsqueeze(-1), 0.0).sum(1) / count
    weights = (beta.unsqueeze(1) @ over_document).squeeze(1)
    return weights, affinity, over_document, over_question


class AttentionOverAttention(Interact):
    """`s = Σ_t β_t α(t)`"""

    gives: ClassVar[Literal["values", "weights"]] = "weights"

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.size = inputs

    def forward(self, document: Memory, question: Memory) -> Interaction:
        (d, there), (q, asked) = bare(document), bare(question)
        weights, affinity, over_document, over_question = attention_over_attention(d, q, there, asked)
        return Interaction(None, weights, affinity, over_document, over_question)
