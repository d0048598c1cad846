"""Coattention: the document attends to the question, and to what the question attends to in the document.

With the documents' states as rows of D and the questions' as rows of Q:

    Q = tanh(Q' W + b),  L = D Qᵀ
    A^Q = softmax of L over the document,  C^Q = (A^Q)ᵀ D              for each word of the question
    A^D = softmax of L over the question,  C^D = A^D [Q; C^Q]          for each word of the document

Both ends have a sentinel, a learned vector that is attended to where nothing else fits (Merity et al. 2016).
Xiong, Zhong & Socher 2016, "Dynamic Coattention Networks for Question Answering", section 2.2. What comes out is
[D; C^D] of the words alone, ready for the encoder that reads it again.

    found = Coattention(inputs=200)(document, question)      # Memories of one encoder
    found.values.shape                                       # [batch, document, 600]
    context, affinity, over_document, over_question = coattention(D, Q, document_mask, question_mask)
"""

from typing import Annotated

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import pad

from regard.attend.interact import Interact, Interaction, bare
from regard.attend.normalizer.softmax import softmax
from regard.types import Memory

__all__ = ["Coattention", "coattention"]

Found = tuple[Tensor, Tensor, Tensor, Tensor]


def coattention(
    document: Float[Tensor, "batch rows dim"],
    question: Float[Tensor, "batch columns dim"],
    document_mask: Bool[Tensor, "batch rows"],
    question_mask: Bool[Tensor, "batch columns"],
) -> Found:
    """C^D `[batch, rows, 2 dim]`, L `[batch, rows, columns]`, A^Q `[batch, columns, rows]` and A^D
    `[batch, rows, columns]`. What is masked must be finite."""
    affinity = document @ question.transpose(1, 2)
    over_document = softmax(affinity.transpose(1, 2), document_mask.unsqueeze(1))
    over_question = softmax(affinity, question_mask.unsqueeze(1))
    both = torch.cat([question, over_document @ document], -1)
    return over_question @ both, affinity, over_document, over_question


class Coattention(Interact):
    """`C^D = A^D [Q; (A^Q)ᵀ D]`"""

    def __init__(
        self,
        inputs: int,
        sentinel: Annotated[bool, "add a learned vector to both sides, for words that match nothing"] = True,
    ) -> None:
        super().__init__()
        self.W_q = nn.Linear(inputs, inputs)
        self.sentinels = nn.Parameter(torch.randn(2, inputs) * inputs**-0.5) if sentinel else None
        self.size = 3 * inputs

    def forward(self, document: Memory, question: Memory) -> Interaction:
        (d, there), (q, asked) = bare(document), bare(question)
        words = d
        if self.sentinels is not None:
            # In front of padding or behind it makes no difference to attention.
            d, q = (
                torch.cat([one, nothing.to(one.dtype).expand(len(one), 1, -1)], 1)
                for one, nothing in zip((d, q), self.sentinels, strict=True)
            )
            there, asked = (pad(mask, (0, 1), value=True) for mask in (there, asked))
        q = torch.tanh(self.W_q(q)).masked_fill(~asked.unsqueeze(-1), 0.0)
        context, affinity, over_document, over_question = coattention(d, q, there, asked)
        values = torch.cat([words, context[:, : words.shape[1]]], -1)
        return Interaction(values, None, affinity, over_document, over_question)
