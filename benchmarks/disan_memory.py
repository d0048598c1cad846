"""The memory and time of a training step of DiSAN, beside the same with its attention written out.

    python benchmarks/disan_memory.py DATA --vectors A.gz,B.gz        # DATA: the folder of SNLI; a GPU

The step is the whole one (words' vectors, encoder, classifier, gradients, optimiser) over 128 pairs, and what is told
is the most that its allocator held beyond weights, gradients and the optimiser's state. Written out, attention is the
readable path of this library: every pair of tokens in every feature, as the paper's equations say.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import torch
from record import record
from sentences import GRIDS, recipe, with_encoder

from regard import api
from regard.data.batch import batches
from regard.kernels import choose
from regard.train.step import step

STEPS = 30


def measured(prepared: Any, rows: int, small: int) -> dict[str, float]:
    """MiB beyond what stays between steps, and milliseconds a step. Fused attention is taken from `small` elements."""
    choose.SMALL["cuda"]["feature"] = small
    task, network = prepared.task, prepared.network.to("cuda").train()
    items = task.items(prepared.splits.train[: 20 * rows])
    chosen = batches([item.lengths for item in items], tokens=0, rows=rows, seed=1, epoch=0)
    ready = [task.collate([items[row] for row in one]).to("cuda") for one in chosen]
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=True)
    task.on_step(network, 1.0)

    def one(number: int) -> None:
        step(network, ready[number % len(ready)], optimiser, 1.0, clip=1.0, precision="auto")

    one(0)
    one(1)
    torch.cuda.synchronize()
    stays = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    began = time.perf_counter()
    for number in range(STEPS):
        one(number)
    torch.cuda.synchronize()
    each = (time.perf_counter() - began) / STEPS
    whole = torch.cuda.max_memory_allocated()
    return {"mib": (whole - stays) / 2**20, "whole_mib": whole / 2**20, "ms": 1e3 * each}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--vectors", required=True)
    parser.add_argument("--rows", type=int, default=128)
    given = parser.parse_args()
    shared = recipe("snli", given.data, given.vectors, "")
    options = with_encoder(shared, "disan", next(iter(GRIDS["snli"].values())))
    figures = {}
    for name, small in (("fused", 0), ("written out", 2**62)):
        figures[name] = measured(api.prepare("entail", options), given.rows, small)
        print(name, figures[name], flush=True)
        torch.cuda.empty_cache()
    print(record("disan_memory", {"rows": given.rows, **figures}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
