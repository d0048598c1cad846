"""Feature-wise and selected attention on a GPU: checks against float64, then times and memory.

    python benchmarks/check_feature.py            # all of it, under two minutes
    python benchmarks/check_feature.py --quick    # checks and the default tiles only

Checks: odd shapes, every mask, three precisions, hostile inputs, gradients, in memory poisoned with NaN beforehand. A
line says `ok` where the error against float64 is at most twice the readable path's in the same precision; the numbers
are those ratios. One draw of a small shape says little, so the errors of `DRAWS` draws of a masked shape are taken
together, which also finds what is worse by little, but always.
Times: medians of `triton.testing.do_bench`, and the peak of memory beyond the inputs. The last lines are the table.
"""

import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any

import torch
import triton
from torch import Tensor

from regard.kernels import feature_triton, selected_feature_triton
from regard.kernels.feature import feature_attention
from regard.kernels.selected import selected_attention

GPU = torch.device("cuda")
DRAWS = 20  # of every masked shape
PATTERNS = ["none", "causal", "forward", "backward", "not_self"]
TUNED = [(16, 64, 4), (32, 64, 4), (64, 64, 4), (16, 128, 4), (32, 128, 4), (64, 128, 8), (32, 32, 2), (16, 64, 2),
         (32, 64, 8), (16, 32, 1), (32, 64, 2)]  # fmt: skip
START = time.time()


def poison() -> None:
    """Leave NaN in the memory that the next empty tensors will get."""
    blocks = [
        torch.full((size,), float("nan"), device=GPU) for size in (2**10, 2**14, 2**18, 2**20, 2**22) for _ in range(4)
    ]
    del blocks


def run(q: Tensor, k: Tensor, v: Tensor, backend: str, dtype: torch.dtype, **options: Any) -> list[Tensor]:
    inputs = [t.detach().to(dtype).requires_grad_() for t in (q, k, v)]
    if "bias" in options:
        options["bias"] = options["bias"].detach().to(dtype).requires_grad_()
        inputs.append(options["bias"])
    torch.manual_seed(7)
    poison()
    answer = feature_attention(*inputs[:3], backend=backend, **options)
    pull = torch.randn(answer.shape, generator=torch.Generator().manual_seed(3)).to(answer)
    poison()
    return [answer, *torch.autograd.grad(answer, inputs, pull)]


Draw = tuple[Tensor, Tensor, Tensor, dict[str, Any]]  # q, k, v and the options


def check(name: str, draws: list[Draw], dtype: torch.dtype) -> str:
    """The error against float64 is at most twice the readable path's, in the answer and in every gradient, of all
    draws together."""
    squares: dict[str, list[float]] = {}  # of the fused path's errors, of the readable path's, of the true numbers
    for *inputs, given in draws:
        options = dict(given)
        q, k, v = (t.to(dtype) for t in inputs)
        if "bias" in options:
            options["bias"] = options["bias"].to(dtype)
        true = run(q, k, v, "reference", torch.float64, **options)
        fused, readable = run(q, k, v, "triton", dtype, **options), run(q, k, v, "reference", dtype, **options)
        names = ("answer", "q", "k", "v", "bias")[: len(true)]
        for part, a, b, c in zip(names, fused, readable, true, strict=True):
            here = [float(t.square().mean()) for t in (a.double() - c, b.double() - c, c)]
            squares[part] = [x + y for x, y in zip(here, squares.get(part, [0.0] * 3), strict=True)]
    good, words = True, []
    for part, sums in squares.items():
        ours, theirs, size = ((total / len(draws)) ** 0.5 for total in sums)
        fine = ours <= 2 * theirs + size * torch.finfo(dtype).eps / 8  # False for a NaN
        good = good and fine
        words.append(f"{part} {ours / max(theirs, 1e-30):.2f}" + ("" if fine else f" ({ours:.1e} > 2·{theirs:.1e})"))
    return f"{'ok  ' if good else 'FAIL'} {str(dtype)[6:]:8} {name}: {', '.join(words)}"


def masked(number: int) -> list[str]:
    """One combination of masks at three odd shapes, each drawn several times."""
    dtype = (torch.float32, torch.bfloat16, torch.float16)[number % 3]
    told = []
    for trial in range(3):
        torch.manual_seed(10 * number + trial)
        batch, queries, keys = (int(torch.randint(1, most, (1,))) for most in (4, 150, 150))
        width = (1, 37, 131)[trial] if number % 2 else (16, 80, 144)[trial]
        draws = []
        for one in range(DRAWS):
            torch.manual_seed(1000 * one + 10 * number + trial)
            draws.append(drawn(number, trial, batch, queries, keys, width))
        options = draws[0][3]
        name = f"{batch}x{queries}x{keys}x{width} {' '.join(sorted(options))} {options['pattern']}"
        told.append(check(name, draws, dtype))
    return told


