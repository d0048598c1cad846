"""Additive attention on a CPU: `e_qk = Σ_f w_f tanh(q_f + k_f)` in blocks that stay in the cache.

A vector tanh is dear; with X = e^{2q} and Y = e^{2k}, made once a row, `tanh(q + k) = 1 - 2r`, `r = 1/(1 + X·Y)`, is a
multiply-add and a reciprocal, and a softmax does not see the 1. A block of about `BLOCK` pairs × features is filled
in one buffer, used and overwritten, in the forward pass and again in the backward one (`dr/dq = -2r(1 - r)`), so that
nothing of size query × key × feature is ever stored. Where |q| + |k| could leave the range of the product, r is a
sigmoid; where it is small, r would have fewer digits than tanh, and `tanh(q + k) = (x + y)/(1 + x·y)` with x = tanh q
and y = tanh k serves. Half precision is computed in float32.

    answer, weights = forward(q, k, v, w, None, MaskSpec(pattern="causal"), 0.0, None)
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property, partial
from math import isfinite, prod

import torch
from torch import Tensor

from regard.kernels.blocks_cpu import GROUPS, VECTORS, Share, Team, added, alone, few, grid, largest, shares, small
from regard.kernels.hidden import poisoned, tame
from regard.kernels.mask import MaskSpec

__all__ = ["CHUNK", "backward", "forward", "pieces", "weights", "whole"]

BLOCK = 2**19  # numbers in a block: 2 MB. Smaller ones cost more in Python than a nearer cache gives back
SMALL = 2**23  # numbers of a whole call that is small: see `blocks_cpu.py`
CHUNK = 2**26  # scores held at once; beyond it the queries are taken in pieces
BOUND = 42.0  # |q| + |k|: 1 + e^{2·42} is finite
NEAR = 1.5  # below it tanh is about its argument
LIGHT = 1e-6  # the smallest |w| that r may be divided by beforehand
FAR = 5.0  # the mean of (q + k)², about, from which 1 - r, where r is near 1, is worth two passes more


@cache
def _morse(width: int) -> Tensor:
    """The first terms of the Thue–Morse sequence, as 1 and -1."""
    return torch.tensor([1.0 - 2 * (f.bit_count() % 2) for f in range(width)])


class _Units:
    """`u = r`, or tanh itself where that is better, of any block; an score is `factor · u`, but for a constant.

    Terms of one sign would add up to a number much larger than the scores, which differ little, and cost them their
    last digits. So r is that of (q + k)·s, where s = ±1 makes w·s change its sign as the Thue–Morse sequence does,
    often in every part of it. The slope r(1 - r) is the same for both signs.
    """

    def __init__(self, q: Tensor, k: Tensor, w: Tensor, spec: MaskSpec, room: Callable[[Tensor], Tensor]) -> None:
        self.spec, self.batch, self.queries, self.keys, self.width = spec, *q.shape[:2], *k.shape[1:]
        self.q, self.k, self.most = q, k, (most := largest(q) + largest(k))
        self.near, self.product, self.finite = most < NEAR, NEAR <= most <= BOUND, isfinite(most)
        twice = 2 * torch.where(w < 0, -_morse(self.width), _morse(self.width))
        self.step = torch.ones(()) if self.near else -twice  # tanh is this times u, and a constant
        self.factor = w * self.step
        if self.near:
            self.x, self.y = (torch.tanh(t, out=room(t)) for t in (q, k))
        elif self.product:
            self.x, self.y = (torch.mul(t, twice, out=room(t)).exp_() for t in (q, k))
        else:
            self.x, self.y = (torch.mul(t, -twice, out=room(t)) for t in (q, k))
        self.x, self.y, self.one = self.x.unsqueeze(2), self.y.unsqueeze(1), torch.ones(())
        ends = (spec.lengths, self.keys), (spec.query_lengths, self.queries)
        self.key_ends, self.query_ends = (
            [most] * self.batch if own is None else own.clamp(0, most).tolist() for own, most in ends
        )

    @cached_property
    def weighed(self) -> bool:
        """Once asked for, u is `factor · r` at once, `1/(1/factor + x/factor·y)`, where that stays inside float32."""
        if not self.product or self.most > BOUND / 2 or not float(self.factor.abs().amin()) > LIGHT:
            return False
        self.one = self.factor.reciprocal()
        self.x.mul_(self.one)
        return True

    @cached_property
    def exact(self) -> bool:
        """Whether `steep` must do better than a difference."""
        if self.near or not self.product:
            return not self.near
        return float(self.q.square().mean() + self.k.square().mean()) >= FAR

    def floats(self, steep: bool = False) -> int:
        """What a buffer must hold: one row of a block may be larger than the block should be."""
        return max(BLOCK, self.width) * (1 if self.product and not (steep and self.exact) else 2)

    def walk(self, share: Share) -> Iterator[tuple[slice, int, int, list[tuple[int, int]]]]:
        """Sentences of a share; the i-th `tall` of its queries and the j-th `wide` keys where any may be visible."""
        low, high, _ = self.spec.diagonal(self.queries, self.keys)
        if self.spec.key_positions is not None:
            low, high = -self.queries, self.keys
        groups, tall, wide = grid(share, self.keys, self.width, BLOCK)
        for rows in groups:
            last, most = min(share.queries.stop, max(self.query_ends[rows])), max(self.key_ends[rows])
            cells = []
            for i, query in enumerate(range(share.queries.start, last, tall)):
                start, stop = max(query + low, 0), min(min(query + tall, last) + high, most)
                cells += [(i, j) for j in range(start // wide, -(-stop // wide))]
            yield rows, tall, wide, cells

    def __call__(self, x: Tensor, y: Tensor, buffer: Tensor, steep: bool = False) -> Tensor:
        """Of the parts of `self.x` and `self.y`; `steep` says that the method of that name comes next."""
        sizes = (x.shape[0], x.shape[1], y.shape[2], self.width)
        u, other = _room(sizes, buffer), partial(_room, sizes, buffer, 1)
        if self.near:
            return torch.add(x, y, out=u).div_(torch.addcmul(self.one, x, y, out=other()))
        if not self.product:
            return torch.sigmoid(torch.add(x, y, out=other()), out=u)
        if steep and self.exact:
            return torch.add(torch.mul(x, y, out=other()), self.one, out=u).reciprocal_()
        return torch.addcmul(self.one, x, y, out=u).reciprocal_()

    def steep(self, u: Tensor, pull: Tensor, buffer: Tensor) -> Tensor:
        """In place: `pull`, the same for all features, times `1 - tanh²`, over 4 where `u` is r."""
        if self.exact:  # 1 - r from what r was made of, without cancellation
            other = _room(u.shape, buffer, 1)
            return u.mul_(other.mul_(u) if self.product else other.neg_().sigmoid_()).mul_(pull)
        backward = torch.ops.aten.tanh_backward if self.near else torch.ops.aten.sigmoid_backward
        return backward.grad_input(pull, u, grad_input=u)  # type: ignore[no-any-return]


def _room(sizes: Sequence[int], buffer: Tensor, place: int = 0) -> Tensor:
    """The first or the second block of a buffer."""
    size = prod(sizes)
    return buffer[place * size : (place + 1) * size].view(sizes)


def whole(batch: int | torch.SymInt, queries: int | torch.SymInt, keys: int | torch.SymInt) -> bool:
    """Whether the weights of all queries are held at once, and kept for the backward pass."""
    return bool(batch * queries * keys <= CHUNK)


def pieces(batch: int, queries: int, keys: int, step: int = 1) -> list[tuple[int, int]]:
    """(first, count) of the pieces the queries are taken in, each a multiple of `step` but for the last."""
    most = queries if whole(batch, queries, keys) else max(CHUNK // (batch * keys) // step * step, step)
    return [(first, min(most, queries - first)) for first in range(0, queries, most)]


class _Piece:
    """Some queries of all sentences: their weights, and what hides and drops them."""

    def __init__(
        self, units: _Units, bias: Tensor | None, dropout: float, seed: Tensor | None, first: int, count: int,
        p: Tensor | None = None, small: bool = False,
    ) -> None:  # fmt: skip
        self.units, self.bias, self.first, self.small = units, bias, first, small
        self.shares = shares(units.batch, count, 0 if small else units.keys * units.width, first)
        self.weighed = small and units.weighed
        self.p = torch.empty(units.batch, count, units.keys) if p is None else p
        self.hidden = self.keep = None
        if not units.spec.everything:
            rows = torch.arange(first, first + count)
            self.hidden = ~units.spec.dense(units.batch, units.queries, units.keys, rows=rows)
        if dropout > 0 and seed is not None:  # the same again for the same seed
            generator = torch.Generator().manual_seed((int(seed) + first) % 2**62)
            self.keep = (torch.rand(self.p.shape, generator=generator) >= dropout).float().div_(1 - dropout)

    def here(self, share: Share) -> tuple[slice, slice]:
        """Where a share stands in what is held of this piece."""
        return share.rows, slice(share.queries.start - self.first, share.queries.stop - self.first)

    def fill_weights(self, share: Share, buffer: Tensor) -> None:
        """The weights of a share, into its part of `p`; zeros where nothing is visible."""
        units, here, hidden = self.units, self.here(share), self.hidden
        scores = self.p[here]
        if hidden is not None:  # blocks that nobody sees are left out
            scores.fill_(float("-inf"))
        for rows, tall, wide, cells in units.walk(share):
            xs, ys = units.x[rows, share.queries].unsafe_split(tall, 1), units.y[rows].unsafe_split(wide, 2)
            es = [part.unsafe_split(wide, 2) for part in self.p[rows, here[1]].unsafe_split(tall, 1)]
            for i, j in cells:
                u = units(xs[i], ys[j], buffer)
                if self.small:  # a product of matrices would run on one core
                    torch.sum(u if self.weighed else u.mul_(units.factor), -1, out=es[i][j])
                else:
                    es[i][j].copy_(u @ units.factor)
        with alone():
            self._normalise(scores, share)

    def _normalise(self, scores: Tensor, share: Share) -> None:
        """In place: from scores to weights."""
        here, hidden = self.here(share), self.hidden
        if hidden is None and self.bias is None:
            torch.softmax(scores, -1, out=scores)
            return
        if self.bias is not None:
            own = self.bias if self.bias.shape[0] == 1 else self.bias[share.rows]
            scores += own if own.shape[1] == 1 else own[:, share.queries]
        if hidden is not None:
            scores.masked_fill_(hidden[here], float("-inf"))
        top = scores.amax(-1, keepdim=True)
        scores.sub_(top.masked_fill_(top == float("-inf"), 0.0)).exp_()
        total = scores.sum(-1, keepdim=True)
        scores.div_(total.masked_fill_(total == 0, 1.0))
        if hidden is not None:
            scores.masked_fill_(hidden[here], 0.0)

    def dropped(self, share: Share) -> Tensor:
        """The weights of a share that count."""
        here = self.here(share)
        return self.p[here] if self.keep is None else self.p[here] * self.keep[here]

    def slopes(self, share: Share, up: Tensor, v: Tensor) -> Tensor:
        """The gradient of the scores of a share, given that of its answers."""
        here = self.here(share)
        p, slopes = self.p[here], torch.bmm(up, v.transpose(1, 2))
        if self.keep is not None:
            slopes *= self.keep[here]
        slopes.sub_((p * slopes).sum(-1, keepdim=True)).mul_(p)
        # What is hidden has none, not even in a row whose sum is no number.
        return slopes if self.hidden is None else slopes.masked_fill_(p == 0, 0.0)


def _clean(k: Tensor, v: Tensor, queries: int, spec: MaskSpec, bias: Tensor | None) -> tuple[Tensor, Tensor]:
    """What is hidden may hold anything (see `hidden`)."""
    if (spec.everything and bias is None) or tame(v):
        return k, v
    nobody = ~spec.dense(len(k), queries, k.shape[1]).any(1).unsqueeze(-1)
    k, v = k.masked_fill(nobody, 0.0), v.masked_fill(nobody, 0.0)
    return (k, v) if v.isfinite().all() else poisoned(k, v)


def forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    w: Tensor,
    bias: Tensor | None,
    spec: MaskSpec,
    dropout: float,
    seed: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """The answers [batch, query, value], and the weights for `backward` (none where the queries went in pieces)."""
    k, v = _clean(k, v, q.shape[1], spec, bias)
    answer, little = torch.empty(*q.shape[:2], v.shape[2]), small(q, k, SMALL, BLOCK)
    with Team(little) as team:
        with few(team.threads if little and q.numel() % (GROUPS * VECTORS) == 0 else 1):
            units, values = _Units(q.float(), k.float(), w.float(), spec, team.room), v.float()

        def work(piece: _Piece, share: Share, buffer: Tensor) -> None:
            piece.fill_weights(share, buffer)
            here = answer[share.rows, share.queries]
            if here.is_contiguous():
                torch.bmm(piece.dropped(share), values[share.rows], out=here)
            else:
                here.copy_(torch.bmm(piece.dropped(share), values[share.rows]))

        for some in pieces(units.batch, units.queries, units.keys):
            piece = _Piece(units, bias, dropout, seed, *some, small=little)
            team.each(piece.shares, partial(work, piece), units.floats())
    return answer.to(v.dtype), piece.p if whole(units.batch, units.queries, units.keys) else torch.empty(0)


def backward(
    grad: Tensor, q: Tensor, k: Tensor, v: Tensor, w: Tensor, bias: Tensor | None, spec: MaskSpec, dropout: float,
    seed: Tensor | None, p: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor | None]:  # fmt: skip
    """The gradients of q, k, v, w and, where there is one, of the bias; `p` as `forward` left it."""
    k, v = _clean(k, v, q.shape[1], spec, bias)
    with Team() as team:
        units, values, grad = _Units(q.float(), k.float(), w.float(), spec, team.room), v.float(), grad.float()
        # Shares that add to the same keys have slots of their own. The first piece is the largest.
        first, count = pieces(units.batch, units.queries, units.keys)[0]
        last, width = shares(units.batch, count, units.keys * units.width, first)[-1], units.width
        slots, dq, dw = last.slot + 1, torch.zeros(q.shape), torch.zeros(last.index + 1, width)
        dks, dvs = ([torch.zeros(sizes) for _ in range(slots)] for sizes in (k.shape, v.shape))
        dbias = None if bias is None else torch.zeros(bias.shape)

        def work(piece: _Piece, pulls: Tensor, share: Share, buffer: Tensor) -> None:
            if piece.p is not p:
                piece.fill_weights(share, buffer)
            up, here = grad[share.rows, share.queries], piece.here(share)
            dvs[share.slot][share.rows].baddbmm_(piece.dropped(share).transpose(1, 2), up)
            pulls[here] = piece.slopes(share, up, values[share.rows])
            for rows, tall, wide, cells in units.walk(share):
                xs, dqs = (t[rows, share.queries].unsafe_split(tall, 1) for t in (units.x, dq))
                ys, dk = units.y[rows].unsafe_split(wide, 2), dks[share.slot][rows].unsafe_split(wide, 1)
                parts = pulls[rows, here[1]].unsqueeze(-1).unsafe_split(tall, 1)
                for i, j in cells:
                    u, pull = units(xs[i], ys[j], buffer, steep=True), parts[i][:, :, j * wide : (j + 1) * wide]
                    if not units.finite:  # what is hidden may be anything
                        u.masked_fill_(pull == 0, 0.0)
                    dw[share.index].addmv_(u.view(-1, width).t(), pull.reshape(-1))
                    units.steep(u, pull, buffer)
                    if not units.finite:
                        u.masked_fill_(pull == 0, 0.0)
                    dqs[i].add_(u.sum(2))
                    dk[j].add_(u.sum(1))

        for first, count in pieces(units.batch, units.queries, units.keys):
            piece = _Piece(units, bias, dropout, seed, first, count, p if p.numel() else None)
            pulls = torch.empty(piece.p.shape)
            team.each(piece.shares, partial(work, piece, pulls), units.floats(steep=True))
            if dbias is not None:
                total = pulls.sum(0, keepdim=True) if dbias.shape[0] == 1 else pulls
                if dbias.shape[1] == 1:
                    dbias += total.sum(1, keepdim=True)
                else:
                    dbias[:, first : first + count] = total
        factor = w.float() * (1 if units.near else 4)
        return (
            dq.mul_(factor).to(q.dtype),
            added(dks).mul_(factor).to(k.dtype),
            added(dvs).to(v.dtype),
            (added(list(dw)) * units.step).to(w.dtype),
            None if bias is None or dbias is None else dbias.to(bias.dtype),
        )


def weights(q: Tensor, k: Tensor, w: Tensor, bias: Tensor | None, spec: MaskSpec) -> Tensor:
    """The weights themselves, float32 [batch, query, key]."""
    if not q.numel():
        return torch.empty(*q.shape[:2], k.shape[1])
    with Team() as team:
        units = _Units(q.float(), k.float(), w.float(), spec, team.room)
        piece = _Piece(units, bias, 0.0, None, 0, units.queries)
        team.each(piece.shares, piece.fill_weights, units.floats())
    return piece.p
