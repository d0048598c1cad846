"""Language models: predict the next token of a text. One module per network.

Each is a decoder without an encoder, whose memory is the prompt, so every search works with it. The first step after
`start` continues the prompt and ignores its token; each later step reads its token.

    look, r = model.states(tokens)                       # known tokens, all at once; model.logits(r)
    model(batch).total                                   # cross entropy of the targets, each after those before it
    [[found]] = Sample()(model, model.read(beginning), start=2, end=3, max_length=torch.tensor([50]))
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from regard.errors import RegardError
from regard.types import Batch, Look, Memory, Network, Output, Sequences, wide

__all__ = ["LanguageModel", "begun"]


class LanguageModel(Network):
    """The interface of a language model. `attention` configures its attention; None uses the network's own."""

    embedding: nn.Embedding
    looks = False  # whether it looks back at what it has read
    head_names: tuple[str, ...] = ()  # what the heads of its look are called, where they have more than a number
    carries = False  # whether a state carries what was read, however long ago

    def __init__(self, vocab: int, attention: Mapping[str, Any] | None) -> None:
        super().__init__()

    def forward(self, batch: Batch, progress: float = 1.0) -> Output:
        """Cross entropy of each token after those before it."""
        logits, said = self.forced(batch)
        return Output(cross_entropy(logits, said, reduction="sum"), len(said))

    def forced(self, batch: Batch) -> tuple[Float[Tensor, "some vocab"], Int[Tensor, " some"]]:
        """Logits of the targets, row by row, and the targets; context tokens have none."""
        assert isinstance(batch.target, Sequences)
        read, target = batch.source, batch.target
        _, r = self.states(read.values)
        # From lengths, which are on the CPU: counting a mask would wait for the GPU.
        place = torch.arange(read.values.shape[1])
        counted = (place < read.lengths[:, None]) & (place >= (read.lengths - target.lengths)[:, None])
        there = torch.arange(target.values.shape[1]) < target.lengths[:, None]
        rows, of_target = (mask.flatten().nonzero().squeeze(1).to(r.device) for mask in (counted, there))
        return wide(self.logits(r.flatten(0, 1)[rows])), target.values.flatten()[of_target]

    @abstractmethod
    def states(self, tokens: Int[Tensor, "batch time"]) -> tuple[Look | None, Float[Tensor, "batch time size"]]:
        """What is known after each token of a text read from its beginning: where it looked, and what `logits` takes.
        Padding may follow a row, and changes nothing before it."""
        raise NotImplementedError

    @abstractmethod
    def logits(self, r: Float[Tensor, "*rows size"]) -> Float[Tensor, "*rows vocab"]:
        raise NotImplementedError

    @abstractmethod
    def read(self, beginnings: Sequences) -> Memory:
        """Reads prompts of at least one token into a memory."""
        raise NotImplementedError

    @abstractmethod
    def start(self, memory: Memory) -> Any:
        """State of one hypothesis per text, before the first generated token."""
        raise NotImplementedError

    @abstractmethod
    def step(self, state: Any, token: Int[Tensor, "batch beam"]) -> tuple[Any, Look, Float[Tensor, "batch beam vocab"]]:
        raise NotImplementedError


def begun(beginnings: Sequences) -> Sequences:
    """The same prompts; raises if one is empty."""
    if not bool((beginnings.lengths > 0).all()):
        raise RegardError("an empty prompt", expected="at least one token")
    return beginnings
