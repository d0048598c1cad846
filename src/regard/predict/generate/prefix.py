"""Prefix decoder: a GRU over the tokens before, which knows nothing of the source; the source comes in at the readout.

    s_j = GRU(s_{j−1}, t̂_j)                                 whatever the source
    c_j = attend(s_j)                                        over the source
    r_j = tanh(W_s s_j + W_c c_j + W_m m + b)                m is the encoder's summary
    log p(t_{j+1} | …) = grouped softmax of r_j              see regard.predict.grouped_softmax

It is Luong's decoder (Luong, Pham & Manning 2015, section 3) without the bridge from the encoder to the first state. So
the states of a closed set of answers, a prefix tree, are the same for every source and are worked out once; a source
costs one look, one readout and the words that may follow. That is what lets tens of thousands of answers be scored in
milliseconds, each exactly.

    decoder = Prefix(vocab=4000, memory=128, summary=128, attention=partial(make, score="bilinear"))
    tree = PrefixTree.of(answers, start=2, end=3)
    read = decoder.read_tree(tree)                           # once
    tree.totals(decoder.tree_log_probs(memory, tree, read))  # for every source
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import dropout as drop

from regard.attend.attention import Attention
from regard.predict.generate import Decoder
from regard.predict.grouped_softmax import GroupedSoftmax, WordPlan
from regard.predict.prefix_tree import PrefixTree
from regard.ranges import Dropout, Width, ranged
from regard.types import Beams, Look, Memory

__all__ = ["Prefix", "PrefixState"]

TOGETHER = 8_192  # nodes of a piece


@dataclass(frozen=True)
class PrefixState(Beams):
    """The hidden vector of each hypothesis, attention's own state, and the memory with what its summary says."""

    hidden: Float[Tensor, "batch beam hidden"]
    looked: Any
    memory: Memory


@dataclass(frozen=True)
class TreePiece:
    """Some nodes of a tree, few enough for a processor's cache: the state of each, as attention asks with it where it
    is `plain`, and its part of the readout, and how the edges that leave them, `begin` to `end` of the tree's, are
    scored."""

    states: Float[Tensor, "1 node hidden"]
    said: Float[Tensor, "1 node readout"]
    begin: int
    end: int
    plan: WordPlan


