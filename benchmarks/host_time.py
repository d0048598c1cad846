"""What bounds a short call of attention, the host or the GPU, and where the host's time goes.

    python benchmarks/host_time.py            # on a GPU, half a minute; keeps nothing

Microseconds a call without gradients: `queued` is what the host takes to hand its work over and go on, `awaited` the
same with a wait for the last of many calls, `device` the GPU's own work, replayed as a graph. Where queued is about
awaited and more than device, the host is the bound. Its parts: Triton's launches, by leaving them out; PyTorch's own
calls, by their number and what one takes alone; the rest is Python between them.
"""

import time
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import torch
from gauge import on_device

from regard.kernels.additive import additive_attention
from regard.kernels.feature import feature_attention

SHAPES: dict[str, tuple[Any, ...]] = {  # both have a goal for their forward pass
    "feature-wise B64 T64 D320 bfloat16": (feature_attention, 64, 64, 320, False),
    "additive B32 T128 A512 bfloat16": (additive_attention, 32, 128, 512, True),
}
CALLS = 50  # at a time: more launches than a GPU's queue holds would make the host wait


def each(call: Callable[[], Any], wait: bool = False) -> float:
    """Microseconds a call, the best of some rounds: whatever else the machine does only adds to them."""
    rounds = []
    for _ in range(20):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(CALLS):
            call()
        if wait:
            torch.cuda.synchronize()
        rounds.append(time.perf_counter() - start)
    return min(rounds) / CALLS * 1e6


def count(owner: Any, name: str, call: Callable[[], Any]) -> int:
    """How often one call calls `owner.name`."""
    with patch.object(owner, name, autospec=True, side_effect=getattr(owner, name)) as calls:
        call()
    return int(calls.call_count)


@torch.no_grad()
def measured(title: str, attend: Callable[..., Any], batch: int, length: int, width: int, normalized: bool) -> str:
    from regard.kernels.launch_triton import Launch  # late: without a GPU there may be no Triton

    q, k, v = (torch.randn(batch, length, width, dtype=torch.bfloat16, device="cuda") for _ in range(3))
    given = (q, k, v, torch.randn(width, device="cuda") * width**-0.5) if normalized else (q, k, v)
    call = lambda: attend(*given)  # noqa: E731
    queued, awaited, device = each(call), each(call, wait=True), on_device(call)
    launches = count(Launch, "__call__", call)
    with patch.object(Launch, "__call__", lambda *tensors: None):
        without = each(call)
    square = torch.empty(batch, length, length, dtype=torch.bfloat16, device="cuda")
    alone = {"empty": lambda: torch.empty(batch, length, width, device="cuda"),
             "empty_like": lambda: torch.empty_like(q), "bmm": lambda: torch.bmm(square, v)}  # fmt: skip
    lines, rest = [], without
    for name, one in alone.items():
        calls = count(torch, name, call)
        took = each(one) * calls
        rest -= took
        lines.append(f"    {calls} × torch.{name} {took:.1f}")
    head = f"{title}: queued {queued:.1f} µs, awaited {awaited:.1f}, device {(device or float('nan')) * 1000:.1f}"
    ours = f"    {launches} × Triton {queued - without:.1f}"
    return "\n".join([head, ours, *lines, f"    Python between them {rest:.1f}"])


if __name__ == "__main__":
    if not torch.cuda.is_available():
        raise SystemExit("host_time.py needs a GPU: it tells the host's time from the GPU's")
    for title, shape in SHAPES.items():
        print(measured(title, *shape), flush=True)
