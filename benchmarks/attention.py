"""What attention costs: every score, by length, beside PyTorch eager, torch.compile and the floor of the machine.

    python benchmarks/attention.py                        # all that suits this machine
    python benchmarks/attention.py --set targets          # on a GPU: the sizes that have a goal
    python benchmarks/attention.py --set lengths --no-compile
    python benchmarks/attention.py --set cpu              # fused on a CPU, beside eager and torch.compile
    python benchmarks/attention.py --quick                # tiny sizes, to see that all of it runs; keeps nothing

`targets` and `cpu` take projected queries, keys and values, as the fused functions do; `lengths` takes each score as
a model calls it, projections included, and beside them an encoder–decoder that does not attend at all. Figures go to
results/attention_SET_gpu.json (or …_cpu), the pictures of `lengths` to docs/attention_time.png and …_memory.png.
The floor is one tanh for each (batch, query, key, feature), and for feature-wise attention one exp more, at the
speed measured in the same run; forward + backward needs each of them twice, since nothing of that size is kept.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

if "--shared" in sys.argv:  # read when torch is loaded
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"

import torch
from attention_pictures import draw
from gauge import floor, on_device, peak, room, times
from record import record
from torch import Tensor, nn

from regard.attend.normalizer.softmax import softmax
from regard.attend.score import Score
from regard.attend.score.additive import Additive, additive
from regard.attend.score.bilinear import Bilinear
from regard.attend.score.cosine import Cosine
from regard.attend.score.dot import Dot
from regard.attend.score.learned_query import LearnedQuery
from regard.attend.score.scaled_dot import ScaledDot
from regard.kernels.additive import additive_attention
from regard.kernels.dot import dot_attention
from regard.kernels.feature import feature_attention, feature_reference
from regard.kernels.selected import selected_attention

FORWARD, BOTH = "forward", "forward + backward"
Function = Callable[..., Tensor]
Row = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """What is measured, at which size, and what it is out to reach."""

    score: str
    batch: int
    length: int
    width: int
    dtype: str = "float32"
    passes: str = FORWARD
    reach_ms: float | None = None
    reach_mib: float | None = None


TARGETS = (
    Case("additive", 16, 512, 512, reach_ms=0.51),
    Case("additive", 16, 512, 512, passes=BOTH, reach_ms=2.2, reach_mib=150),
    Case("additive", 4, 2048, 256, reach_ms=1.03),
    Case("additive", 4, 2048, 256, passes=BOTH, reach_ms=4.4, reach_mib=300),
    Case("additive", 32, 128, 512, "bfloat16", reach_ms=0.10),
    Case("feature-wise", 16, 512, 512, "bfloat16", reach_ms=1.15),
    Case("feature-wise", 16, 512, 512, "bfloat16", passes=BOTH, reach_ms=4.5, reach_mib=150),
    Case("feature-wise", 64, 64, 320, "bfloat16", reach_ms=0.07),
    Case("selected", 16, 512, 512, "bfloat16"),
    Case("selected", 16, 512, 512, "bfloat16", passes=BOTH),
    Case("selected, earlier keys", 16, 512, 512, "bfloat16"),
    Case("selected, earlier keys", 16, 512, 512, "bfloat16", passes=BOTH),
)
CPU = tuple(
    Case(score, batch, length, width, passes=passes)
    for score, batch, length, width in (
        ("additive", 2, 512, 256),
        ("additive", 2, 128, 256),
        ("additive", 32, 30, 256),
        ("feature-wise", 2, 512, 64),
        ("feature-wise", 2, 128, 64),
    )
    for passes in (FORWARD, BOTH)
)
SCORES = ("dot", "scaled_dot", "bilinear", "cosine", "additive", "feature-wise", "learned_query", "no attention")
LENGTHS = {
    kind: [
        Case(score, batch, n, width, passes=passes) for score in SCORES for n in lengths for passes in (FORWARD, BOTH)
    ]
    for kind, batch, width, lengths in (
        ("cuda", 4, 256, (128, 256, 512, 1024, 2048, 4096)),
        ("cpu", 2, 64, (32, 64, 128, 256, 512, 1024)),
    )
}


@dataclass(frozen=True)
class Subject:
    """A function and its readable form, with what both are given."""

    fused: Function
    readable: Function | None
    inputs: tuple[Tensor, ...]
    parameters: tuple[Tensor, ...] = ()
    dense: Function | None = None  # all tokens, where `fused` takes chosen ones
    elements: int = 0  # the largest thing the readable form stores
    floor: str = ""  # which floor counts


def bare(case: Case, device: torch.device) -> Subject:
    """Projected queries, keys and values in, answers out."""
    dtype, shape = getattr(torch, case.dtype), (case.batch, case.length, case.width)
    q, k, v = (torch.randn(shape, device=device, dtype=dtype) for _ in range(3))
    elements = case.batch * case.length**2 * case.width
    if case.score == "additive":
        w = (torch.randn(case.width, device=device) * case.width**-0.5).to(dtype)
        return Subject(additive_attention, readable_additive, (q, k, v, w), elements=elements, floor="tanh")
    if case.score == "feature-wise":
        return Subject(feature_attention, feature_reference, (q, k, v), elements=elements, floor="tanh_exp")
    quarter = case.length // 4
    order = torch.rand(2, case.batch, case.length, device=device).argsort(-1)
    asks, seen = (order < quarter).unbind()
    pairs, pattern = asks[:, :, None] & seen[:, None, :], "none"
    if case.score != "selected":
        pairs, pattern = pairs.tril(-1), "forward"
    return Subject(
        lambda q, k, v: selected_attention("feature", q, k, v, asks, seen, pattern=pattern, capacity=quarter),
        lambda q, k, v: feature_reference(q, k, v, seen=pairs),
        (q, k, v),
        dense=partial(feature_attention, pattern=pattern),
        elements=elements,
    )


def readable_additive(q: Tensor, k: Tensor, v: Tensor, w: Tensor) -> Tensor:
    return softmax(additive(q, k, w)) @ v


def whole(case: Case, device: torch.device) -> Subject:
    """A score with its projections: queries and keys in (the keys are the values), answers out."""
    query, keys = (torch.randn(case.batch, case.length, case.width, device=device) for _ in range(2))
    d, pairs = case.width, case.batch * case.length**2
    if case.score == "no attention":
        encoder, decoder = (nn.GRU(d, d, batch_first=True, device=device) for _ in range(2))

        def unseeing(query: Tensor, keys: Tensor) -> Tensor:
            return decoder(query, encoder(keys)[1])[0]  # type: ignore[no-any-return]

        return Subject(unseeing, None, (query, keys), (*encoder.parameters(), *decoder.parameters()))
    if case.score == "feature-wise":
        W_q, W_k = (nn.Linear(d, d, device=device) for _ in range(2))
        return Subject(
            lambda query, keys: feature_attention(W_q(query), W_k(keys), keys),
            lambda query, keys: feature_reference(W_q(query), W_k(keys), keys),
            (query, keys),
            (*W_q.parameters(), *W_k.parameters()),
            elements=pairs * d,
            floor="tanh_exp",
        )
    score = SCORE[case.score](d).to(device)

    def project(query: Tensor) -> Tensor:
        if isinstance(score, LearnedQuery):
            return score.project(None).expand(case.batch, -1, -1)
        return score.project(query)

    def fused(query: Tensor, keys: Tensor) -> Tensor:
        q, k = project(query), score.prepare(keys)
        if isinstance(score, Additive):
            return additive_attention(q, k, keys, score.w)
        return dot_attention(q, k, keys, scale=score.scale)

    def readable(query: Tensor, keys: Tensor) -> Tensor:
        return softmax(score.scores(project(query), score.prepare(keys))) @ keys

    wide = isinstance(score, Additive)
    return Subject(
        fused,
        readable,
        (query, keys),
        tuple(score.parameters()),
        elements=pairs * d if wide else pairs,
        floor="tanh" if wide else "",
    )


SCORE: dict[str, Callable[[int], Score]] = {
    "dot": lambda d: Dot(d, d),
    "scaled_dot": lambda d: ScaledDot(d, d),
    "bilinear": lambda d: Bilinear(d, d),
    "cosine": lambda d: Cosine(d, d),
    "additive": lambda d: Additive(d, d, d),
    "learned_query": lambda d: LearnedQuery(d, d),
}


def call(function: Function, subject: Subject, passes: str) -> Callable[[], Any]:
    """One forward pass, or one forward and one backward pass to everything that learns."""
    if passes == FORWARD:

        def forward() -> Tensor:
            with torch.no_grad():
                return function(*subject.inputs)

        return forward
    inputs = [tensor.clone().requires_grad_() for tensor in subject.inputs]
    wanted = [*inputs, *subject.parameters]
    back: list[Tensor] = []  # what comes from above: made once, when the answer's shape is known

    def both() -> Any:
        answer = function(*inputs)
        if not back:
            back.append(torch.randn_like(answer))
        return torch.autograd.grad(answer, wanted, back, allow_unused=True)

    return both


def too_large(needed: int) -> None:
    raise torch.OutOfMemoryError(f"it would need about {needed / 2**30:.0f} GiB")


def works(case: Case, subject: Subject, compiled: bool) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Each way of doing it, as a call."""
    yield "regard", call(subject.fused, subject, case.passes)
    if subject.dense is not None:
        yield "dense", call(subject.dense, subject, case.passes)
    if subject.readable is None:
        return
    size = getattr(torch, case.dtype).itemsize
    needed = subject.elements * size * (3 if case.passes == FORWARD else 5)
    if needed > room(subject.inputs[0].device):
        # Asking for it would end a CPU's process, and tell a GPU's user no more than this.
        yield "eager", partial(too_large, needed)
        return
    yield "eager", call(subject.readable, subject, case.passes)
    if compiled and subject.dense is None:
        torch.compiler.reset()
        yield "compile", call(torch.compile(subject.readable, dynamic=False), subject, case.passes)


