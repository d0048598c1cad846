"""Attention sum: the question as one vector attends to the document. The plain attention reader.

    s = softmax_i(d_i · q),  q the summary of the question

Kadlec et al. 2016, "Text Understanding with the Attention Sum Reader Network", section 3.1.

    AttentionSum(inputs=256)(document, question).weights      # [batch, document]
"""

from typing import ClassVar, Literal

from regard.attend.interact import Interact, Interaction, bare
from regard.attend.normalizer.softmax import softmax
from regard.errors import RegardError
from regard.types import Memory

__all__ = ["AttentionSum"]


class AttentionSum(Interact):
    """`s = softmax(D q)`"""

    gives: ClassVar[Literal["values", "weights"]] = "weights"

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.size = inputs

    def forward(self, document: Memory, question: Memory) -> Interaction:
        d, there = bare(document)
        summary = question.summary
        if summary is None or summary.shape[-1] != d.shape[-1]:
            raise RegardError(
                f"attention_sum: states of width {d.shape[-1]} and a summary of another",
                expected="the same width",
                do="use another encoder, such as bigru",
            )
        affinity = d @ summary.unsqueeze(-1)
        weights = softmax(affinity.squeeze(-1), there)
        return Interaction(None, weights, affinity, weights.unsqueeze(1), None)
