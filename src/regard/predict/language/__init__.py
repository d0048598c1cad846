"""Language models: after every token of a text, what the next may be. Nothing in, n tokens out. One file a network.

Each is a decoder without an encoder: what it goes on from, the beginning of a text, is its memory, so every search
serves it. The first step after `start` goes on from the beginning as it is, whatever token it is given; each later one
reads its token.

    look, r = model(tokens)                              # known tokens, all at once; model.logits(r)
    [[found]] = Sample()(model, model.read(beginning), start=2, end=3, max_length=torch.tensor([50]))
"""

from collections.abc import Mapping
from typing import Any

from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.errors import RegardError
from regard.types import Look, Memory, Sequences

__all__ = ["LanguageModel", "begun"]


class LanguageModel(nn.Module):
    """What every language model is. `attention` says how it looks back; nothing: as the network does by itself."""

    embedding: nn.Embedding
    wide = False  # whether half precision pays
    looks = False  # whether it looks back at what it has read
    head_names: tuple[str, ...] = ()  # what the heads of its look are called, where they have more than a number
    carries = False  # whether a state carries what was read, however long ago

    def __init__(self, vocab: int, attention: Mapping[str, Any] | None) -> None:
        super().__init__()

    def look_at(self, layers: str) -> None:
        """Show the looks of other layers from now on; what is said stays the same."""
        raise RegardError("a language model with at most one look", do="leave out --layers")

    def forward(self, tokens: Int[Tensor, "batch time"]) -> tuple[Look | None, Float[Tensor, "batch time size"]]:
        """What is known after each token of a text read from its beginning: where it looked, and what `logits` takes.
        Padding may follow a row, and changes nothing before it."""
        raise NotImplementedError

    def logits(self, r: Float[Tensor, "*rows size"]) -> Float[Tensor, "*rows vocab"]:
        raise NotImplementedError

    def read(self, beginnings: Sequences) -> Memory:
        """The beginning of each text, of one token or more, as what can be gone on from."""
        raise NotImplementedError

    def start(self, memory: Memory) -> Any:
        """State of one hypothesis a text, before the first token that is said."""
        raise NotImplementedError

    def step(self, state: Any, token: Int[Tensor, "batch beam"]) -> tuple[Any, Look, Float[Tensor, "batch beam vocab"]]:
        raise NotImplementedError


def begun(beginnings: Sequences) -> Sequences:
    """The same, if each has a token to go on from."""
    if not bool((beginnings.lengths > 0).all()):
        raise RegardError("a text without a beginning", expected="one token or more to go on from")
    return beginnings
