"""Decoders: a sequence as the answer, one token after another. One file a decoder.

`start(memory)` gives the state before the first token, `step(state, token)` the state, the look and
the logits after one more. `unroll` does the same for tokens known beforehand; it is a loop of steps,
unless a decoder whose steps do not depend on each other can do better.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.errors import RegardError
from regard.types import Look, Memory

__all__ = ["Decoder"]


class Decoder(nn.Module):
    """What every decoder is. State is a `regard.types.Beams`: tensors `[batch, beam, …]` beside the memory."""

    head_names: tuple[str, ...] = ()  # what the heads of its look are called, where they have more than a number

    def look_at(self, layers: str) -> None:
        """Show the looks of other layers from now on; what is said stays the same."""
        raise RegardError("a decoder with one look", do="leave out --layers")

    @property
    def parallel(self) -> bool:
        """Whether known tokens are read all at once; if not, steps are small and half precision does not pay."""
        return False

    @property
    def carries(self) -> bool:
        """Whether what was seen at one step has a part in later ones; else a choice of where to look answers for its
        own step alone (see `regard.tasks._sampled`)."""
        return True

    def start(self, memory: Memory) -> Any:
        """State of one hypothesis a sentence, before its first token."""
        raise NotImplementedError

    def step(self, state: Any, token: Int[Tensor, "batch beam"]) -> tuple[Any, Look, Float[Tensor, "batch beam vocab"]]:
        """One token further: the state after it, where it looked, and the logits of the next token."""
        raise NotImplementedError

    def unroll(
        self, memory: Memory, tokens: Int[Tensor, "batch time"]
    ) -> tuple[Look, Float[Tensor, "batch time vocab"]]:
        """All steps over known tokens (the start token first): the looks as one, and every step's logits."""
        state = self.start(memory)
        looks, logits = [], []
        for token in tokens.unbind(1):
            state, look, scores = self.step(state, token.unsqueeze(1))
            looks.append(look)
            logits.append(scores)
        return Look.join(looks), torch.cat(logits, dim=1)
