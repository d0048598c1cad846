"""Decoders: generate the output token by token. One module per decoder.

`start(memory)` returns the state before the first token, `step(state, token)` the state, the look and the logits after
one more. `unroll` does the same for known tokens: a loop of steps, or one parallel pass if the decoder allows it.
"""

from abc import abstractmethod
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attend.attention import Attention
from regard.predict.prefix_tree import PrefixTree
from regard.types import Look, Memory, wide

__all__ = ["Decoder"]


class Decoder(nn.Module):
    """What every decoder is. State is a `regard.types.Beams`: tensors `[batch, beam, …]` beside the memory."""

    head_names: tuple[str, ...] = ()  # what the heads of its look are called, where they have more than a number

    @property
    def layers(self) -> int:
        """Attention layers that can be shown one by one; 0 where there is nothing to choose."""
        return 0

    def showing(self, layers: str) -> "Decoder":
        """The same decoder, sharing its parameters, that shows other layers; what it predicts stays the same. Only
        where it has `layers`."""
        raise NotImplementedError

    @property
    def source_attention(self) -> Attention | None:
        """The attention to the memory from which it predicts: of several layers the last; None without attention."""
        return None

    @property
    def parallel(self) -> bool:
        """Whether known tokens are read all at once; if not, steps are small and half precision does not pay."""
        return False

    @property
    def steady(self) -> bool:
        """Whether known tokens are read without ever waiting for a GPU (see `regard.types.Network.steady`)."""
        return False

    @property
    def carries(self) -> bool:
        """Whether what was seen at one step has a part in later ones; else a choice of where to look answers for its
        own step alone (see `regard.networks.hard_attention`)."""
        return True

    @abstractmethod
    def start(self, memory: Memory) -> Any:
        """State of one hypothesis a sentence, before its first token."""
        raise NotImplementedError

    @abstractmethod
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

    def read_tree(self, tree: PrefixTree) -> Any:
        """What `tree_log_probs` needs of a tree whatever the source: worked out once, and given with every memory."""
        return None

    def tree_log_probs(self, memory: Memory, tree: PrefixTree, read: Any) -> Float[Tensor, "batch edge"]:
        """The log-probability of every edge of the tree: each node is read once, a level at a time."""
        found, state = memory.keys.new_empty(len(memory.keys), len(tree.source)), self.start(memory)
        above = 0  # the first node of the level above
        for begin, end in tree.levels:
            state = state.reorder((tree.parent[begin:end] - above).expand(len(found), -1))
            state, _, logits = self.step(state, tree.token[begin:end].expand(len(found), -1))
            some = slice(int(tree.first[begin]), int(tree.first[end]))
            found[:, some] = wide(logits).log_softmax(-1)[:, tree.source[some] - begin, tree.word[some]]
            above = begin
        return found