def measure(case: Case, subject: Subject, speeds: dict[str, float], compiled: bool, seconds: float) -> Row:
    """One row: the case, and of each way its milliseconds and MiB, and how many times as long it takes as regard."""
    device = subject.inputs[0].device
    row: Row = {key: value for key, value in vars(case).items() if value is not None}
    alive, answers = {}, {}
    for name, work in works(case, subject, compiled):
        try:
            answers[name] = work()  # compiles whatever compiles, and warms up
            row[f"{name}_mib"] = peak(work, device)
            alive[name] = work
        except Exception as error:  # out of memory, say: the others still count
            print(f"  {name}: {type(error).__name__}: {(str(error).splitlines() or [''])[0][:150]}", flush=True)
            row[f"{name}_error"] = type(error).__name__
        if device.type == "cuda":
            torch.cuda.empty_cache()
    if case.passes == FORWARD and {"regard", "eager"} <= answers.keys():
        row["difference"] = (answers["regard"].float() - answers["eager"].float()).abs().max().item()
    answers.clear()
    row |= {f"{name}_ms": ms for name, ms in times(alive, device, seconds).items()}
    if device.type == "cuda" and case.passes == FORWARD and row.get("regard_ms", 9.0) < 1:
        row |= {
            f"{n}_device_ms": ms
            for n, w in alive.items()
            if n in ("regard", "compile", "dense") and (ms := on_device(w))
        }
    if subject.floor in speeds:
        row["floor_ms"] = subject.elements / speeds[subject.floor] * 1000 * (1 if case.passes == FORWARD else 2)
    if "regard_ms" in row:
        row |= {f"to_{n}": row[f"{n}_ms"] / row["regard_ms"] for n in ("eager", "compile", "dense") if f"{n}_ms" in row}
        if "floor_ms" in row:
            row["to_floor"] = row["regard_ms"] / row["floor_ms"]
    return {key: float(f"{value:.4g}") if isinstance(value, float) else value for key, value in row.items()}


