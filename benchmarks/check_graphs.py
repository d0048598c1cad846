"""CUDA graphs on a GPU: steps that are replayed beside steps as usual, in under a minute.

    python benchmarks/check_graphs.py

For glimpses and for captions with soft and hard attention, in the sizes of the benchmarks: are passes recorded at all,
are the losses of replayed steps those of steps as usual (random numbers are the same ones, as both begin with one
seed), do draws differ from replay to replay, and how long does a step take with and without. One network that cannot be
recorded must train on as usual. Exit code 1 if anything is not as it should be; `--tiny` runs on a CPU, without graphs.
"""

import argparse
import time
from typing import Any

import torch
from caption import _batch, _ours
from torch import nn

from regard.tasks.glimpse import Glimpse
from regard.train.graphs import SEEN, Graphs
from regard.train.step import step
from regard.types import Batch, Network, Output, Pixels

GPU = torch.device("cuda" if torch.cuda.is_available() else "cpu")
STEPS = 8  # that are compared; of these SEEN run as usual with graphs too
SOFT = {"vocab": 2_600, "dim": 512, "embed": 256, "hidden": 512, "attention": 256}
SMALL = {"vocab": 50, "dim": 16, "embed": 16, "hidden": 16, "attention": 16}
HARD = {
    "attention": {"normalizer": "sample"},
    "reinforce": {"baseline": "others", "anneal": 0.4, "bonus": 0.001},
}
FAR = 2e-3  # of a loss, relatively: sums in another order


def glimpses(rows: int) -> tuple[Network, list[Batch]]:
    task = Glimpse(input={"size": 28, "colour": False}, network={"size": 8, "scales": 1})
    task.target.fit([str(n) for n in range(10)])
    chance = torch.Generator().manual_seed(1)
    batches = [
        Batch((Pixels(torch.rand(rows, 1, 28, 28, generator=chance)),), torch.randint(10, (rows,), generator=chance))
        for _ in range(2)
    ]
    return task.network(), batches


def captions(tiny: bool, options: dict[str, Any]) -> tuple[Network, list[Batch]]:
    rows, channels, side, words = (4, 8, 3, 5) if tiny else (64, 1280, 7, 12)
    sizes = SMALL if tiny else SOFT
    batch = _batch(rows, side * side, channels, words, sizes["vocab"])
    return _ours(sizes, channels, side, options), [batch, batch.select(torch.arange(rows).flip(0))]


def trained(made: Any, graphs: bool) -> tuple[list[float], float, list[str], int]:
    """The losses of some steps, the milliseconds of one, what was warned of, and how many shapes were recorded."""
    torch.manual_seed(1)
    network, batches = made()
    network, batches = network.to(GPU).train(), [one.to(GPU) for one in batches]
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-3, fused=GPU.type == "cuda")
    warned = list[str]()
    recorded = Graphs(network, warned.append) if graphs and GPU.type == "cuda" else None

    def one(number: int) -> torch.Tensor:
        batch = batches[number % len(batches)]
        return step(network, batch, optimiser, 0.5, clip=1.0, precision="auto", graphs=recorded).total

    losses = [float(one(number)) for number in range(STEPS)]
    waited()
    begun, many = time.perf_counter(), 30 if GPU.type == "cuda" else 1
    for number in range(many):
        one(number)
    waited()
    each = 1e3 * (time.perf_counter() - begun) / many
    return losses, each, warned, 0 if recorded is None else len(recorded.kept)


def waited() -> None:
    if GPU.type == "cuda":
        torch.cuda.synchronize()


class Asks(Network):
    """Says that it is steady, and asks the GPU for a number."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))

    def steady(self, progress: float) -> bool:
        return True

    def count(self, batch: Batch) -> int:
        return 1

    def forward(self, batch: Batch, progress: float = 1.0) -> Output:
        noise = torch.rand_like(self.weight)
        return Output((self.weight * noise).sum() * float(self.weight.detach().sum() > -1), 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true")
    tiny = parser.parse_args().tiny
    cases: dict[str, Any] = {f"glimpses, batch {rows}": lambda rows=rows: glimpses(rows) for rows in (128, 512, 1024)}
    cases |= {"captions, soft": lambda: captions(tiny, {}), "captions, hard": lambda: captions(tiny, HARD)}
    failed, begun = 0, time.perf_counter()
    for name, made in cases.items():
        usual, slow, _, _ = trained(made, False)
        found, fast, warned, kept = trained(made, True)
        apart = max(abs(a - b) / max(1.0, abs(a)) for a, b in zip(usual, found, strict=True))
        well = GPU.type != "cuda" or (not warned and kept == 1)
        same = apart < FAR and len(set(found[SEEN:])) > 2
        failed += not (well and same)
        print(
            f"{'ok' if well and same else 'FAILED':6}  {name:22} as usual {slow:6.2f} ms, replayed {fast:6.2f} ms, "
            f"{slow / fast:4.1f} ×; losses {apart:.1e} apart; {'; '.join(warned) or f'{kept} recorded'}",
            flush=True,
        )
    losses, _, warned, _ = trained(lambda: (Asks(), [Batch((Pixels(torch.rand(1, 1, 1, 1)),))]), True)
    well = all(x == x for x in losses) and (GPU.type != "cuda" or len(warned) == 1)
    failed += not well
    print(f"{'ok' if well else 'FAILED':6}  what cannot be recorded: {'; '.join(warned)}")
    print(f"{time.perf_counter() - begun:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
