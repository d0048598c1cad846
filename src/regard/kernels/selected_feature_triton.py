"""Feature-wise attention among chosen tokens on a GPU: the walks of `feature_keys_triton.py` and
`feature_queries_triton.py` with their own rows found through a list, three launches for an answer, five for gradients.

Launches are few and tensors fewer, since at this size the host takes longer than the device:

    listed      int32: how many queries, how many keys are chosen (each [batch]), their rows (each [batch, room]) and,
                where a caller gives positions, those of the rows (each [batch, room]). Nothing stands beyond a count.
    workspace   float32 planes [batch, room, feature]: e^{2k/c}, k and v of the chosen side by side; their largest
                magnitudes [batch, parts, feature]; for gradients two more planes, g and D (see `pull_kernel`).
    kept        float32 planes [batch, room, feature] for a backward pass: sums of the weights, exact answers.

Rows nobody chose are zeros, which the first launch of either pass writes beside its own work.
`regard.kernels.selected` is the way in.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, no_type_check

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.errors import RegardError
from regard.kernels.feature_keys_triton import walk_keys_kernel
from regard.kernels.feature_queries_triton import walk_queries_kernel
from regard.kernels.feature_score_triton import grown
from regard.kernels.feature_triton import ROOM, TILES, WIDE, numbers, tile
from regard.kernels.feature_walk_triton import PART, listed
from regard.kernels.launch_triton import Launch, blocks
from regard.kernels.mask import MaskSpec

__all__ = ["selected_feature"]

SPAN = tl.constexpr(512)  # tokens counted together


@triton.jit
@no_type_check
def cleared(ptr, first, end, F, BF: tl.constexpr):
    """Zeros in PART rows of [row, feature] from `first` on, up to the `end`."""
    i = first + tl.arange(0, PART)
    for start in range(0, F, BF):
        f = start + tl.arange(0, BF)
        nothing = tl.zeros([PART, BF], tl.float32).to(ptr.dtype.element_ty)
        tl.store(ptr + i[:, None] * F + f[None, :], nothing, mask=(i < end)[:, None] & (f < F)[None, :])


@triton.jit(do_not_specialize=["batch", "time", "room"])
@no_type_check
def list_kernel(
    asks_ptr, seen_ptr, positions_ptr, list_ptr, out_ptr, batch, time, room, F, PLACES: tl.constexpr, BF: tl.constexpr
):
    """The list of one sentence's chosen queries or keys, or (programs beyond those) zeros in PART rows of `out`."""
    pid = tl.program_id(0)
    if pid < 2 * batch:
        chosen_ptr, side = asks_ptr, pid // batch
        if side == 1:
            chosen_ptr = seen_ptr
        b = (pid % batch).to(tl.int64)
        wide = batch + b * 0
        _, rows_ptr, _, at_ptr, _ = listed(list_ptr, wide, room, PLACES)
        skip = (side * wide + b) * room
        before = 0
        for start in range(0, time, SPAN):
            t = start + tl.arange(0, SPAN)
            chosen = tl.load(chosen_ptr + b * time + t, mask=t < time, other=0).to(tl.int32)
            c = before + tl.cumsum(chosen, 0) - chosen
            here = (chosen != 0) & (c < room)
            tl.store(rows_ptr + skip + c, t, mask=here)
            if PLACES:
                p = tl.load(positions_ptr + b * time + t, mask=here, other=0).to(tl.int32)
                tl.store(at_ptr + skip + c, p, mask=here)
            before += tl.sum(chosen, 0)
        tl.store(list_ptr + pid, tl.minimum(before, room))
    else:
        first = (pid - 2 * batch).to(tl.int64) * PART
        cleared(out_ptr, first, first * 0 + batch * time, F, BF)


@triton.jit(do_not_specialize=["room", "time"])
@no_type_check
def fetch_kernel(x_ptr, v_ptr, work_ptr, list_ptr, room, time, F, step, step_low, KEYS: tl.constexpr, BF: tl.constexpr):
    """e^{2x/c} of PART chosen rows, the rows themselves, those of `v` beside them (KEYS), and the largest sizes."""
    part, block, b = tl.program_id(0), tl.program_id(1), tl.program_id(2).to(tl.int64)
    batch = tl.num_programs(2) + b * 0
    plane = batch * room * F
    lengths_ptr, q_rows, rows_ptr, _, _ = listed(list_ptr, batch, room, False)
    if not KEYS:
        lengths_ptr = list_ptr
        rows_ptr = q_rows
    n = tl.load(lengths_ptr + b)
    i = part * PART + tl.arange(0, PART)
    f = block * BF + tl.arange(0, BF)
    if part * PART < n:
        j = tl.load(rows_ptr + b * room + i, mask=i < n, other=0)
        there = (i < n)[:, None] & (f < F)[None, :]
        own = b * time * F + j[:, None] * F + f[None, :]
        to = work_ptr + b * room * F + i[:, None] * F + f[None, :]
        x = tl.load(x_ptr + own, mask=there, other=0.0).to(tl.float32)
        if KEYS:
            v = tl.load(v_ptr + own, mask=there, other=0.0).to(tl.float32)
            tl.store(to + 2 * plane, v, mask=there)
        tl.store(to, grown(x, step, step_low), mask=there)
        tl.store(to + plane, x, mask=there)
        most = work_ptr + 3 * plane + (b * tl.num_programs(0) + part) * F + f
        tl.store(most, tl.max(tl.abs(x), 0), mask=f < F)


