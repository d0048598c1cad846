"""The fused kernels on a GPU: checks against float64, then times, memory and the best tiles.

    python benchmarks/check_kernels.py             # all of it, some minutes
    python benchmarks/check_kernels.py --quick     # checks and the default tiles only
    python benchmarks/check_kernels.py --part 2/4  # every fourth check from the second on, and no times

Checks: odd shapes, every mask, three precisions, hostile inputs, pieces, dropout, weights on demand, each with its
gradients, in memory that held NaN before. A line says `ok` where the error against float64 is at most twice the
readable path's in the same precision; the numbers are those ratios. One draw of a small shape says little: where w has
7 numbers, the readable path with other last bits has twice its own error in one draw of twenty. So the errors of
`DRAWS` draws of a masked shape are taken together, which also finds what is worse by little, but always. Times: medians
of `triton.testing.do_bench`, and the peak of memory beyond the inputs. The last lines are the table. Exit code 1 if any
check failed.
"""

import argparse
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
import triton
from torch import Tensor

from regard.kernels import additive_cpu, additive_triton, product_triton
from regard.kernels.additive import additive_attention, additive_weights
from regard.kernels.mask import PATTERNS, MaskSpec

GPU = torch.device("cuda")
DRAWS = 20  # of every masked shape
START = time.time()

# What is timed: (name, batch, time, width, type); the values are as wide as the keys.
ROWS = [
    ("B16 T512 A512 fp32", 16, 512, 512, torch.float32),
    ("B4 T2048 A256 fp32", 4, 2048, 256, torch.float32),
    ("B32 T128 A512 bf16", 32, 128, 512, torch.bfloat16),
]
TARGETS = {"B16 T512 A512 fp32": (0.51, 2.2), "B4 T2048 A256 fp32": (1.03, 4.4), "B32 T128 A512 bf16": (0.10, None)}

# Tiles of the scores: queries, keys, warps, anchor. Tiles of the gradients: rows, features, warps.
ENERGIES = [
    (64, 64, 4, True), (64, 64, 4, False), (64, 64, 8, True), (32, 64, 4, True), (32, 64, 2, True), (64, 128, 8, True),
    (128, 64, 8, True), (64, 32, 4, True), (32, 32, 2, True), (32, 32, 4, True), (32, 128, 8, True),
    (128, 128, 16, True),
]  # fmt: skip
GRADIENTS = [(64, 64, 4), (32, 64, 4), (64, 32, 4), (32, 32, 2), (64, 64, 8), (32, 128, 4), (16, 64, 2), (128, 64, 8)]