def drawn(number: int, trial: int, batch: int, queries: int, keys: int, width: int) -> Draw:
    """The kinds of masks are the number's, what they hold is new each time."""
    options: dict[str, Any] = {"pattern": PATTERNS[number % 5], "band": 20 if number % 4 == 3 else -1}
    if number & 1:
        options["lengths"] = torch.randint(0, keys + 1, (batch,), device=GPU)
    if number & 2:
        options["query_lengths"] = torch.randint(0, queries + 1, (batch,), device=GPU)
    if number % 3 == 1:
        options["mask"] = torch.rand((batch, queries, keys) if trial else (1, keys), device=GPU) < 0.6
    if number & 4:
        bias = 3 * torch.randn(batch, queries, keys, device=GPU)
        options["bias"] = bias.masked_fill(torch.rand_like(bias) < 0.2, float("-inf"))
    if number % 5 in (2, 4):
        places = (torch.randint(0, 200, (batch, n), device=GPU).sort(-1).values for n in (queries, keys))
        options["positions"] = tuple(places)
    if number % 4 == 1:
        options["dropout"] = 0.3
    size = (1.0, 1.0, 40.0)[trial]
    q, k, v = (torch.randn(batch, n, width, device=GPU) for n in (queries, keys, keys))
    return size * q, size * k, v, options


def hostile(number: int) -> list[str]:
    dtype = (torch.float32, torch.bfloat16, torch.float16)[number]
    told = []
    for name in ("plain", "huge", "one huge", "edge", "cancelling", "cancelling far out", "below", "above"):
        torch.manual_seed(1)
        q, k, v = (torch.randn(2, n, 80, device=GPU) for n in (65, 129, 129))
        if name == "huge":
            q, k = 1e4 * q, 1e4 * k
        elif name == "one huge":
            k[0, 3, 5] = 3e3
        elif name == "edge":
            q, k = 26 * q, 26 * k
        elif name.startswith("cancelling"):
            middle = (30 if name == "cancelling" else 1e4) * torch.randn(2, 1, 80, device=GPU)
            q, k = middle.expand_as(q) + 0, k - middle
        elif name in ("below", "above"):
            q = q + (30 if name == "above" else -30)
        told.append(check(f"hostile, {name}", [(q, k, v, {})], dtype))
    return told


def nan(_: int) -> list[str]:
    """Hidden ones go nowhere, visible ones where they go in the readable path."""
    q, k, v = (torch.randn(2, 70, 40, device=GPU) for _ in range(3))
    k[:, 50:], v[:, 50:], q[:, 60:] = float("nan"), float("nan"), float("nan")
    ends = {"lengths": torch.tensor([50, 33], device=GPU), "query_lengths": torch.tensor([60, 60], device=GPU)}
    clean = all(t.isfinite().all() for t in run(q, k, v, "triton", torch.float32, pattern="not_self", **ends))
    q, k, v = (torch.randn(1, 70, 40, device=GPU) for _ in range(3))
    q[0, 5, 3], k[0, 9, 4], v[0, 11, 5] = float("nan"), float("nan"), float("nan")
    got = run(q, k, v, "triton", torch.float32, pattern="causal")[0]
    same = torch.equal(got.isnan(), run(q, k, v, "reference", torch.float64, pattern="causal")[0].isnan())
    return [f"{'ok  ' if clean else 'FAIL'} hidden NaN", f"{'ok  ' if same else 'FAIL'} visible NaN"]


