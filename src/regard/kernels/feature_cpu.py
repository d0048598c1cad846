"""Feature-wise attention in plain PyTorch operations, block by block: bounded memory, made for a CPU's cache.

The algebra of `feature_triton.py`: `r = 1/(1 + e^{2q/c}·e^{2k/c})` is a multiplication, an addition and a
reciprocal an element, a weight is `exp(−2c·r)` over its sum. Nothing larger than a block of query × key × feature
is ever held; the backward pass works each block out again. Keys that no query of a block sees are left out of it.

`regard.kernels.feature` is the way in.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.kernels.mask import Sight

__all__ = ["backward", "forward", "kept"]

BLOCK = 2**17  # elements of query × key × feature at once: half a megabyte, twice or thrice
ROOM = 80.0  # 2(|q|+|k|)/c where e^{2q/c}·e^{2k/c} is surely inside float32; here no product of two is taken


def _mixed(h: Int[Tensor, "*any"]) -> Int[Tensor, "*any"]:
    """A good 32-bit mixing function (lowbias32, public domain) on int32, whose shifts keep the sign."""
    h = h ^ ((h >> 16) & 0xFFFF)
    h = h * 0x7FEB352D
    h = h ^ ((h >> 15) & 0x1FFFF)
    h = h * (0x846CA68B - 2**32)
    return h ^ ((h >> 16) & 0xFFFF)


def kept(
    seed: Int[Tensor, "1"], dropout: float, rows: Int[Tensor, "*rows"], keys: Int[Tensor, " key"], features: int
) -> Bool[Tensor, "*rows key feature"]:
    """Which weights dropout keeps: one draw for all backends, from the seed, `batch·Q + query`, key and feature."""
    f = torch.arange(features, device=keys.device, dtype=torch.int32)
    row = _mixed(_mixed(rows.int() ^ seed.int())[..., None] + f * (0x9E3779B9 - 2**32))
    drawn = _mixed(row[..., None, :] + (keys.int() * (0x85EBCA6B - 2**32))[:, None])
    return drawn >= min(int(dropout * 2**32), 2**32 - 1) - 2**31


@dataclass(frozen=True)
class _Block:
    """Some sentences, some of their queries, and the keys that any of these may see."""

    b: slice
    q: slice
    k: slice
    hidden: Bool[Tensor, "some query key 1"] | None


class _Walk:
    """The blocks of one call, and r and the weights (before their sum is divided out) of each."""

    def __init__(
        self, q: Tensor, k: Tensor, v: Tensor, scale: float, sight: Sight, bias: Tensor | None, dropout: float,
        seed: Tensor | None,
    ) -> None:  # fmt: skip
        self.q, self.k, self.v = q.float(), k.float(), v.float()
        self.scale, self.sight, self.bias, self.dropout, self.seed = scale, sight, bias, dropout, seed
        self.keep_scale = 1 / (1 - dropout) if dropout < 1 else 0.0
        self.finite = bool(self.v.isfinite().all())
        self.step = 2 / scale
        self.safe = (self._most(self.q) + self._most(self.k)) * self.step <= ROOM
        # Once a row, so it may as well be exact: an exponent rounded to float32 would show in a sum that cancels.
        self.x, self.y = ((t.double() * self.step).exp().float() if self.safe else t for t in (self.q, self.k))

    @staticmethod
    def _most(x: Tensor) -> float:
        low, high = torch.aminmax(x)
        return float(torch.maximum(-low, high))

    def blocks(self) -> Iterator[_Block]:
        (batch, queries, features), keys = self.q.shape, self.k.shape[1]
        some = max(1, BLOCK // (queries * keys * features))
        rows = min(queries, max(1, BLOCK // (keys * features)))
        for b in range(0, batch, some):
            together = slice(b, min(b + some, batch))
            seen = None if self.sight.everything and self.bias is None else self._seen(together)
            for start in range(0, queries, rows):
                asked = slice(start, min(start + rows, queries))
                if seen is None:
                    yield _Block(together, asked, slice(0, keys), None)
                    continue
                here = seen[:, asked]
                columns = here.flatten(0, 1).any(0).nonzero()
                if len(columns):
                    looked = slice(int(columns[0]), int(columns[-1]) + 1)
                    here = here[:, :, looked]
                    yield _Block(together, asked, looked, None if bool(here.all()) else ~here.unsqueeze(-1))

    def _seen(self, together: slice) -> Bool[Tensor, "some query key"]:
        """What these sentences may see; a bias has it in it already."""
        if self.bias is not None:
            return self.bias[together] != float("-inf")
        own = {
            name: None if value is None else (value if len(value) == 1 else value[together])
            for name in ("lengths", "query_lengths", "allowed", "query_positions", "key_positions")
            for value in [getattr(self.sight, name)]
        }
        sight = Sight(pattern=self.sight.pattern, band=self.sight.band, **own)
        return sight.dense(together.stop - together.start, self.q.shape[1], self.k.shape[1], self.q.device)

    def ratios(self, at: _Block) -> tuple[Tensor, Tensor]:
        """`r` and what `1 − r` is made from (see `slope`), `[some, query, key, feature]`."""
        x, y = self.x[at.b, at.q].unsqueeze(2), self.y[at.b, at.k].unsqueeze(1)
        if self.safe:
            m = x * y
            return (m + 1.0).reciprocal_(), m
        z = (x + y).mul_(self.step)
        return torch.sigmoid(-z), z

    def slope(self, r: Tensor, rest: Tensor) -> Tensor:
        """In place of `rest`: `r(1 − r)`, a quarter of 1 − tanh², without the cancellation of 1 − r."""
        return rest.mul_(r).mul_(r) if self.safe else rest.sigmoid_().mul_(r)

    def weights(self, at: _Block, r: Tensor) -> Tensor:
        """exp(energy), zero where hidden."""
        w = (0.5 - r).mul_(2 * self.scale)  # the difference is exact near 0.5
        if self.bias is not None:
            w += self.bias[at.b, at.q, at.k].unsqueeze(-1)
        w.exp_()
        return w if at.hidden is None else w.masked_fill_(at.hidden, 0.0)

    def drop(self, at: _Block, w: Tensor) -> Tensor:
        """In place: zeros where dropout says so."""
        if self.dropout == 0 or self.seed is None:
            return w
        queries = self.q.shape[1]
        rows = torch.arange(at.b.start, at.b.stop)[:, None] * queries + torch.arange(at.q.start, at.q.stop)
        keys = torch.arange(at.k.start, at.k.stop)
        return w.masked_fill_(~kept(self.seed, self.dropout, rows, keys, w.shape[-1]), 0.0)

    def clean(self, at: _Block, product: Tensor) -> Tensor:
        """In place: a hidden value that is not a number counts for nothing."""
        return product if self.finite or at.hidden is None else product.masked_fill_(at.hidden, 0.0)


def forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    scale: float,
    sight: Sight,
    bias: Tensor | None,
    dropout: float,
    seed: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The answer, the same in float32 (empty where it is that already) and the sums of the weights.

    `bias` has 0 as its largest visible value in a row, and −inf where nothing may be seen (see `feature.py`).
    """
    walk = _Walk(q, k, v, scale, sight, bias, dropout, seed)
    answer = torch.zeros_like(walk.q)
    den = torch.zeros_like(answer)
    for at in walk.blocks():
        w = walk.weights(at, walk.ratios(at)[0])
        total = w.sum(2)
        product = walk.clean(at, walk.drop(at, w).mul_(walk.v[at.b, at.k].unsqueeze(1)))
        den[at.b, at.q] = total
        answer[at.b, at.q] = product.sum(2).div_(total).masked_fill_(total == 0, 0.0).mul_(walk.keep_scale)
    return (answer, q.new_empty(0), den) if q.dtype == torch.float32 else (answer.to(q.dtype), answer, den)


