"""Attention of the document to the question: `c_i = Σ_j a_ij q_j`, and [d_i; c_i] is read again.

The aligned question vector that many readers begin with, as the attentive reader of Chen, Bolton & Manning 2016. Any
score compares the two.

    Attention(inputs=200)(document, question).values                       # [batch, document, 400]
"""

from typing import Annotated

import torch

from regard.attend.interact import Interact, Interaction, bare
from regard.attend.normalizer.softmax import softmax
from regard.find import In, Spec, build
from regard.types import Memory

__all__ = ["Attention"]


class Attention(Interact):
    """`[d_i; Σ_j a_ij q_j]`"""

    def __init__(
        self,
        inputs: int,
        score: Annotated[
            Spec, In("attend.score"), "how a word of the document and one of the question are compared"
        ] = "bilinear",
    ) -> None:
        super().__init__()
        self.score = build("attend.score", score, query=inputs, key=inputs)
        self.size = 2 * inputs

    def forward(self, document: Memory, question: Memory) -> Interaction:
        (d, there), (q, asked) = bare(document), bare(question)
        affinity = self.score.scores(self.score.project(d), self.score.prepare(q))
        over_question = softmax(affinity, asked.unsqueeze(1))
        over_document = softmax(affinity.transpose(1, 2), there.unsqueeze(1))
        return Interaction(torch.cat([d, over_question @ q], -1), None, affinity, over_document, over_question)
