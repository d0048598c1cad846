"""Feature-wise attention in plain PyTorch operations, block by block: bounded memory, made for a CPU's cache.

The algebra of `feature_triton.py`: with `r = 1/(1 + e^{2q/c}·e^{2k/c})` a weight is `exp(−2c·r)` over its sum. Here
`e = 1/(a + a·e^{2q/c}·e^{2k/c})`, `a = −1/(2c·log₂e)`, is the exponent of 2 at once: a multiplication, an addition, a
reciprocal and an exp2 an element (PyTorch's exp takes thrice as long). Nothing larger than a block of query × key ×
feature is ever held; the backward pass works each block out again. Keys that no query of a block sees are left out.

`regard.kernels.feature` is the way in.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.kernels.blocks_cpu import GROUPS, Share, Team, added, by_key, by_query, grid, largest, shares, small
from regard.kernels.mask import MaskSpec

__all__ = ["backward", "forward", "kept"]

BLOCK = 2**18  # elements of query × key × feature at once: 1 MB, once or, in the backward pass, thrice
SMALL = 2**22  # elements of a whole call that is small (see `blocks_cpu.py`): its blocks are twice as large
ROOM = 80.0  # 2(|q|+|k|)/c where e^{2q/c}·e^{2k/c} is surely inside float32; here no product of two is taken
FLAT = 0.2  # the mean of ((q + k)/c)², about, up to which `1 − r` may be a difference
STEEP = 20.0  # c from which exp(−2c), and with it a gradient over a sum of weights, comes near the end of float32


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
    """Some sentences, their i-th queries and their j-th keys, of which any of these may see some."""

    b: slice
    q: slice
    k: slice
    i: int
    j: int
    hidden: Bool[Tensor, "some query key 1"] | None


@cache
def _number(x: float) -> Tensor:
    return torch.tensor(x)


def _small(q: Tensor, k: Tensor) -> bool:
    return small(q, k, SMALL, 2 * BLOCK)


class _Walk:
    """The blocks of one call, and the exponents and the weights (before their sum is divided out) of each."""

    def __init__(
        self, q: Tensor, k: Tensor, v: Tensor, scale: float, spec: MaskSpec, bias: Tensor | None, dropout: float,
        seed: Tensor | None, small: bool,
    ) -> None:  # fmt: skip
        (self.batch, self.queries, self.features), self.keys = q.shape, k.shape[1]
        self.spec, self.dropout, self.seed, self.small = spec, dropout, seed, small
        self.groups, self.block = (GROUPS, 2 * BLOCK) if self.small else (1, BLOCK)
        self.bias = None if bias is None else bias * math.log2(math.e)
        self.keep_scale = 1 / (1 - dropout) if dropout < 1 else 0.0
        self.step, self.a = 2 / scale, _number(-1 / (2 * scale * math.log2(math.e)))
        self.lift = scale * math.log2(math.e) if scale > STEEP else 0.0
        q, k = q.float(), k.float()
        self.safe, self.flat = (largest(q) + largest(k)) * self.step <= ROOM, False
        self.finite = self.safe and math.isfinite(largest(v))
        # Once a row, so it may as well be exact: an exponent rounded to float32 would show in a sum that cancels.
        x, y = ((t.double() * (self.step * math.log2(math.e))).exp2_() if self.safe else t for t in (q, k))
        self.x = (x.mul_(float(self.a)) if self.safe else x).float().unsqueeze(2)
        self.y, self.v = (t.float().unsqueeze(1) for t in (y, v))

    def shares(self) -> list[Share]:
        return shares(self.batch, self.queries, 0 if self.small else self.keys * self.features)

    def floats(self) -> int:
        """The numbers of the largest block: a row of it may be longer than it should be."""
        return max(self.block, self.features)

    def blocks(self, together: slice, queries: slice, tall: int, wide: int) -> Iterator[_Block]:
        """Those of these queries, `tall` at a time, and of all keys, `wide` at a time."""
        seen = None if self.spec.everything and self.bias is None else self._seen(together)
        for i, query in enumerate(range(queries.start, queries.stop, tall)):
            asked, first, last = slice(query, min(query + tall, queries.stop)), 0, self.keys
            if seen is not None:
                columns = seen[:, asked].flatten(0, 1).any(0).nonzero()
                first, last = (int(columns[0]), int(columns[-1]) + 1) if len(columns) else (0, 0)
            for j in range(first // wide, -(-last // wide)):
                looked = slice(j * wide, min((j + 1) * wide, self.keys))
                here = None if seen is None else seen[:, asked, looked]
                hidden = None if here is None or bool(here.all()) else ~here.unsqueeze(-1)
                yield _Block(together, asked, looked, i, j, hidden)

    def _seen(self, together: slice) -> Bool[Tensor, "some query key"]:
        """What these sentences may see; a bias has it in it already."""
        if self.bias is not None:
            return self.bias[together] != float("-inf")
        own = {
            name: None if value is None else (value if len(value) == 1 else value[together])
            for name in ("lengths", "query_lengths", "allowed", "query_positions", "key_positions")
            for value in [getattr(self.spec, name)]
        }
        spec = MaskSpec(pattern=self.spec.pattern, band=self.spec.band, **own)
        return spec.dense(together.stop - together.start, self.queries, self.keys)

    def room(self, x: Tensor, y: Tensor, buffer: Tensor) -> list[Tensor]:
        """The parts of a buffer, each in the shape of the block."""
        sizes = (x.shape[0], x.shape[1], y.shape[2], self.features)
        size = math.prod(sizes)
        return [part[:size].view(sizes) for part in buffer.view(-1, self.floats())]

    def exponents(self, x: Tensor, y: Tensor, e: Tensor, rest: Tensor | None = None) -> None:
        """`e = r/a`, and `rest` is what `1 − r` is made from (see `slope`)."""
        if not self.safe:
            z = torch.add(x, y, out=e if rest is None else rest).mul_(self.step)
            torch.neg(z, out=e).sigmoid_().div_(self.a)
        elif rest is None or self.flat:
            torch.addcmul(self.a, x, y, out=e).reciprocal_()
        else:
            torch.add(torch.mul(x, y, out=rest), self.a, out=e).reciprocal_()

    def flatten(self, q: Tensor, k: Tensor) -> None:
        """Sees whether `1 − r` may be a difference."""
        spread = sum(float(torch.linalg.vector_norm(t.float())) ** 2 / t.numel() for t in (q, k))
        self.flat = self.safe and spread * (self.step / 2) ** 2 < FLAT

    def slope(self, e: Tensor, rest: Tensor) -> Tensor:
        """In place of `e`: `r(1 − r)/a`, a quarter of `1 − tanh²`, without cancellation where that matters."""
        if self.flat:
            return torch.addcmul(e, e, e, value=-float(self.a), out=e)
        return e.mul_(rest.mul_(e) if self.safe else rest.sigmoid_())

    def weights(self, at: _Block, e: Tensor, w: Tensor) -> Tensor:
        """exp(score), but for a factor the same for all, zero where hidden; `w` may be `e`."""
        if self.lift:
            e = torch.add(e, self.lift, out=w)
        if self.bias is not None:
            e = torch.add(e, self.bias[at.b, at.q, at.k].unsqueeze(-1), out=w)
        torch.exp2(e, out=w)
        return w if at.hidden is None else w.masked_fill_(at.hidden, 0.0)

    def drop(self, at: _Block, w: Tensor) -> Tensor:
        """In place: zeros where dropout says so."""
        if self.dropout == 0 or self.seed is None:
            return w
        rows = torch.arange(at.b.start, at.b.stop)[:, None] * self.queries + torch.arange(at.q.start, at.q.stop)
        keys = torch.arange(at.k.start, at.k.stop)
        return w.masked_fill_(~kept(self.seed, self.dropout, rows, keys, self.features), 0.0)

    def clean(self, at: _Block, product: Tensor) -> Tensor:
        """In place: what is hidden and not a number counts for nothing."""
        return product if self.finite or at.hidden is None else product.masked_fill_(at.hidden, 0.0)

    def over(self, x: Tensor, den: Tensor) -> Tensor:
        """`x / den`, and zero where nothing is seen."""
        x = x / den
        return x if self.spec.everything and self.bias is None else x.masked_fill_(den == 0, 0.0)


def forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    scale: float,
    spec: MaskSpec,
    bias: Tensor | None,
    dropout: float,
    seed: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The answer, the same in float32 (empty where it is that already) and the sums of the weights.

    `bias` has 0 as its largest visible value in a row, and −inf where nothing may be seen (see `feature.py`).
    """
    with Team(_small(q, k)) as team:
        walk = _Walk(q, k, v, scale, spec, bias, dropout, seed, team.small)
        answer, den = torch.zeros(q.shape), torch.zeros(q.shape)

        def work(share: Share, buffer: Tensor) -> None:
            groups, tall, wide = grid(share, walk.keys, walk.features, walk.block)
            for rows in groups:
                xs, dens, answers = (t[rows, share.queries].unsafe_split(tall, 1) for t in (walk.x, den, answer))
                ys, vs = (t[rows].unsafe_split(wide, 2) for t in (walk.y, walk.v))
                for at in walk.blocks(rows, share.queries, tall, wide):
                    (e,) = walk.room(xs[at.i], ys[at.j], buffer)
                    walk.exponents(xs[at.i], ys[at.j], e)
                    w = walk.weights(at, e, e)
                    dens[at.i].add_(by_query(w, walk.groups))
                    product = walk.clean(at, walk.drop(at, w).mul_(vs[at.j]))
                    answers[at.i].add_(by_query(product, walk.groups))

        team.each(walk.shares(), work, walk.floats())
        answer = walk.over(answer, den)
        if dropout > 0:
            answer.mul_(walk.keep_scale)
    return (answer, q.new_empty(0), den) if q.dtype == torch.float32 else (answer.to(q.dtype), answer, den)


