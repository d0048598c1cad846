"""Masked language model: predicts the tokens that were masked from those around them.

    h = encode(embed x),   t = norm(gelu(W h + b)),   logits = E t + b_o        at the masked positions alone

Devlin et al. 2019, "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding", section 3.1.
With `tied` output weights E is the table of the embedding (Press & Wolf 2017). Embedding and encoder are those of every
other task, which can start from them.

A bidirectional recurrent encoder sees the whole text at every position; it cannot copy the answer only because the
token itself has been replaced.

    network(batch).total;  network.logits(network.encode(tokens).values)
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, gelu, linear

from regard.encode import Encoder
from regard.errors import RegardError
from regard.fields.embed.words import Words
from regard.types import Batch, Memory, Network, Output, Sequences, wide

__all__ = ["Masked", "places"]


def places(chosen: Sequences) -> Int[Tensor, " some"]:
    """The chosen positions of a batch whose rows stand one after the other. How many there are is known on the CPU, so
    nobody waits for a GPU."""
    count = int(chosen.lengths.sum())
    return (~chosen.mask).flatten().to(torch.uint8).argsort(stable=True)[:count]


class Masked(Network):
    """Embedding → encoder → a layer → logits of the vocabulary."""

    def __init__(self, embed: Words, encoder: Encoder, tied: bool = True) -> None:
        super().__init__()
        self.embed, self.encoder, self.tied = embed, encoder, tied
        self.transform = nn.Linear(encoder.size, embed.size)
        self.norm = nn.LayerNorm(embed.size)
        self.output = None if tied else nn.Linear(embed.size, embed.vocab, bias=False)
        self.bias = nn.Parameter(torch.zeros(embed.vocab))

    def encode(self, inputs: Sequences) -> Memory:
        memory: Memory = self.encoder(self.embed(inputs))
        if memory.spans is not None or memory.values.shape[1] != inputs.values.shape[1]:
            raise RegardError("an encoder that shortens its input", expected="a state for each token")
        return memory

    def logits(self, h: Float[Tensor, "*rows size"]) -> Float[Tensor, "*rows vocab"]:
        t = self.norm(gelu(self.transform(h)))
        return linear(t, self.embed.table() if self.output is None else self.output.weight, self.bias)

    def predicted(self, batch: Batch) -> tuple[Float[Tensor, "some vocab"], Int[Tensor, " some"]]:
        """The logits of the masked positions, and the tokens that stood there."""
        chosen = batch.target
        assert isinstance(chosen, Sequences)
        states, at = self.encode(batch.source).values, places(chosen)
        return wide(self.logits(states.flatten(0, 1)[at])), chosen.values.flatten()[at]

    def forward(self, batch: Batch, progress: float = 1.0) -> Output:
        logits, said = self.predicted(batch)
        return Output(cross_entropy(logits, said, reduction="sum"), len(said))
