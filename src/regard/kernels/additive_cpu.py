"""Additive attention on a CPU: `e_qk = Σ_f w_f tanh(q_f + k_f)` in blocks that stay in the cache.

A vector tanh is dear; with X = e^{2q} and Y = e^{2k}, made once a row, `-tanh(q + k)/2 = h = 1/(1 + X·Y) - 1/2` is a
multiply-add, a reciprocal and a subtraction. A block of about `BLOCK` pairs × features is filled in one buffer,
used and overwritten, in the forward pass and again in the backward one (`dh/dq = -2(1/4 - h²)`), so that nothing of
size query × key × feature is ever stored. Where |q| + |k| could leave the range of the product, the tanh is taken.
Half precision is computed in float32.

    answer, weights = forward(q, k, v, w, None, Sight(pattern="causal"), 0.0, None)
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from regard.kernels.mask import Sight

__all__ = ["CHUNK", "backward", "forward", "pieces", "weights", "whole"]

BLOCK = 2**20  # numbers in the buffer: 4 MB. Smaller ones cost more in starting the cores than the cache gives back
CHUNK = 2**26  # energies held at once; beyond it the queries are taken in pieces
BOUND = 42.0  # |q| + |k|: 1 + e^{2·42} is finite
NEAR = 1.5  # below it tanh is about its argument, and h has fewer digits than that

Span = tuple[slice, slice, slice]


def _blocks(batch: int, first: int, count: int, queries: int, keys: int, width: int, sight: Sight) -> Iterator[Span]:
    """Blocks (batch rows, queries, keys) that cover whatever may be visible of `count` queries from `first` on."""
    low, high, _ = sight.diagonal(queries, keys)
    near = sight.key_positions is None
    key_ends = [keys] * batch if sight.lengths is None else sight.lengths.clamp(0, keys).tolist()
    query_ends = [queries] * batch if sight.query_lengths is None else sight.query_lengths.clamp(0, queries).tolist()
    width = max(width, 1)
    row = max(min(keys, BLOCK // width), 1)  # keys a block
    tall = max(min(count, BLOCK // (row * width)), 1)  # queries a block
    deep = max(BLOCK // (count * keys * width), 1) if tall == count and row == keys else 1
    for b in range(0, batch, deep):
        rows = slice(b, min(b + deep, batch))
        last = min(first + count, max(query_ends[rows]))
        for q in range(first, last, tall):
            end = min(q + tall, last)
            start, stop = 0, max(key_ends[rows])
            if near:
                start, stop = max(start, q + low), min(stop, end + high)
            for k in range(start, stop, row):
                yield rows, slice(q, end), slice(k, min(k + row, stop))


class _Halves:
    """`h = -tanh(q + k)/2` of any block, in one buffer."""

    def __init__(self, q: Tensor, k: Tensor) -> None:
        self.product = q.numel() > 0 and NEAR <= float(q.abs().amax() + k.abs().amax()) <= BOUND  # not for a NaN
        self.q, self.k = ((2 * q).exp_(), (2 * k).exp_()) if self.product else (q, k)
        self.one = torch.ones(())
        self.buffer = torch.empty(0)

    def __call__(self, span: Span) -> Tensor:
        rows, queries, keys = span
        x, y = self.q[rows, queries, None], self.k[rows, None, keys]
        shape = (*x.shape[:2], y.shape[2], x.shape[3])
        size = x.shape[0] * x.shape[1] * y.shape[2] * x.shape[3]
        if self.buffer.numel() < size:
            self.buffer = torch.empty(size)
        h = self.buffer[:size].view(shape)
        if self.product:
            return torch.addcmul(self.one, x, y, out=h).reciprocal_().sub_(0.5)
        return torch.add(x, y, out=h).tanh_().mul_(-0.5)


def _softmax(
    halves: _Halves, w: Tensor, bias: Tensor | None, sight: Sight, first: int, count: int, queries: int
) -> Tensor:
    """The weights of `count` queries from `first` on; zeros where nothing is visible."""
    batch, keys, width = halves.k.shape
    energies = torch.full((batch, count, keys), float("-inf"))
    factor = -2 * w
    for span in _blocks(batch, first, count, queries, keys, width, sight):
        rows, here, columns = span
        energies[rows, here.start - first : here.stop - first, columns] = halves(span) @ factor
    if bias is not None:
        energies += bias[:, first : first + count] if bias.shape[1] > 1 else bias
    hidden = None
    if not sight.everything:
        hidden = ~sight.dense(batch, queries, keys, rows=torch.arange(first, first + count))
        energies.masked_fill_(hidden, float("-inf"))
    top = energies.amax(-1, keepdim=True)
    energies.sub_(top.masked_fill_(top == float("-inf"), 0.0)).exp_()
    total = energies.sum(-1, keepdim=True)
    energies.div_(total.masked_fill_(total == 0, 1.0))
    return energies if hidden is None else energies.masked_fill_(hidden, 0.0)


def _kept(p: Tensor, dropout: float, seed: Tensor | None, first: int) -> Tensor | None:
    """What dropout multiplies the weights by: the same again for the same seed."""
    if dropout == 0 or seed is None:
        return None
    generator = torch.Generator().manual_seed((int(seed) + first) % 2**62)
    return (torch.rand(p.shape, generator=generator) >= dropout).float().div_(1 - dropout)


def whole(batch: int | torch.SymInt, queries: int | torch.SymInt, keys: int | torch.SymInt) -> bool:
    """Whether the weights of all queries are held at once, and kept for the backward pass."""
    return bool(batch * queries * keys <= CHUNK)


def pieces(batch: int, queries: int, keys: int, step: int = 1) -> list[tuple[int, int]]:
    """(first, count) of the pieces the queries are taken in, each a multiple of `step` but for the last."""
    most = queries if whole(batch, queries, keys) else max(CHUNK // (batch * keys) // step * step, step)
    return [(first, min(most, queries - first)) for first in range(0, queries, most)]


def forward(
    q: Tensor, k: Tensor, v: Tensor, w: Tensor, bias: Tensor | None, sight: Sight, dropout: float, seed: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The answers [batch, query, value], and the weights for `backward` (none where the queries went in pieces)."""
    (batch, queries, _), keys = q.shape, k.shape[1]
    halves, values = _Halves(q.float(), k.float()), v.float()
    answers = []
    for first, count in pieces(batch, queries, keys):
        p = _softmax(halves, w.float(), bias, sight, first, count, queries)
        keep = _kept(p, dropout, seed, first)
        answers.append(torch.bmm(p if keep is None else p * keep, values))
    return torch.cat(answers, 1).to(v.dtype), p if whole(batch, queries, keys) else torch.empty(0)