class Prefix(Decoder):
    """GRU decoder whose states do not depend on the source, for scoring a closed set of answers quickly."""

    @ranged
    def __init__(
        self,
        vocab: int,
        memory: int,
        summary: int,
        attention: Callable[..., Attention],
        embed: Annotated[Width, "size of the token embeddings and of the readout"] = 64,
        hidden: Annotated[Width, "units of the hidden state"] = 128,
        dropout: Annotated[Dropout, "dropout on the embeddings and before the output layer"] = 0.2,
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.embedding = nn.Embedding(vocab, embed)
        nn.init.normal_(self.embedding.weight, std=embed**-0.5)
        self.rnn = nn.GRU(embed, hidden, batch_first=True)
        self.attention = attention(query=hidden, key=memory, value=embed)
        self.of_state = nn.Linear(hidden, embed)
        self.of_context = nn.Linear(memory, embed, bias=False)
        self.of_summary = nn.Linear(summary, embed, bias=False)
        self.out = GroupedSoftmax(vocab, embed)

    @property
    def source_attention(self) -> Attention:
        return self.attention

    @property
    def parallel(self) -> bool:
        return not self.attention.waits

    @property
    def carries(self) -> bool:
        """What was seen is forgotten at once."""
        return self.attention.stateful

    def start(self, memory: Memory) -> PrefixState:
        """The summary is kept as its part of the readout, and values are what the readout makes of them."""
        assert memory.summary is not None
        values = self.of_context(memory.values)
        prepared = self.attention.prepare(memory.keys, values, memory.mask)
        prepared = Memory(prepared.keys, prepared.values, prepared.mask, self.of_summary(memory.summary))
        hidden = values.new_zeros(len(values), 1, self.rnn.hidden_size)
        return PrefixState(hidden, None, prepared)

    def step(
        self, state: PrefixState, token: Int[Tensor, "batch beam"]
    ) -> tuple[PrefixState, Look, Float[Tensor, "batch beam vocab"]]:
        before = state.hidden.flatten(0, 1).unsqueeze(0)
        _, hidden = self.rnn(self._embed(token).flatten(0, 1).unsqueeze(1), before.contiguous())
        hidden = hidden.reshape(*token.shape, -1)
        look = self.attention(hidden, state.memory, state.looked)
        return PrefixState(hidden, look.state, state.memory), look, self._logits(hidden, look, state.memory)

    def unroll(
        self, memory: Memory, tokens: Int[Tensor, "batch time"]
    ) -> tuple[Look, Float[Tensor, "batch time vocab"]]:
        if not self.parallel:
            return super().unroll(memory, tokens)
        state = self.start(memory)
        hidden, _ = self.rnn(self._embed(tokens), state.hidden.transpose(0, 1).contiguous())
        look = self.attention(hidden, state.memory, self.attention.start(state.memory))
        return look, self._logits(hidden, look, state.memory)

    def _embed(self, tokens: Int[Tensor, "*shape"]) -> Float[Tensor, "*shape embed"]:
        return drop(self.embedding(tokens), self.dropout, self.training)

    def _logits(self, hidden: Tensor, look: Look, memory: Memory) -> Float[Tensor, "batch query vocab"]:
        assert memory.summary is not None
        r = torch.tanh(self.of_state(hidden) + look.context + memory.summary.unsqueeze(1))
        return self.out(drop(r, self.dropout, self.training))  # type: ignore[no-any-return]

    def read_tree(self, tree: PrefixTree) -> tuple[TreePiece, ...]:
        states = self.of_state.weight.new_empty(len(tree), self.rnn.hidden_size)
        above = states.new_zeros(1, self.rnn.hidden_size)
        first = 0  # node of the level above
        for begin, end in tree.levels:
            embedded = self._embed(tree.token[begin:end]).unsqueeze(1)
            _, reached = self.rnn(embedded, above[tree.parent[begin:end] - first].unsqueeze(0).contiguous())
            above, first = reached[0], begin
            states[begin:end] = above
        return tuple(self._piece(tree, states, begin) for begin in range(0, len(tree), TOGETHER))

    def _piece(self, tree: PrefixTree, states: Tensor, node: int) -> TreePiece:
        some = states[node : node + TOGETHER]
        begin, end = int(tree.first[node]), int(tree.first[node + len(some)])
        plan = self.out.plan(tree.source[begin:end] - node, tree.word[begin:end])
        asking = self.attention.score.project(some.unsqueeze(0)) if self._plain else some.unsqueeze(0)
        return TreePiece(asking, self.of_state(some).unsqueeze(0), begin, end, plan)

    @property
    def _plain(self) -> bool:
        """Whether attention is nothing but a score, a normalizer and a sum. Then it need not be asked as a whole, which
        would prepare for more."""
        return not self.attention.bias and self.attention.heads is None and not self.attention.score.features

    def tree_log_probs(self, memory: Memory, tree: PrefixTree, read: Any) -> Float[Tensor, "batch edge"]:
        """One look for every node; then only the words that may follow it."""
        if self.attention.stateful:  # a look depends on those before it
            return super().tree_log_probs(memory, tree, read)
        prepared, found = self.start(memory).memory, memory.keys.new_empty(len(memory.keys), len(tree.source))
        for row in range(len(found)):
            one = _without_padding(prepared.select(torch.tensor([row])))
            assert one.summary is not None
            for piece in read:
                r = _tanh(self._context(piece.states, one).add_(piece.said).add_(one.summary))
                found[row, piece.begin : piece.end] = self.out.some(r[0], piece.plan)
        return found

    def _context(self, asking: Tensor, memory: Memory) -> Tensor:
        if not self._plain:
            return self.attention(asking, memory, None).context  # type: ignore[no-any-return]
        scores = self.attention.score.scores(asking, memory.keys, None)
        context: Tensor = self.attention.normalizer(scores, None).context(memory.values, False)
        return context


def _without_padding(memory: Memory) -> Memory:
    """The memory of one source, cut to its length; padding is at its end."""
    if memory.mask is None:
        return memory
    length = int(memory.mask.sum())
    assert bool(memory.mask[0, :length].all())
    return replace(memory, keys=memory.keys[..., :length, :], values=memory.values[..., :length, :], mask=None)


def _tanh(x: Tensor) -> Tensor:
    """In place, by the sigmoid, which torch computes five times as fast on a processor; equal to 2e-7."""
    return x.mul_(2).sigmoid_().mul_(2).sub_(1)
