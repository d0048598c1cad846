"""How well a reply suits a message: the product of two vectors, each made of the words and word pairs of its text.

    x_t = E[w_t] + P[hash(w_t, w_{t+1})]        a word and the pair that begins with it
    v = W Σ_t a_t x_t,  u = v / |v|             a: attention with one learned query, a pooling of its own on each side
    match(m, r) = τ u_m · u_r

It is learned from pairs of messages and replies, in a batch: each message must find its own reply among all replies of
the batch, and each reply its own message.

    loss = Σ_i −log softmax_j(match(m_i, r_j))_i − log softmax_j(match(m_j, r_i))_i

The other replies of a batch are drawn as frequent as they are, so match(m, r) learns log p(r | m) − log p(r): what the
message says for a reply, beside how frequent the reply is. A copy of its own reply is no rival and is left out.

Henderson et al. 2017, "Efficient Natural Language Response Suggestion for Smart Reply", sections 3 and 4.2 (n-grams,
dot product, other examples of the batch as negatives); the pairs are hashed as by Weinberger et al. 2009. Vectors of
replies do not depend on the message, so 20,000 replies cost one product of a matrix and a vector.

    match = NgramMatch(messages=8000, replies=4000)
    match.scores(match.message(messages).vector, match.reply(replies).vector)       # [message, reply]
    match.loss(match.message(messages).vector, replies)
"""

from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, dropout, normalize

from regard.pool import Pooled
from regard.pool.attention import Attention
from regard.ranges import Dropout, Number, Width, ranged
from regard.types import Memory, Sequences, wide

__all__ = ["NgramMatch", "Ngrams"]

LEFT, RIGHT = 7_919, 104_729  # primes that mix the two words of a pair


class Ngrams(nn.Module):
    """A text as one vector of length 1, from its words and word pairs."""

    def __init__(self, vocab: int, size: int, pairs: int, dropout: float) -> None:
        super().__init__()
        self.pairs, self.dropout = pairs, dropout
        self.words, self.after = nn.Embedding(vocab, size), nn.Embedding(pairs, size)
        self.pool, self.out = Attention(size, hidden=size), nn.Linear(size, size)
        for table in (self.words, self.after):
            nn.init.normal_(table.weight, std=size**-0.5)

    def forward(self, text: Sequences) -> Pooled:
        """The vector, and how much each word has a part in it."""
        tokens = text.values.masked_fill(~text.mask, 0)
        following = torch.cat([tokens[:, 1:], torch.zeros_like(tokens[:, :1])], 1)
        x = self.words(tokens) + self.after((LEFT * tokens + RIGHT * following) % self.pairs)
        pooled = self.pool(Memory(x, dropout(x, self.dropout, self.training), text.mask))
        return Pooled(normalize(wide(self.out(pooled.vector)), dim=-1), pooled.look)


class NgramMatch(nn.Module):
    """Product of the vectors of a message and a reply, from their words and word pairs"""

    @ranged
    def __init__(
        self,
        messages: int,
        replies: int,
        size: Annotated[Width, "size of the vectors of words, word pairs and texts"] = 128,
        pairs: Annotated[Number, "vectors that all pairs of words share, on each side"] = 16_384,
        dropout: Annotated[Dropout, "dropout on the words and word pairs"] = 0.0,
    ) -> None:
        super().__init__()
        self.size = size
        self.message = Ngrams(messages, size, pairs, dropout)
        self.reply = Ngrams(replies, size, pairs, dropout)
        self.log_scale = nn.Parameter(torch.tensor(10.0).log())

    def scores(
        self, messages: Float[Tensor, "message size"], replies: Float[Tensor, "reply size"]
    ) -> Float[Tensor, "message reply"]:
        return self.log_scale.exp() * messages @ replies.T

    def loss(self, messages: Float[Tensor, "batch size"], replies: Sequences) -> Float[Tensor, ""]:
        """Of all pairs of a batch, those without a reply left out; messages as vectors."""
        some = replies.mask.any(1).nonzero().squeeze(1)
        replies = replies.select(some)
        scores = self.scores(messages[some], self.reply(replies).vector)
        own = torch.arange(len(some), device=some.device)
        said = replies.values.masked_fill(~replies.mask, 0)
        rival = (said[:, None] != said[None]).any(-1) | (own[:, None] == own[None])
        scores = scores.masked_fill(~rival, -torch.inf)
        return cross_entropy(scores, own, reduction="sum") + cross_entropy(scores.T, own, reduction="sum")