@triton.jit(do_not_specialize=["room", "time", "parts"])
@no_type_check
def pull_kernel(
    grad_ptr, kept_ptr, work_ptr, list_ptr, out_ptr, room, time, F, parts, keep_scale, BF: tl.constexpr
):  # fmt: skip
    """`g = dO/den` and `D = g·O` of PART chosen queries, or (programs beyond those) zeros in the three gradients."""
    part, block, b = tl.program_id(0), tl.program_id(1), tl.program_id(2).to(tl.int64)
    batch = tl.num_programs(2) + b * 0
    plane = batch * room * F
    f = block * BF + tl.arange(0, BF)
    if part < parts:
        n = tl.load(list_ptr + b)
        i = part * PART + tl.arange(0, PART)
        if part * PART < n:
            _, rows_ptr, _, _, _ = listed(list_ptr, batch, room, False)
            j = tl.load(rows_ptr + b * room + i, mask=i < n, other=0)
            there = (i < n)[:, None] & (f < F)[None, :]
            own = b * time * F + j[:, None] * F + f[None, :]
            at = b * room * F + i[:, None] * F + f[None, :]
            den = tl.load(kept_ptr + at, mask=there, other=1.0)
            grad = tl.load(grad_ptr + own, mask=there, other=0.0).to(tl.float32)
            g = tl.where(den == 0.0, 0.0, tl.div_rn(grad, tl.where(den == 0.0, 1.0, den)))  # 0: it saw nothing
            D = g * tl.load(kept_ptr + plane + at, mask=there, other=0.0)
            to = work_ptr + 3 * plane + batch * parts * F + at
            tl.store(to, g * keep_scale, mask=there)
            tl.store(to + plane, D, mask=there)
    else:
        i = (part - parts) * PART + tl.arange(0, PART)
        nothing = tl.zeros([PART, BF], tl.float32).to(out_ptr.dtype.element_ty)
        to = out_ptr + b * 3 * time * F + i[:, None] * F + f[None, :]
        tl.store(to, nothing, mask=(i < 3 * time)[:, None] & (f < F)[None, :])


@dataclass(frozen=True)
class _SelectedPlan:
    """Every launch of one kind of call, and how many numbers its tensors hold."""

    listing: Launch
    fetch_keys: Launch
    fetch_queries: Launch
    answer: Launch
    alone: Launch  # without what a backward pass needs
    pull: Launch
    query_gradient: Launch
    key_gradient: Launch
    placed: bool  # positions are the caller's
    list_size: int
    work_size: int
    plane: int


@lru_cache(maxsize=4096)
def _plan(
    shape: tuple[int, int, int], room: int, scale: float, dropout: float, pattern: str, band: int, placed: bool,
    exact: bool, tiles: Any, *kind: Any,
) -> _SelectedPlan:  # fmt: skip
    """`kind` are the device and the types of the tensors."""
    if not 0 <= dropout < 1:
        raise RegardError(f"dropout: got {dropout}", expected="0 or more and less than 1")
    low, high, skip = MaskSpec(pattern=pattern, band=band).diagonal(room, room)
    batch, time, features = shape
    *growth, decay, threshold, keep_scale = numbers(scale, dropout)
    ranged = pattern != "none" or band >= 0
    parts, across, plane = blocks(room, PART.value), blocks(features, WIDE), batch * room * features
    sizes = (room, time, features)

    def fetch(keys: bool) -> Launch:
        return Launch(fetch_kernel, (parts, across, batch), (*sizes, *growth), (keys, WIDE))

    def walk(kernel: Any, name: str, *switch: bool) -> Launch:
        height, width, warps = tile(name, features)
        last = (keep_scale,) if kernel is walk_keys_kernel else ()
        told = (room, room, features, parts, *growth, decay, ROOM, low, high, skip, threshold, *last, *[0] * 6, time)
        constants = (
            *switch, exact, features % width == 0, ranged, True, True, ranged, False, False, dropout > 0, True, placed,
            height, width,
        )  # fmt: skip
        return Launch(kernel, (blocks(room, height) * blocks(features, width) * batch,), told, constants, warps)

    return _SelectedPlan(
        Launch(list_kernel, (2 * batch + blocks(batch * time, PART.value),), (batch, time, room, features),
               (placed, 256)),
        fetch(True),
        fetch(False),
        walk(walk_keys_kernel, "answer", False, True),
        walk(walk_keys_kernel, "answer", False, False),
        Launch(pull_kernel, (parts + blocks(3 * time, PART.value), across, batch), (*sizes, parts, keep_scale),
               (WIDE,)),
        walk(walk_keys_kernel, "query_gradient", True, False),
        walk(walk_queries_kernel, "key_gradient"),
        placed,
        2 * batch + (4 if placed else 2) * batch * room,
        3 * plane + batch * parts * features,
        plane,
    )  # fmt: skip