def backward(
    grad: Tensor, q: Tensor, k: Tensor, v: Tensor, exact: Tensor, den: Tensor, scale: float, spec: MaskSpec,
    bias: Tensor | None, dropout: float, seed: Tensor | None, bias_gradient: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients of q, k, v and, if asked for, of the scores summed over features (else empty)."""
    with Team(_small(q, k)) as team:
        walk = _Walk(q, k, v, scale, spec, bias, dropout, seed, team.small)
        walk.flatten(q, k)
        plan = walk.shares()
        slots, parts = plan[-1].slot + 1, (walk.batch, walk.groups, *k.shape[1:])
        g, o = walk.over(grad.float(), den).unsqueeze(2), exact.unsqueeze(2)
        dq, (dks, dvs) = torch.zeros(q.shape), ([torch.zeros(parts) for _ in range(slots)] for _ in "kv")
        dbias = torch.zeros_like(bias) if bias is not None and bias_gradient else q.new_empty(0)

        twice = torch.ops.aten.mse_loss_backward.grad_input  # 2(a − b)·c, in one pass

        def work(share: Share, buffer: Tensor) -> None:
            groups, tall, wide = grid(share, walk.keys, walk.features, walk.block)
            for rows in groups:
                above = (t[rows, share.queries].unsafe_split(tall, 1) for t in (walk.x, g, o, dq))
                beside = (t[rows].unsafe_split(wide, 2) for t in (walk.y, walk.v))
                below = (t[share.slot][rows].unsafe_split(wide, 2) for t in (dks, dvs))
                (xs, gs, os, dqs), (ys, vs), (dk, dv) = above, beside, below
                for at in walk.blocks(rows, share.queries, tall, wide):
                    rest, e, w = walk.room(xs[at.i], ys[at.j], buffer)
                    walk.exponents(xs[at.i], ys[at.j], e, rest)
                    walk.weights(at, e, w)
                    walk.slope(e, rest)
                    walk.clean(at, w.mul_(gs[at.i]))
                    values, dropped = vs[at.j], w
                    if dropout > 0:
                        values = walk.drop(at, (values * walk.keep_scale).expand_as(w).clone())
                        dropped = walk.drop(at, rest.copy_(w))
                    by_key(dropped, dv[at.j])
                    walk.clean(at, twice(w, values, os[at.i], 0, grad_input=w))  # the gradient of the scores, twice
                    if dbias.numel():
                        dbias[at.b, at.q, at.k] = w.sum(-1).div_(2)
                    walk.clean(at, w.mul_(e))
                    dqs[at.i].add_(by_query(w, walk.groups))
                    by_key(w, dk[at.j])

        team.each(plan, work, 3 * walk.floats())
        dk, dv, steep = (*(added(added(t).unbind(1)) for t in (dks, dvs)), 2 * float(walk.a))
        return dq.mul_(steep).to(q.dtype), dk.mul_(steep).to(k.dtype), dv.mul_(walk.keep_scale).to(v.dtype), dbias
