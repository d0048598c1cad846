"""The instruments of the benchmarks: time, peak memory, and how fast this machine does nothing but tanh.

    times({"ours": f, "theirs": g}, device, 0.2)      # {"ours": 0.51, "theirs": 2.14}: medians in milliseconds
    peak(f, device)                                   # MiB that PyTorch's allocator held beyond what it began with
    floor(device)                                     # {"tanh": 4.2e12, "tanh_exp": 2.1e12}: elements a second

Time on a GPU is taken between events with the L2 cache emptied before each call, on a CPU by the clock, the
functions turn and turn about, so that whatever else the machine does falls on all of them. Memory means the same on
both: what the allocator handed out at the worst moment, answers and gradients included, inputs not.
"""

import os
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any, no_type_check

os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # the profiler, which counts memory on a CPU, tells of every start

import torch
from torch.profiler import ProfilerActivity, profile

try:
    import triton
    import triton.language as tl
    from triton.testing import do_bench, do_bench_cudagraph
except ImportError:  # a CPU alone needs none of it
    triton = None

Work = Callable[[], Any]


def times(works: Mapping[str, Work], device: torch.device, seconds: float) -> dict[str, float]:
    """The median milliseconds of each, over about `seconds` for each and at least three calls on a CPU."""
    if device.type == "cuda":
        return {
            name: float(do_bench(work, warmup=20, rep=round(seconds * 1000), return_mode="median"))
            for name, work in works.items()
        }
    rounds: list[dict[str, float]] = []
    began = time.perf_counter()
    while len(rounds) < 3 or time.perf_counter() - began < seconds * len(works):
        one = {}
        for name, work in works.items():
            start = time.perf_counter()
            work()
            one[name] = (time.perf_counter() - start) * 1000
        rounds.append(one)
    return {name: statistics.median(one[name] for one in rounds) for name in works}


def on_device(work: Work) -> float | None:
    """Milliseconds of the GPU's own work, replayed as a graph: what is left when Python costs nothing."""
    try:
        return float(do_bench_cudagraph(work, rep=20, return_mode="median"))
    except Exception as error:  # not everything can be captured; the time as called stands beside it
        print(f"  not captured as a graph: {str(error).splitlines()[0]}", flush=True)
        return None


def peak(work: Work, device: torch.device) -> float:
    """MiB at the worst moment of one call, beyond what was there before."""
    if device.type == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        work()
        torch.cuda.synchronize()
        return (torch.cuda.max_memory_allocated() - before) / 2**20
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        done = work()
    del done
    assert seen.profiler is not None
    events = [event for event in seen.profiler.kineto_results.events() if event.name() == "[memory]"]
    held = worst = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        worst = max(worst, held)
    return worst / 2**20


def room(device: torch.device) -> int:
    """Bytes that may be asked for."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
        return int(torch.cuda.mem_get_info()[0] * 0.9)
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES") // 2


def floor(device: torch.device) -> dict[str, float]:
    """Elements a second of tanh alone, and of tanh and exp, with neither memory nor anything else in the way."""
    if device.type == "cuda":
        try:
            return {"tanh": _spun(exp=False), "tanh_exp": _spun(exp=True)}
        except Exception as error:  # a GPU that has no such instruction: the times still count
            print(f"no floor: {str(error).splitlines()[0]}", flush=True)
            return {}
    block = torch.linspace(-3, 3, 2**18)  # 1 MB: stays in the cache, large enough for every core
    out = torch.empty_like(block)

    def both() -> None:
        torch.exp(torch.tanh(block, out=out), out=out)

    alone = {"tanh": lambda: torch.tanh(block, out=out), "tanh_exp": both}
    taken = [times(alone, device, seconds=0.1) for _ in range(5)]  # the best, since other work only slows it
    return {name: block.numel() / (min(ms[name] for ms in taken) / 1000) for name in alone}


def _spun(exp: bool) -> float:
    block, turns = 1024, 1000
    programs = torch.cuda.get_device_properties().multi_processor_count * 16
    out = torch.empty(programs * block, device="cuda")
    ms = do_bench(lambda: spin[(programs,)](out, turns, EXP=exp, BLOCK=block), return_mode="median")
    return programs * block * turns / (float(ms) / 1000)


if triton is not None:

    @triton.jit
    @no_type_check
    def spin(out, turns, EXP: tl.constexpr, BLOCK: tl.constexpr):
        """Values that stay in registers and go through the GPU's own tanh (and exp) again and again."""
        places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        x = places.to(tl.float32) * 1e-6
        for _ in range(turns):
            x = tl.inline_asm_elementwise("tanh.approx.f32 $0, $1;", "=f,f", [x], tl.float32, is_pure=True, pack=1)
            if EXP:
                x = tl.inline_asm_elementwise("ex2.approx.f32 $0, $1;", "=f,f", [x], tl.float32, is_pure=True, pack=1)
        tl.store(out + places, x)