def chosen_tokens(number: int) -> list[str]:
    """The same as the dense kernel under the same choice: with and without positions and a bound, in two precisions,
    with NaN wherever nothing was chosen."""
    pattern, told = PATTERNS[number], []
    for trial in range(4):
        torch.manual_seed(10 * number + trial)
        dtype, capacity = (torch.float32, torch.bfloat16)[trial // 2], (80, None)[trial % 2]
        shape = (3, 90, 50) if trial % 2 else (2, 530, 64)
        asking, seen = (torch.rand(shape[:2], device=GPU) < 0.4 for _ in range(2))
        capacity = None if capacity is None else max(capacity, int(asking.sum(1).max()), int(seen.sum(1).max()))
        q, k, v = (torch.randn(shape, device=GPU).to(dtype) for _ in range(3))
        if trial == 3:
            q, k = 40 * q, 40 * k  # tiles add first
        places = torch.rand(shape[:2], device=GPU).argsort(-1) if trial % 3 else None
        mask = asking[:, :, None] & seen[:, None, :]
        exact = [t.double().requires_grad_() for t in (q, k, v)]
        true = feature_attention(*exact, mask, pattern=pattern, positions=places, backend="reference")
        for tensor, chosen in ((q, asking), (k, seen), (v, seen)):
            tensor[~chosen] = float("nan")
            tensor.requires_grad_()
        poison()
        few = selected_attention(
            "feature", q, k, v, asking, seen, pattern=pattern, positions=places, capacity=capacity
        )  # fmt: skip
        pull = torch.randn_like(few)
        poison()
        ours = torch.autograd.grad(few, (q, k, v), pull)
        theirs = torch.autograd.grad(true, exact, pull.double())
        with torch.no_grad():
            poison()
            alone = selected_attention(
                "feature", q, k, v, asking, seen, pattern=pattern, positions=places, capacity=capacity
            )  # fmt: skip
        small = 2e-5 if dtype == torch.float32 else 2e-2
        agree = torch.equal(alone, few) and all(
            torch.allclose(a.double(), b, rtol=small, atol=small * max(1.0, float(b.abs().max())))
            for a, b in zip((few, *ours), (true, *theirs), strict=True)
        )
        name = f"{pattern}, {dtype}, capacity {capacity}, {'own' if places is None else 'given'} positions"
        told.append(f"{'ok  ' if agree else 'FAIL'} selected equals dense: {name}")
    return told


def compiled(number: int) -> list[str]:
    """Compile one tile for the timing that follows: Triton keeps it on disk."""
    feature_triton.TILES.update(dict.fromkeys(("answer", "query_gradient", "key_gradient"), TUNED[number]))
    try:
        q, k, v = inputs(1, 8, 512)
        torch.autograd.grad(feature_attention(q, k, v).sum(), (q, k, v))
        q, k, v = inputs(1, 8, 320)
        torch.autograd.grad(feature_attention(q, k, v).sum(), (q, k, v))
    except Exception as trouble:
        return [f"tile {TUNED[number]}: {type(trouble).__name__}"]
    return []


def job(work: tuple[str, int]) -> list[str]:
    try:
        return globals()[work[0]](work[1])  # type: ignore[no-any-return]
    except Exception as trouble:
        return [f"FAIL {work}: {type(trouble).__name__}: {str(trouble)[:500]}"]


def checks(tiles: bool) -> None:
    """In several processes, since most of the time goes into compiling."""
    works = [("masked", n) for n in range(12)] + [("hostile", n) for n in range(3)] + [("nan", 0)]
    works += [("chosen_tokens", n) for n in range(5)] + [("compiled", n) for n in range(len(TUNED)) if tiles]
    with ProcessPoolExecutor(8, mp_context=get_context("spawn")) as pool:
        told = [line for lines in pool.map(job, works) for line in lines]
    print("\n".join(line for line in told if "hostile" in line or "FAIL" in line or line.startswith("tile")))
    good = sum(line.startswith("ok") for line in told)
    print(f"checks: {good} ok, {sum('FAIL' in line for line in told)} failed, {time.time() - START:.0f} s", flush=True)


def kernels_compiled() -> int:
    kernels = [feature_triton.prepare_kernel, feature_triton.walk_keys_kernel, feature_triton.walk_queries_kernel]
    kernels += [getattr(selected_feature_triton, f"{name}_kernel") for name in ("list", "fetch", "pull")]
    return sum(len(cache[0]) for kernel in kernels for cache in kernel.device_caches.values())


def peak(work: Any) -> float:
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    work()
    torch.cuda.synchronize()
    return (torch.cuda.max_memory_allocated() - before) / 2**20


def inputs(batch: int, length: int, width: int) -> list[Tensor]:
    return [torch.randn(batch, length, width, device=GPU, dtype=torch.bfloat16, requires_grad=True) for _ in range(3)]


def timed(work: Any) -> float:
    return float(triton.testing.do_bench(work, warmup=10, rep=60, return_mode="median"))


def graphed(work: Any) -> float:
    """The device's own time, without what Python takes to launch."""
    return float(triton.testing.do_bench_cudagraph(work, rep=40, return_mode="median"))


def both(q: Tensor, k: Tensor, v: Tensor, pull: Tensor, attend: Any) -> Any:
    return lambda: torch.autograd.grad(attend(q, k, v), (q, k, v), pull)


def tune(name: str, shape: tuple[int, int, int]) -> str:
    """The time of one pass with each tile for one of its kernels, best first."""
    q, k, v = (t.detach() for t in inputs(*shape))
    given = (5.0, feature_triton.MaskSpec(), None, 0.0, None)
    pull = torch.randn_like(q)
    _, exact, den = feature_triton.forward(q, k, v, *given)
    was, lines = feature_triton.TILES[name], []
    for tile in TUNED:
        feature_triton.TILES[name] = tile
        try:
            if name == "answer":
                ms = timed(lambda: feature_triton.forward(q, k, v, *given))
            else:
                ms = timed(lambda: feature_triton.backward(pull, q, k, v, exact, den, *given, False))
            lines.append((ms, f"{tile} {ms:.3f}"))
        except Exception as trouble:  # a tile that does not fit is no reason to stop
            lines.append((1e9, f"{tile} {type(trouble).__name__}"))
    feature_triton.TILES[name] = was
    return f"tiles of {name} {shape}: " + "; ".join(line for _, line in sorted(lines)[:6])


def dense(pattern: str) -> Any:
    return partial(feature_attention, pattern=pattern)


def length_free() -> None:
    """New lengths must not compile anything."""
    for number, lengths in enumerate(((97, 98, 113, 128), (31, 64, 77, 160, 255, 1, 16))):
        before = kernels_compiled()
        for length in lengths:
            q, k, v = inputs(2, length, 512)
            torch.autograd.grad(feature_attention(q, k, v).sum(), (q, k, v))
            some = torch.rand(2, length, device=GPU) < 0.5
            torch.autograd.grad(selected_attention("feature", q, k, v, some, some).sum(), (q, k, v))
        print(f"kernels compiled for {('first', 'new')[number]} lengths: {kernels_compiled() - before}", flush=True)


def times() -> list[str]:
    table = []
    for batch, length, width, dtype in ((16, 512, 512, torch.bfloat16), (64, 64, 320, torch.bfloat16),
                                        (16, 512, 512, torch.float32)):  # fmt: skip
        q, k, v = (t.detach().to(dtype).requires_grad_() for t in inputs(batch, length, width))
        pull = torch.randn_like(q)
        for pattern in ("none", "forward"):
            alone, work = partial(dense(pattern), q, k, v), both(q, k, v, pull, dense(pattern))
            with torch.no_grad():
                line = f"forward {timed(alone):.3f} ms (graph {graphed(alone):.3f}) {peak(alone):.0f} MiB"
            line += f"; forward+backward {timed(work):.3f} ms {peak(work):.0f} MiB"
            table.append(f"B{batch} T{length} D{width} {str(dtype)[6:]} {pattern}: {line}")
    q, k, v = inputs(16, 512, 512)
    pull = torch.randn_like(q)
    order = torch.rand(16, 512, device=GPU).argsort(-1)
    quarter = torch.zeros(16, 512, dtype=torch.bool, device=GPU).scatter(1, order[:, :128], True)
    for pattern in ("none", "forward"):

        def few(*t: Tensor, pattern: str = pattern) -> Tensor:
            return selected_attention("feature", *t, quarter, quarter, pattern=pattern, capacity=128)

        with torch.no_grad():
            all_ms, few_ms = timed(partial(dense(pattern), q, k, v)), timed(partial(few, q, k, v))
            graph = graphed(partial(few, q, k, v))
        line = f"forward {few_ms:.3f} ms, {all_ms / few_ms:.1f}x dense (graph {graph:.3f}, {all_ms / graph:.1f}x)"
        all_ms, few_ms = timed(both(q, k, v, pull, dense(pattern))), timed(both(q, k, v, pull, few))
        table.append(f"selected 128 of 512 {pattern}: {line}; forward+backward {few_ms:.3f} ms, {all_ms / few_ms:.1f}x")
    return table


def main() -> None:
    tiles = "--quick" not in sys.argv
    checks(tiles)
    length_free()
    table = times()
    if tiles:
        passes = ("answer", "query_gradient", "key_gradient")
        table += [tune(name, shape) for name in passes for shape in ((16, 512, 512), (64, 64, 320))]
    print("\n".join(table))
    print(f"{time.time() - START:.0f} s in all; peak memory is beyond the inputs")


if __name__ == "__main__":
    main()
