"""Answering: the network that reads a document and a question: embed → encode → interact → (read again → point | pick).

Where an answer is a part of the document, the interaction gives vectors of its positions, an encoder reads them again
and a pointer says where the answer begins and ends. Where it is a word, the interaction gives weights of the positions,
which are summed over the occurrences of each word. Both sides share the embedding and the encoder.

With `overlap` each word also has a learned vector for whether it occurs on the other side, added to its own (an exact
match feature; Chen et al. 2017, "Reading Wikipedia to Answer Open-Domain Questions", section 3.2).

    network = Answering(embed, encoder, Coattention(400), again, Dynamic(400))
    network.read([document, question]).found;  network(batch, progress).total
"""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout

from regard.attend.interact import Interact, Interaction
from regard.attend.interact.concatenation import joined, parted
from regard.encode import Encoder
from regard.fields.embed import Embedding
from regard.predict import pick
from regard.predict.point import Point, Pointed, nats
from regard.text import Tokenizer
from regard.types import Batch, Memory, Network, Output, Sequences, wide

__all__ = ["Answered", "Answering"]


@dataclass(frozen=True)
class Answered:
    """What a network made of a batch: where it points, or the probability of each word, and how it came to it."""

    interaction: Interaction
    document: Memory
    pointed: Pointed | None = None
    chances: Tensor | None = None  # [batch, word]


class Answering(Network):
    """Document and question → positions of an answer, or probabilities of words."""

    threshold: Tensor

    def __init__(
        self,
        embed: Embedding,
        encoder: Encoder,
        interact: Interact,
        again: Encoder | None = None,
        point: Point | None = None,
        overlap: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.embed, self.encoder, self.interact, self.again, self.point = embed, encoder, interact, again, point
        self.overlap = nn.Parameter(torch.randn(2, embed.size) * embed.size**-0.5) if overlap else None
        self.dropout = dropout
        # An answer has to be so much likelier than none, as a logarithm; set on the validation set.
        self.register_buffer("threshold", torch.zeros(()))

    def count(self, batch: Batch) -> int:
        """A loss is counted over examples."""
        assert isinstance(batch.target, Tensor)
        return len(batch.target)

    def words(self, document: Sequences, question: Sequences) -> tuple[Sequences, Sequences]:
        """Both sides embedded."""
        sides = [self.embed(document), self.embed(question)]
        if self.overlap is None:
            return sides[0], sides[1]
        known = [(one.values > Tokenizer.end) & one.mask for one in (document, question)]
        same = (document.values.unsqueeze(2) == question.values.unsqueeze(1)) & known[0].unsqueeze(2)
        same = same & known[1].unsqueeze(1)
        found = [
            replace(one, values=one.values + (vector * there.unsqueeze(-1)).to(one.values.dtype))
            for one, there, vector in zip(sides, (same.any(2), same.any(1)), self.overlap, strict=True)
        ]
        return found[0], found[1]

    def read(self, inputs: Any) -> Answered:
        """`inputs` are document and question and, for words, the word that each position of the document belongs to."""
        document, question = self.words(*inputs[:2])
        if self.interact.early:
            memory = self.encoder(joined(question, document))
            memory = asked = parted(memory, question, document)
        else:
            memory, asked = self.encoder(document), self.encoder(question)
        memory, asked = self._dropped(memory), self._dropped(asked)
        # Never in half precision: an affinity of 50 would be known to a quarter.
        with torch.autocast(memory.values.device.type, enabled=False):
            interaction: Interaction = self.interact(_wide(memory), _wide(asked))
        if self.interact.gives == "weights":
            assert interaction.weights is not None
            return Answered(interaction, memory, None, pick.pick(interaction.weights, inputs[2].values))
        values = interaction.values
        assert values is not None
        assert self.point is not None
        if self.again is not None:
            values = dropout(values, self.dropout, self.training)
            values = self.again(Sequences(values, document.mask, document.lengths)).values
            values = dropout(values, self.dropout, self.training)
        return Answered(interaction, memory, self.point(values, document.mask))

    def _dropped(self, memory: Memory) -> Memory:
        if not self.training or not self.dropout:
            return memory
        values = dropout(memory.values, self.dropout, True)
        summary = None if memory.summary is None else dropout(memory.summary, self.dropout, True)
        return Memory(values, values, memory.mask, summary)

    def nats(self, found: Answered, target: Tensor, every: bool = True) -> Tensor:
        """−log p of the target of each example: of a pointer the sum over all of its turns, or the last one's."""
        if found.pointed is None:
            assert found.chances is not None
            return pick.nats(found.chances, target)
        each = nats(found.pointed, target)
        return each.sum(1) if every else each[:, -1]

    def forward(self, batch: Batch, progress: float = 1.0) -> Output:
        assert isinstance(batch.target, Tensor)
        found = self.read(batch.inputs)
        total = self.nats(found, batch.target).sum()
        if found.pointed is None or found.pointed.start.shape[1] == 1:
            return Output(total, self.count(batch))
        shown = self.nats(found, batch.target, every=False).detach().sum()
        return Output(total, self.count(batch), shown=shown)


def _wide(memory: Memory) -> Memory:
    values, summary = wide(memory.values), memory.summary
    return Memory(values, values, memory.mask, None if summary is None else wide(summary))
