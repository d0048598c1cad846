"""Selected rows on a GPU: found, gathered side by side, and put back. One launch each.

    chosen = places(mask, room)                     # mask [side, batch, time]; index, place and count of every side
    few_q, few_k = gathered((q, k), (0, 1), chosen)  # [batch, room, width]: rows of side 0 of q, of side 1 of k
    (back,) = returned((answer,), (0,), chosen)      # [batch, time, width], zeros where nothing was chosen

`regard.kernels.selected` is the way in.
"""

from functools import lru_cache
from typing import Any, no_type_check

import torch
import triton  # type: ignore[import-untyped, unused-ignore]
import triton.language as tl  # type: ignore[import-untyped, unused-ignore]
from torch import Tensor

from regard.kernels.launch_triton import Launch

__all__ = ["gathered", "places", "returned"]

SPAN = tl.constexpr(256)  # tokens counted together


@triton.jit(do_not_specialize=["time", "room"])
@no_type_check
def places_kernel(mask, index, place, count, time, room):
    """For one row of the mask: `index[c]` is where the chosen row c stands, `place[t]` which one row t is; -1: none."""
    row = tl.program_id(0).to(tl.int64)
    before = 0
    for start in range(0, time, SPAN):
        t = start + tl.arange(0, SPAN)
        chosen = tl.load(mask + row * time + t, mask=t < time, other=0).to(tl.int32)
        c = before + tl.cumsum(chosen, 0) - chosen
        here = (chosen != 0) & (c < room)
        tl.store(index + row * room + c, t, mask=here)
        tl.store(place + row * time + t, tl.where(here, c, -1), mask=t < time)
        before += tl.sum(chosen, 0)
    before = tl.minimum(before, room)
    tl.store(count + row, before)
    for start in range(before, room, SPAN):
        c = start + tl.arange(0, SPAN)
        tl.store(index + row * room + c, c * 0 - 1, mask=c < room)


@triton.jit
@no_type_check
def move(source, out, where, side, b, i, batch, own, other, width, W: tl.constexpr):
    """Row i of `out` (of `own` rows) is the row of `source` (of `other` rows) that `where` names; zeros for -1."""
    j = tl.load(where + (side * batch + b) * own + i)
    from_row = source + (b * other + tl.maximum(j, 0)) * width
    for start in range(0, width, W):
        f = start + tl.arange(0, W)
        x = tl.load(from_row + f, mask=(f < width) & (f * 0 + j >= 0), other=0.0)
        tl.store(out + (b * own + i) * width + f, x, mask=f < width)


@triton.jit(do_not_specialize=["batch", "own", "other"])
@no_type_check
def move_kernel(
    a, b, c, to_a, to_b, to_c, where, batch, own, other, a_width, b_width, c_width, a_side, b_side, c_side,
    W: tl.constexpr,
):  # fmt: skip
    """Rows of up to three tensors, each by its own side of `where`."""
    i, row, which = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64), tl.program_id(2)
    if which == 0:
        move(a, to_a, where, a_side, row, i, batch, own, other, a_width, W)
    elif which == 1:
        move(b, to_b, where, b_side, row, i, batch, own, other, b_width, W)
    else:
        move(c, to_c, where, c_side, row, i, batch, own, other, c_width, W)


@lru_cache(maxsize=4096)
def _places_plan(rows: int, time: int, room: int, device: torch.device) -> Launch:
    return Launch(places_kernel, (rows,), (time, room), (), warps=2)


@lru_cache(maxsize=4096)
def _move_plan(batch: int, own: int, other: int, widths: tuple[int, ...], sides: tuple[int, ...], *kind: Any) -> Launch:
    count = len(widths)
    filled, told = (*widths, *widths[:1] * 2)[:3], (*sides, 0, 0)[:3]
    most = 128 if max(widths) <= 128 else 256 if max(widths) <= 256 else 512
    return Launch(move_kernel, (own, batch, count), (batch, own, other, *filled, *told), (most,), warps=2)


def places(mask: Tensor, room: int) -> tuple[Tensor, Tensor, Tensor]:
    """`index` [side, batch, room], `place` [side, batch, time], `count` [side, batch]; rows beyond the room are left
    out, and `index` is -1 beyond the count."""
    sides, batch, time = mask.shape
    index = torch.empty(sides, batch, room, dtype=torch.int32, device=mask.device)
    place = torch.empty(sides, batch, time, dtype=torch.int32, device=mask.device)
    count = torch.empty(sides, batch, dtype=torch.int32, device=mask.device)
    _places_plan(sides * batch, time, room, mask.device)(mask.contiguous().view(torch.uint8), index, place, count)
    return index, place, count


def gathered(
    tensors: tuple[Tensor, ...], sides: tuple[int, ...], chosen: tuple[Tensor, Tensor, Tensor]
) -> tuple[Tensor, ...]:
    """The chosen rows of up to three tensors [batch, time, width], side by side; zeros beyond the count."""
    return _moved(tensors, sides, chosen[0])


def returned(
    tensors: tuple[Tensor, ...], sides: tuple[int, ...], chosen: tuple[Tensor, Tensor, Tensor]
) -> tuple[Tensor, ...]:
    """Rows [batch, room, width] back where they stood, zeros elsewhere."""
    return _moved(tensors, sides, chosen[1])


def _moved(tensors: tuple[Tensor, ...], sides: tuple[int, ...], where: Tensor) -> tuple[Tensor, ...]:
    tensors = tuple(tensor.contiguous() for tensor in tensors)
    batch, other, _ = tensors[0].shape
    own = where.shape[2]
    out = tuple(torch.empty(batch, own, t.shape[2], dtype=t.dtype, device=t.device) for t in tensors)
    kind = (tensors[0].device, *(t.dtype for t in tensors))
    plan = _move_plan(batch, own, other, tuple(t.shape[2] for t in tensors), sides, *kind)
    spare = 3 - len(tensors)  # the kernel takes three; one that is not there is never asked for
    plan(*tensors, *tensors[:1] * spare, *out, *out[:1] * spare, where)
    return out