@contextmanager
def poisoned() -> Iterator[None]:
    """Memory that nobody wrote holds NaN (integers: -1)."""
    kept = torch.empty, torch.empty_like, Tensor.new_empty

    def filled(make: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def made(*args: Any, **kwargs: Any) -> Tensor:
            tensor = make(*args, **kwargs)
            return tensor.fill_(float("nan") if tensor.is_floating_point() else -1)

        return made

    torch.empty, torch.empty_like, Tensor.new_empty = (filled(make) for make in kept)  # type: ignore[misc,assignment]
    try:
        yield
    finally:
        torch.empty, torch.empty_like, Tensor.new_empty = kept  # type: ignore[misc,assignment]


def additive_run(inputs: list[Tensor], backend: str, dtype: torch.dtype, options: dict[str, Any]) -> list[Tensor]:
    """The answer and the gradients of q, k, v, w (and the bias)."""
    leaves = [t.detach().to(dtype).requires_grad_() for t in inputs]
    options = dict(options)
    if "bias" in options:
        options["bias"] = options["bias"].detach().to(dtype).requires_grad_()
        leaves.append(options["bias"])
    answer = additive_attention(*leaves[:4], backend=backend, **options)
    pull = torch.randn(answer.shape, generator=torch.Generator().manual_seed(3)).to(answer)
    return [answer.detach(), *torch.autograd.grad(answer, leaves, pull)]


def compared(draws: list[tuple[list[Tensor], dict[str, Any]]], dtype: torch.dtype) -> tuple[bool, str]:
    """At most twice the readable path's error, in the answer and in every gradient, of all draws (inputs and options)
    together."""
    squares: dict[str, list[float]] = {}  # of the fused path's errors, of the readable path's, of the true numbers
    for inputs, options in draws:
        inputs = [t.to(dtype) for t in inputs]
        if "bias" in options:
            options = {**options, "bias": options["bias"].to(dtype)}
        true = additive_run(inputs, "reference", torch.float64, options)
        with poisoned():
            fused = additive_run(inputs, "triton", dtype, options)
        readable = additive_run(inputs, "reference", dtype, options)
        for part, a, b, c in zip(("answer", "q", "k", "v", "w", "bias"), fused, readable, true, strict=False):
            here = [float(t.square().mean()) for t in (a.double() - c, b.double() - c, c)]
            squares[part] = [x + y for x, y in zip(here, squares.get(part, [0.0] * 3), strict=True)]
    good, words = True, []
    for part, sums in squares.items():
        ours, theirs, size = ((total / len(draws)) ** 0.5 for total in sums)
        fine = ours <= 2 * theirs + size * torch.finfo(dtype).eps / 4  # False for a NaN
        good = good and fine
        words.append(f"{part} {ours / max(theirs, 1e-30):.2f}" + ("" if fine else f" ({ours:.1e} > 2·{theirs:.1e})"))
    return good, ", ".join(words)


def masked(number: int) -> tuple[bool, str]:
    """One combination of masks at one odd shape, drawn several times."""
    torch.manual_seed(number)
    dtype = (torch.float32, torch.bfloat16, torch.float16)[number // len(PATTERNS) % 3]
    draws, words = zip(*(drawn(number) for _ in range(DRAWS)), strict=True)
    good, ratios = compared(list(draws), dtype)
    return good, f"{str(dtype)[6:]} {words[0]}: {ratios}"


def drawn(number: int) -> tuple[tuple[list[Tensor], dict[str, Any]], str]:
    """The shape and the kinds of masks are the number's, what they hold is new each time."""
    choices = torch.Generator().manual_seed(number)
    pick = lambda *some: some[int(torch.randint(len(some), (), generator=choices))]  # noqa: E731
    batch, queries, keys, width = (
        pick(1, 2, 5),
        pick(3, 33, 65, 130),
        pick(2, 31, 64, 127, 200),
        pick(7, 66, 256),
    )
    options: dict[str, Any] = {"pattern": sorted(PATTERNS)[number % len(PATTERNS)], "band": pick(-1, -1, 5, 40)}
    if pick(0, 1):
        options["lengths"] = torch.randint(keys // 2, keys + 1, (batch,), device=GPU)
    if pick(0, 1):
        options["query_lengths"] = torch.randint(queries // 2, queries + 1, (batch,), device=GPU)
    if pick(0, 1):
        options["mask"] = torch.rand(pick((batch, queries, keys), (1, keys), (batch, 1, keys)), device=GPU) < 0.7
    if pick(0, 1):
        bias = 2 * torch.randn(pick((batch, queries, keys), (keys,), (queries, keys)), device=GPU)
        options["bias"] = bias.masked_fill(torch.rand_like(bias) < 0.2, float("-inf"))
    if pick(0, 0, 1):
        options["positions"] = tuple(torch.randint(0, 50, (batch, n), device=GPU) for n in (queries, keys))
    size = pick(1.0, 1.0, 30.0, 0.05)
    sizes = ((batch, queries, width), (batch, keys, width), (batch, keys, pick(1, 64, 37)), (width,))
    q, k, v, w = (torch.randn(shape, device=GPU) for shape in sizes)
    words = f"B{batch} Q{queries} K{keys} A{width} ×{size} {'+'.join(options)}"
    return ([size * q, size * k, v, w * width**-0.5], options), words


def hostile(name: str, dtype: torch.dtype) -> tuple[bool, str]:
    torch.manual_seed(1)
    keys = 100 if dtype is torch.bfloat16 else 140  # answers in one launch with the scores, or in their own
    q, k, v = (torch.randn(2, n, d, device=GPU) for n, d in ((75, 259), (keys, 259), (keys, 64)))
    w, options = torch.randn(259, device=GPU) / 16, {}
    if name == "huge":
        q, k = 1e4 * q, 1e4 * k
    elif name == "one huge":
        k[0, 3, 5] = 1e4
    elif name == "edge of the range":
        q, k = q.clamp(-1, 1) * 10.4, k.clamp(-1, 1) * 10.4
    elif name == "cancelling far out":
        middle = 1e4 * torch.randn(2, 1, 259, device=GPU)
        q, k = middle.expand_as(q) + 0, k - middle
    elif name == "saturated":
        q = q + 8
    elif name == "saturated below":
        q = q - 8
    elif name == "small":
        q, k = 1e-3 * q, 1e-3 * k
    elif name == "large w":
        w = 8 * w
    elif name == "positive w":
        w = w.abs()
    elif name == "w of many sizes":  # the smallest that are folded into the factors
        w = w.sign() / 16 * torch.where(torch.arange(259, device=GPU) % 2 == 0, 1.0, 2.0**-16)
    elif name == "nothing in w":  # none are
        w[7] = 0.0
    elif name == "shut out":
        options["bias"] = torch.randn(2, 75, keys, device=GPU)
        options["bias"][:, :, 5:60] = float("-inf")
        options["bias"][0, 3] = float("-inf")
    good, words = compared([([q, k, v, w], options)], dtype)
    return good, f"{str(dtype)[6:]} {name}: {words}"


def parts_of_values(large: float) -> tuple[bool, str]:
    """So many values that they are multiplied in parts; with a large w a few keys have all the weight."""
    torch.manual_seed(3)
    draws = []
    for _ in range(4):
        q, k, v = (torch.randn(8, 512, width, device=GPU) for width in (64, 64, 512))
        draws.append(([q, k, v, torch.randn(64, device=GPU) * large / 8], {}))
    used = product_triton.parts(v, 512) is not None
    good, words = compared(draws, torch.float32)
    return good and (used or not product_triton.suits(GPU)), f"values in parts, w × {large}: {words}"


def pieces() -> tuple[bool, str]:
    """Queries taken in pieces give what the whole gives."""
    torch.manual_seed(2)
    inputs = [torch.randn(shape, device=GPU) for shape in ((2, 300, 70), (2, 90, 70), (2, 90, 33), (70,))]
    options = {
        "pattern": "causal",
        "lengths": torch.tensor([90, 55], device=GPU),
        "bias": torch.randn(300, 90, device=GPU),
    }
    whole, kept = additive_run(inputs, "triton", torch.float32, options), additive_cpu.CHUNK
    additive_cpu.CHUNK = 30000
    try:
        with poisoned():
            parts = additive_run(inputs, "triton", torch.float32, options)
    finally:
        additive_cpu.CHUNK = kept
    worst = max(float((a - b).abs().max() / b.abs().max()) for a, b in zip(parts, whole, strict=True))
    return worst < 1e-5, f"pieces against the whole: largest difference {worst:.1e}"


def dropout() -> tuple[bool, str]:
    """The share that is kept, and the same choice in both passes."""
    torch.manual_seed(4)
    q, k, w = torch.randn(2, 130, 16, device=GPU), torch.randn(2, 200, 16, device=GPU), torch.randn(16, device=GPU)
    eye = torch.eye(200, device=GPU).expand(2, 200, 200).contiguous().requires_grad_()
    leaf = q.clone().requires_grad_()
    answer = additive_attention(leaf, k, eye, w, dropout=0.25, backend="triton")
    kept = answer.detach() != 0
    upstream = torch.randn_like(answer)
    dq, dv = torch.autograd.grad(answer, (leaf, eye), upstream)
    true = q.double().requires_grad_()
    weights = torch.softmax(torch.tanh(true[:, :, None] + k.double()[:, None]) @ w.double(), -1) * kept / 0.75
    (expected,) = torch.autograd.grad(weights, true, upstream.double())
    share = float(kept.float().mean())
    errors = [float((answer - weights).abs().max()), float((dq - expected).abs().max()),
              float((dv - answer.detach().transpose(1, 2) @ upstream).abs().max())]  # fmt: skip
    return abs(share - 0.75) < 0.01 and max(errors) < 1e-4, f"dropout 0.25 keeps {share:.3f}; errors {errors}"


def looked_at() -> tuple[bool, str]:
    torch.manual_seed(5)
    q, k, w = torch.randn(2, 60, 40, device=GPU), torch.randn(2, 90, 40, device=GPU), torch.randn(40, device=GPU)
    every = additive_weights(q, k, w, pattern="causal", backend="reference")
    some = additive_weights(q, k, w, pattern="causal", rows=[59, 3])
    values, _ = additive_weights(q, k, w, pattern="causal", top=4)
    assert isinstance(every, Tensor)
    worst = max(float((some - every[:, [59, 3]]).abs().max()), float((values - every.topk(4).values).abs().max()))
    return worst < 1e-6, f"weights on demand: largest difference {worst:.1e}"


def not_a_number() -> tuple[bool, str]:
    torch.manual_seed(6)
    q, k, v = torch.randn(1, 50, 30, device=GPU), torch.randn(1, 70, 30, device=GPU), torch.randn(1, 70, 8, device=GPU)
    q[0, 1, 2], k[0, 40, 3] = float("nan"), float("nan")
    w = torch.randn(30, device=GPU)
    found, true = (additive_attention(q, k, v, w, pattern="causal", backend=way) for way in ("triton", "reference"))
    return torch.equal(found.isnan(), true.isnan()), f"NaN reaches {int(found.isnan().sum())} numbers, as it should"


def many_shapes() -> tuple[bool, str]:
    """New lengths compile nothing new."""
    kernels = [additive_triton.scores_kernel, additive_triton.gradient_kernel]

    def compiled() -> int:
        return sum(len(entry[0]) for kernel in kernels for entry in kernel.device_caches.values())

    def once(length: int) -> None:
        given = [torch.randn(3, n, 48, device=GPU, requires_grad=True) for n in (length, length + 5, length + 5)]
        additive_attention(*given, torch.randn(48, device=GPU)).sum().backward()

    for length in (20, 50, 100, 200):  # of each size of tile one
        once(length)
    before = compiled()
    for length in (1, 16, 17, 27, 33, 59, 64, 123, 124, 128, 255):
        once(length)
    return compiled() == before, f"{compiled() - before} kernels compiled anew for 11 new lengths ({before} before)"


def compiles() -> tuple[bool, str]:
    given = [torch.randn(2, 64, 32, device=GPU, requires_grad=True) for _ in range(3)]
    w = torch.randn(32, device=GPU, requires_grad=True)
    whole = torch.compile(additive_attention, backend="aot_eager", fullgraph=True)
    found, expected = whole(*given, w, pattern="causal"), additive_attention(*given, w, pattern="causal")
    same = torch.equal(found, expected)
    pull = torch.randn_like(found)
    pairs = zip(*(torch.autograd.grad(one, [*given, w], pull) for one in (found, expected)), strict=True)
    return same and all(torch.equal(a, b) for a, b in pairs), "torch.compile with the graph whole"


HOSTILE = ["plain", "huge", "one huge", "edge of the range", "cancelling far out", "saturated", "saturated below",
           "small", "large w", "positive w", "w of many sizes", "nothing in w", "shut out"]  # fmt: skip
CHECKS: list[Callable[[], tuple[bool, str]]] = [
    *(lambda n=n: masked(n) for n in range(30)),  # type: ignore[misc]
    *(lambda n=n, t=t: hostile(n, t) for n in HOSTILE for t in (torch.float32, torch.bfloat16, torch.float16)),  # type: ignore[misc]
    lambda: parts_of_values(1.0), lambda: parts_of_values(20.0), pieces, dropout, looked_at, not_a_number, many_shapes,
    compiles,
]  # fmt: skip


def median(call: Callable[[], Any]) -> float:
    return float(triton.testing.do_bench(call, warmup=10, rep=60, return_mode="median"))


def peak(call: Callable[[], Any]) -> float:
    """MiB beyond what was there before."""
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    call()
    torch.cuda.synchronize()
    return (torch.cuda.max_memory_allocated() - before) / 2**20


def timed(row: tuple[str, int, int, int, torch.dtype], quick: bool) -> list[str]:
    """One row: the default tiles through the public function, then every tile by itself."""
    name, batch, length, width, dtype = row
    q, k, v = (torch.randn(batch, length, width, device=GPU, dtype=dtype, requires_grad=True) for _ in range(3))
    w = (torch.randn(width, device=GPU) * width**-0.5).requires_grad_()
    pull = torch.randn_like(v)

    def forward() -> None:
        with torch.no_grad():
            additive_attention(q, k, v, w)

    def both() -> None:
        torch.autograd.grad(additive_attention(q, k, v, w), (q, k, v, w), pull)

    goal = TARGETS[name]
    lines = [
        f"{name:20} default  forward {median(forward):.3f} ms (goal {goal[0]}), {peak(forward):.0f} MiB; "
        f"forward + backward {median(both):.3f} ms (goal {goal[1]}), {peak(both):.0f} MiB"
    ]
    if quick:
        return lines
    with torch.no_grad():
        plain = [t.detach() for t in (q, k, v, w)]
        spec, base = MaskSpec(), additive_triton.TILES
        seen = additive_triton.arguments(spec, length, length)
        steps = {
            "exponents": lambda: additive_triton.exponents(plain[0], plain[1], plain[3].float()),
            "softmax": lambda p=torch.randn(batch, length, length, device=GPU): additive_triton.softmax_(
                p, length, length, 0, dtype, 0.0, None
            ),
        }
        lines.append(f"{name:20} parts    " + ", ".join(f"{part} {median(call):.3f}" for part, call in steps.items()))
        found: dict[str, list[tuple[float, str]]] = {"scores": [], "of_queries": [], "of_keys": []}
        ready = additive_triton.exponents(plain[0], plain[1], plain[3].float())
        for queries, keys, warps, anchor in ENERGIES:
            tile = replace(base, queries=queries, keys=keys, warps=warps, anchor=anchor)
            call = lambda tile=tile: additive_triton._scores(  # noqa: E731
                ready, plain[0], plain[1], plain[3].float(), None, seen, 0, length, tile
            )
            found["scores"].append(tried(call, f"{queries}×{keys} w{warps}{'' if anchor else ' loose'}"))
        _, p = additive_triton.forward(*plain, None, spec, 0.0, None, tile=base)
        for rows, features, warps in GRADIENTS:
            for side in ("of_queries", "of_keys"):
                tile = replace(base, **{side: (rows, features, warps)})
                call = lambda tile=tile: additive_triton.backward(pull, *plain, None, spec, 0.0, None, p, tile)  # noqa: E731
                found[side].append(tried(call, f"{rows}×{features} w{warps}"))
    for kind, results in found.items():
        ordered = ", ".join(f"{tile} {ms:.3f}" for ms, tile in sorted(results))
        lines.append(f"{name:20} {kind if kind == 'scores' else f'backward, {kind}'} {ordered}")
    return lines


def tried(call: Callable[[], Any], tile: str) -> tuple[float, str]:
    try:
        return median(call), tile
    except Exception as error:  # a tile may not fit
        return float("inf"), f"{tile} ({type(error).__name__})"


def main() -> int:
    parser = argparse.ArgumentParser(description="the fused kernels of additive attention on a GPU")
    parser.add_argument("--quick", action="store_true", help="checks, and times of the default tiles only")
    parser.add_argument("--part", default="1/1", help="K/N: every N-th check from the K-th on; times with 1/1 only")
    given = parser.parse_args()
    part, parts = (int(number) for number in given.part.split("/"))
    checks = CHECKS[part - 1 :: parts]  # most of a check is compiling, which processes do side by side
    print(torch.cuda.get_device_name(), "torch", torch.__version__, "triton", triton.__version__, flush=True)
    torch.backends.cuda.matmul.allow_tf32 = False
    failed = 0
    for check in checks:
        try:
            good, words = check()
        except Exception:
            good, words = False, traceback.format_exc(limit=6)
        failed += not good
        print("ok  " if good else "FAIL", words, flush=True)
    print(f"{len(checks) - failed} of {len(checks)} checks hold, {time.time() - START:.0f} s", flush=True)
    table = []
    for row in ROWS if parts == 1 else ():
        try:
            table += timed(row, given.quick)
        except Exception:
            table.append(f"{row[0]}: {traceback.format_exc(limit=6)}")
        print(f"{row[0]} timed, {time.time() - START:.0f} s", flush=True)
    print("\n".join(table))
    print(f"{len(checks) - failed} of {len(checks)} checks hold; {time.time() - START:.0f} s in all")
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