def show(row: Row) -> None:
    def cell(name: str) -> str:
        if f"{name}_ms" not in row:
            return ""
        return f"{name} {row[f'{name}_ms']:.3g} ms {row.get(f'{name}_mib', 0):,.1f} MiB"

    head = f"{row['score']:13} B{row['batch']} T{row['length']} D{row['width']} {row['dtype']} {row['passes']}"
    cells = [cell(name) for name in ("regard", "dense", "eager", "compile") if cell(name)]
    last = [f"{row['to_floor']:.2f}× the floor"] if "to_floor" in row else []
    last += [f"differs from eager by {row['difference']:.0e}"] if "difference" in row else []
    print(f"{head:52} {' | '.join(cells + last)}", flush=True)


def small(cases: Iterable[Case]) -> list[Case]:
    """The same cases at tiny sizes, odd ones among them."""
    tiny = [replace(c, batch=2, length=16 + c.length % 31, width=12, reach_ms=None, reach_mib=None) for c in cases]
    return list(dict.fromkeys(tiny))


def pictures(kept: Path) -> None:
    try:
        print(*draw(kept), sep="\n")
    except ImportError:
        print(f"no matplotlib here: python benchmarks/attention_pictures.py {kept.stem} draws the pictures elsewhere")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=("targets", "cpu", "lengths", "all"), default="all")
    parser.add_argument("--name", default="attention", help="how the files of results begin")
    parser.add_argument(
        "--compile", action=argparse.BooleanOptionalAction, help="default: yes, but not lengths on a CPU"
    )
    parser.add_argument(
        "--shared",
        action="store_true",
        help="other work runs on these cores: threads wait asleep, not spinning",
    )
    parser.add_argument("--quick", action="store_true", help="tiny sizes; keeps nothing")
    parser.add_argument("--seconds", type=float, help="to time each function for; default: 0.2, and 0.05 for lengths")
    arguments = parser.parse_args()
    chosen = arguments.set
    device = torch.device("cuda" if torch.cuda.is_available() and chosen != "cpu" else "cpu")
    here = "gpu" if device.type == "cuda" else "cpu"
    if chosen == "targets" and here == "cpu" and not arguments.quick:
        parser.error("the targets are those of a GPU, and there is none; --quick tries them at tiny sizes")
    sets = [chosen] if chosen != "all" else ["targets" if here == "gpu" else "cpu", "lengths"]
    torch.manual_seed(0)
    failed = 0
    for name in sets:
        began = time.monotonic()
        cases = {"targets": TARGETS, "cpu": CPU, "lengths": LENGTHS[device.type]}[name]
        make = whole if name == "lengths" else bare
        compiled = (name != "lengths" or here == "gpu") if arguments.compile is None else arguments.compile
        speeds = floor(device)
        print(f"{name}: " + ", ".join(f"{rate:.3g} {what}/s" for what, rate in speeds.items()), flush=True)
        rows = []
        for case in small(cases) if arguments.quick else cases:
            seconds = 0.01 if arguments.quick else arguments.seconds or (0.05 if name == "lengths" else 0.2)
            rows.append(measure(case, make(case, device), speeds, compiled, seconds))
            show(rows[-1])
        failed += sum("regard_error" in row for row in rows)
        if arguments.quick:
            continue
        figures = {"rows": rows, "floor": speeds, "device": device.type, "threads": torch.get_num_threads()}
        figures["seconds"] = round(time.monotonic() - began, 1)
        kept = record(f"{arguments.name}_{name}" + ("" if name == "cpu" else f"_{here}"), figures)
        print(kept)
        if name == "lengths":
            pictures(kept)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
