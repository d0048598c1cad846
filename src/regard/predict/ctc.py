"""Connectionist temporal classification: every position of the memory says a token or nothing, and repeats are merged.

    y_t = softmax(W h_t + b)                     a distribution over the tokens and the blank for each position
    p(tokens) = Σ over all paths π that give them of Π_t y_t(π_t)    "aa–ab" gives "aab": merge, then drop blanks

Graves, Fernández, Gomez & Schmidhuber 2006, "Connectionist Temporal Classification", sections 3 and 4. No state is
carried from token to token, so the loss needs no steps (`loss`, PyTorch's own). For a search the same model is read
token by token, as any decoder (section 3.2, prefix search):

    p(c | g) = ψ(g·c) / ψ(g),   ψ(g) the probability of all outputs that begin with g;   p(end | g) = p(g) / ψ(g)

    n_t(g·c) = y_t(c) (n_{t−1}(g·c) + φ_{t−1})                    paths of t positions that give g·c and end in c
    b_t(g·c) = y_t(blank) (b_{t−1}(g·c) + n_{t−1}(g·c))           … and end in a blank
    φ_t = b_t(g) + n_t(g), without n_t(g) where c is the last token of g;   ψ(g·c) = Σ_t φ_{t−1} y_t(c)

Both recursions are linear, so each is one cumulative sum in the logarithm. Greedy search and beam search over these
probabilities sum over all paths of an output. A step's look says when the next token begins: where on the paths, given
g; the probability that none comes lies on the last position. The blank is the number of padding, which no text has.

    decoder = Ctc(vocab=40, memory=256)
    nats = decoder.loss(memory, target)
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import ctc_loss, pad

from regard.predict.generate import Decoder
from regard.text import Tokenizer
from regard.types import Beams, Look, Memory, Sequences, wide

__all__ = ["Ctc", "CtcState"]

NEVER = -1e30  # a logarithm of 0 that can be subtracted


@dataclass(frozen=True)
class CtcState(Beams):
    """n and b of the prefix after 0, 1, … positions, its last token (−1: none yet, and no start token read), log y."""

    n: Float[Tensor, "batch beam after"]
    b: Float[Tensor, "batch beam after"]
    last: Int[Tensor, "batch beam"]
    memory: Memory  # keys: log y, [batch, time, vocab]


class Ctc(Decoder):
    """CTC: every position says a token or nothing; no attention, and no state from token to token"""

    def __init__(self, vocab: int, memory: int) -> None:
        super().__init__()
        self.out = nn.Linear(memory, vocab)

    @property
    def parallel(self) -> bool:
        return True

    def log_probs(self, memory: Memory) -> Float[Tensor, "batch time vocab"]:
        """log y. After its end a recording says nothing; special tokens but the blank are never said."""
        logits = wide(self.out(memory.keys))
        specials = torch.zeros(logits.shape[-1], dtype=torch.bool, device=logits.device)
        specials[[Tokenizer.start, Tokenizer.end]] = True
        found = torch.log_softmax(logits.masked_fill(specials, NEVER), dim=-1)
        if memory.mask is None:
            return found
        silence = torch.full_like(found[0, 0], NEVER)
        silence[Tokenizer.pad] = 0.0
        return torch.where(memory.mask.unsqueeze(-1), found, silence)

    def loss(self, memory: Memory, target: Sequences) -> Float[Tensor, " batch"]:
        """−log p of each target. One that has not enough positions for its tokens counts 0."""
        there = memory.keys.new_full((len(memory.keys),), memory.keys.shape[1], dtype=torch.long)
        positions = there if memory.mask is None else memory.mask.sum(-1)
        tokens = (target.lengths - 1).clamp(min=0)  # without the end
        probabilities = self.log_probs(memory).transpose(0, 1)
        return ctc_loss(
            probabilities, target.values, positions.cpu(), tokens, Tokenizer.pad, reduction="none", zero_infinity=True
        )

    def start(self, memory: Memory) -> CtcState:
        y = self.log_probs(memory)
        y = y if y.device.type == "mps" else y.double()  # sums over hundreds of positions are subtracted
        b = pad(y[..., Tokenizer.pad].cumsum(-1), (1, 0)).unsqueeze(1)
        last = torch.full_like(b[..., 0], -1, dtype=torch.long)
        return CtcState(torch.full_like(b, NEVER), b, last, Memory(y, y, memory.mask))

    def step(
        self, state: CtcState, token: Int[Tensor, "batch beam"]
    ) -> tuple[CtcState, Look, Float[Tensor, "batch beam vocab"]]:
        state = self._after(state, token)
        y, n, b = state.memory.keys, state.n[..., :-1], state.b[..., :-1]
        vocab = y.shape[-1]
        phi = torch.logaddexp(n, b)[..., None]
        again = state.last[..., None] == torch.arange(vocab, device=y.device)
        phi = torch.where(again.unsqueeze(-2), b[..., None], phi)  # [batch, beam, time, vocab]
        joined = phi + y.unsqueeze(1)
        joined = joined.index_fill(
            -1, torch.tensor([Tokenizer.pad, Tokenizer.start, Tokenizer.end], device=y.device), NEVER
        )
        logits, ended = joined.logsumexp(-2), torch.logaddexp(state.n[..., -1], state.b[..., -1])
        logits = torch.where(torch.arange(vocab, device=y.device) == Tokenizer.end, ended[..., None], logits)
        logits = logits.index_fill(-1, torch.tensor([Tokenizer.pad, Tokenizer.start], device=y.device), NEVER)

        def weights() -> Tensor:
            total = logits.logsumexp(-1, keepdim=True)
            begins = (joined.logsumexp(-1) - total).exp()
            final = begins.new_zeros(begins.shape).scatter(-1, self._last(state.memory, begins), 1.0)
            found: Tensor = begins + final * (ended[..., None] - total).exp()
            return found.float()

        return state, Look(state.memory.values.new_zeros(*token.shape, 0), weights), logits

    def _last(self, memory: Memory, like: Tensor) -> Int[Tensor, "batch beam 1"]:
        """The number of each recording's last position."""
        length = like.new_full((len(like),), like.shape[-1]) if memory.mask is None else memory.mask.sum(-1)
        return (length.long() - 1).clamp(min=0)[:, None, None].expand(-1, like.shape[1], -1)

    def _after(self, state: CtcState, token: Int[Tensor, "batch beam"]) -> CtcState:
        """The state of the prefix with one more token; the start token leaves it empty."""
        begins = (token == Tokenizer.start) & (state.last < 0)
        y = state.memory.keys.transpose(1, 2)
        c = token.clamp(min=0).unsqueeze(-1).expand(-1, -1, y.shape[-1])
        said = y.gather(1, c) if y.shape[-1] else state.n[..., :-1]
        phi = torch.where(
            (token == state.last)[..., None], state.b[..., :-1], torch.logaddexp(state.n[..., :-1], state.b[..., :-1])
        )
        n = _sum(said, phi)
        b = _sum(y[:, None, Tokenizer.pad].expand_as(said), n[..., :-1])
        keep = begins[..., None]
        return CtcState(
            torch.where(keep, state.n, n), torch.where(keep, state.b, b), torch.where(begins, -1, token), state.memory
        )


def _sum(y: Float[Tensor, "*lead time"], enters: Float[Tensor, "*lead time"]) -> Float[Tensor, "*lead after"]:
    """x of `x_t = y_t (x_{t−1} + enters_{t−1})`, x_0 = 0, all as logarithms."""
    total = y.cumsum(-1)
    before = total - y
    x = total + torch.logcumsumexp(enters - before, dim=-1)
    return pad(x, (1, 0), value=NEVER).clamp(min=NEVER)