def _forward(
    plan: _SelectedPlan, q: Tensor, k: Tensor, v: Tensor, asks: Tensor, seen: Tensor, positions: Tensor | None,
    seed: Tensor | None, *, keep: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """The answer, the list and what is kept for the backward pass (anything, where nothing is)."""
    device = q.device
    chosen = torch.empty(plan.list_size, dtype=torch.int32, device=device)
    work = torch.empty(plan.work_size, dtype=torch.float32, device=device)
    answer = torch.empty_like(q)
    drawn = q if seed is None else seed
    plan.listing(asks, seen, q if positions is None else positions, chosen, answer)
    plan.fetch_keys(k, v, work, chosen)
    if keep:
        kept = torch.empty(2 * plan.plane, dtype=torch.float32, device=device)
        plan.answer(q, q, q, work, q, q, q, kept, answer, q, chosen, q, q, q, q, q, drawn)
        return answer, chosen, kept
    plan.alone(q, q, q, work, q, q, q, q, answer, q, chosen, q, q, q, q, q, drawn)
    return answer, chosen, work


def _backward(
    plan: _SelectedPlan,
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    chosen: Tensor,
    kept: Tensor,
    seed: Tensor | None,
) -> tuple[Tensor, ...]:
    """Gradients of q, k and v."""
    device = q.device
    work = torch.empty(plan.work_size + 2 * plan.plane, dtype=torch.float32, device=device)
    grads = torch.empty((3, *q.shape), dtype=q.dtype, device=device)
    dq, dk, dv = grads.unbind()
    drawn = q if seed is None else seed
    plan.pull(grad, kept, work, chosen, grads)
    plan.fetch_keys(k, v, work, chosen)
    plan.query_gradient(q, q, q, work, q, q, q, q, dq, q, chosen, q, q, q, q, q, drawn)
    plan.fetch_queries(q, q, work, chosen)
    plan.key_gradient(q, k, v, work, q, q, q, dk, dv, chosen, q, q, q, q, q, drawn)
    return dq, dk, dv


class _Selected(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, plan: _SelectedPlan, *rest: Any) -> Tensor:
        answer, chosen, kept = _forward(plan, q, k, v, *rest, keep=True)
        ctx.save_for_backward(q, k, v, chosen, kept, rest[-1])
        ctx.plan = plan
        return answer

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, chosen, kept, seed = ctx.saved_tensors
        none = (None,) * 5
        return (*_backward(ctx.plan, grad.contiguous(), q, k, v, chosen, kept, seed), *none)


def selected_feature(
    q: Tensor, k: Tensor, v: Tensor, asks: Tensor, seen: Tensor, scale: float, pattern: str, band: int, dropout: float,
    positions: Tensor | None, capacity: int | None,
) -> Tensor:  # fmt: skip
    """The answers of q, k, v [batch, time, feature], all of one type; `asks` and `seen` [batch, time] are bool."""
    q, k, v, asks, seen = q.contiguous(), k.contiguous(), v.contiguous(), asks.contiguous(), seen.contiguous()
    shape, dtype = q.shape, q.dtype
    room = shape[1] if capacity is None else max(1, min(capacity, shape[1]))
    if positions is not None:
        positions = positions.contiguous() if pattern != "none" or band >= 0 else None
    plan = _plan(
        shape, room, scale, dropout, pattern, band, positions is not None, dtype == torch.float32,
        tuple(TILES.values()), q.device, dtype, None if positions is None else positions.dtype,
    )  # fmt: skip
    seed = torch.randint(2**31 - 1, (1,), device=q.device) if dropout > 0 else None
    if torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad):
        return _Selected.apply(q, k, v, plan, asks, seen, positions, seed)  # type: ignore[no-untyped-call, no-any-return]
    return _forward(plan, q, k, v, asks, seen, positions, seed, keep=False)[0]