def backward(
    grad: Tensor, q: Tensor, k: Tensor, v: Tensor, exact: Tensor, den: Tensor, scale: float, sight: Sight,
    bias: Tensor | None, dropout: float, seed: Tensor | None, bias_gradient: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients of q, k, v and, if asked for, of the energies summed over features (else empty)."""
    walk = _Walk(q, k, v, scale, sight, bias, dropout, seed)
    g = (grad.float() / den).masked_fill_(den == 0, 0.0)
    D = g * exact
    g *= walk.keep_scale
    dq, dk, dv = torch.zeros_like(walk.q), torch.zeros_like(walk.k), torch.zeros_like(walk.v)
    dbias = torch.zeros_like(bias) if bias is not None and bias_gradient else q.new_empty(0)
    for at in walk.blocks():
        r, rest = walk.ratios(at)
        w = walk.weights(at, r)
        pull = walk.drop(at, g[at.b, at.q].unsqueeze(2).expand_as(w).clone())  # dO of each weight, over its sum
        dv[at.b, at.k] += walk.clean(at, w * pull).sum(1)
        pull.mul_(walk.v[at.b, at.k].unsqueeze(1)).sub_(D[at.b, at.q].unsqueeze(2))
        w = walk.clean(at, w.mul_(pull))  # the gradient of the energies
        if dbias.numel():
            dbias[at.b, at.q, at.k] = w.sum(-1)
        w = walk.clean(at, w.mul_(walk.slope(r, rest)))
        dq[at.b, at.q] = w.sum(2)
        dk[at.b, at.k] += w.sum(1)
    return dq.mul_(4).to(q.dtype), dk.mul_(4).to(k.dtype), dv.to(v.dtype), dbias
