"""Concatenation: question and document are one sequence for the encoder; the document's part is the result.

For an encoder that attends itself, such as the Transformer: every position of the document sees the question in every
layer (Devlin et al. 2018, "BERT", section 4.2, without the pre-training).

    both = joined(question, document);  parted(encoder(both), question, document).values     # [batch, document, size]
"""

from dataclasses import replace
from typing import ClassVar

import torch

from regard.attend.interact import Interact, Interaction, bare
from regard.types import Memory, Sequences, Subwords

__all__ = ["Concatenation", "joined", "parted"]


def joined(question: Sequences, document: Sequences) -> Sequences:
    """Each question with its document right behind it, their segments likewise, and the padding of both at the end."""
    values = torch.cat([question.values, document.values], 1)
    mask = torch.cat([question.mask, document.mask], 1)
    order = torch.argsort((~mask).int(), dim=1, stable=True)
    shape = (*order.shape, values.shape[-1])
    values, mask = values.gather(1, order.unsqueeze(-1).expand(shape)), mask.gather(1, order)
    lengths = question.lengths + document.lengths
    sides = [one.segments for one in (question, document) if isinstance(one, Subwords)]
    given = [one for one in sides if one is not None]
    if len(given) < 2:
        return Sequences(values, mask, lengths)
    return Subwords(values, mask, lengths, torch.cat(given, 1).gather(1, order))


def parted(memory: Memory, question: Sequences, document: Sequences) -> Memory:
    """The document's part of what was read jointly."""
    time = document.mask.shape[1]
    places = question.mask.sum(1, keepdim=True) + torch.arange(time, device=document.mask.device)
    places = places.clamp(max=memory.values.shape[1] - 1).unsqueeze(-1)
    values = memory.values.gather(1, places.expand(len(places), time, memory.values.shape[-1]))
    values = values.masked_fill(~document.mask.unsqueeze(-1), 0.0)
    return replace(memory, keys=values, values=values, mask=document.mask, spans=None)


class Concatenation(Interact):
    """Question and document as one sequence"""

    early: ClassVar[bool] = True

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.size = inputs

    def forward(self, document: Memory, question: Memory) -> Interaction:
        """The document as it was read; the question is in it already."""
        return Interaction(bare(document)[0])