def backward(
    grad: Tensor, q: Tensor, k: Tensor, v: Tensor, w: Tensor, bias: Tensor | None, sight: Sight, dropout: float,
    seed: Tensor | None, p: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor | None]:  # fmt: skip
    """The gradients of q, k, v, w and, where there is one, of the bias; `p` as `forward` left it."""
    (batch, queries, width), keys = q.shape, k.shape[1]
    halves, values, grad, weight = _Halves(q.float(), k.float()), v.float(), grad.float(), w.float()
    dq, dk, dv = torch.zeros(q.shape), torch.zeros(k.shape), torch.zeros(v.shape)
    dw, quarter = torch.zeros(width), torch.full((), 0.25)
    dbias = None if bias is None else torch.zeros(bias.shape)
    for first, count in pieces(batch, queries, keys):
        rows = slice(first, first + count)
        if not whole(batch, queries, keys):
            p = _softmax(halves, weight, bias, sight, first, count, queries)
        keep = _kept(p, dropout, seed, first)
        dv += torch.bmm((p if keep is None else p * keep).transpose(1, 2), grad[:, rows])
        slopes = torch.bmm(grad[:, rows], values.transpose(1, 2))
        if keep is not None:
            slopes *= keep
        slopes = (slopes - (p * slopes).sum(-1, keepdim=True)).mul_(p)
        if not sight.everything:  # not even in a row whose sum is no number
            slopes.masked_fill_(p == 0, 0.0)
        if dbias is not None:
            total = slopes.sum(0, keepdim=True) if dbias.shape[0] == 1 else slopes
            if dbias.shape[1] == 1:
                dbias += total.sum(1, keepdim=True)
            else:
                dbias[:, rows] = total
        for span in _blocks(batch, first, count, queries, keys, width, sight):
            some, here, columns = span
            slope = slopes[some, here.start - first : here.stop - first, columns]
            h = halves(span)
            dw -= 2 * (slope.reshape(-1) @ h.view(-1, width))
            torch.addcmul(quarter, h, h, value=-1, out=h).mul_(slope.unsqueeze(-1))
            dq[some, here] += h.sum(2)
            dk[some, columns] += h.sum(1)
    dq *= 4 * weight
    dk *= 4 * weight
    return (
        dq.to(q.dtype),
        dk.to(k.dtype),
        dv.to(v.dtype),
        dw.to(w.dtype),
        None if bias is None or dbias is None else dbias.to(bias.dtype),
    )


def weights(q: Tensor, k: Tensor, w: Tensor, bias: Tensor | None, sight: Sight) -> Tensor:
    """The weights themselves, float32 [batch, query, key]."""
    return _softmax(_Halves(q.float(), k.float()), w.float(), bias, sight, 0, q.shape[1], q.shape[1])
