"""What a model costs, timed alone on the machine: parameters, seconds per epoch, seconds for the test set, memory.

    cost("runs/entail")       # {"parameters": 3126005, "epoch_seconds": 4.3, "test_seconds": 0.27, "memory_mib": 869.3}
    measured(task, network, splits, config["train"])    # the same of a model that is no run, trained or not

An epoch's time is the mean over a training's phases, taken from steps spread over it. Memory is the most that such a
step took on a GPU, with all that lies there; else that of the process with its data, which only grows.
"""

import resource
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from regard.trust import Trust

__all__ = ["TIMED", "WARM", "cost", "measured", "parameters"]

WARM, TIMED = 10, 40  # steps before the clock starts, and steps on it
ENOUGH = 20_000  # examples of which the batches are made


def parameters(network: Any) -> int:
    """How many there are, without the vectors of words and other ids."""
    from regard.fields.embed import Embedding

    tables = [one for one in network.modules() if isinstance(one, Embedding) and one.vocab]
    ids = {id(p) for one in tables for p in one.parameters()}
    named = network.named_parameters()
    return sum(p.numel() for name, p in named if id(p) not in ids and "embedding" not in name.split("."))


def cost(folder: str, trust: Trust = False) -> dict[str, Any]:
    """What a training of this run's model costs, and its use; the run is left as it is."""
    from regard import api
    from regard.train.run import Run

    train = Run.open(Path(folder), trust).config["train"]
    model = api.load(folder, train["device"], trust)
    return measured(model.task, model.network, model.data(), train)


def measured(task: Any, network: Any, splits: Any, train: Mapping[str, Any]) -> dict[str, Any]:
    """What a training with the options `train` costs on the device where the network is, and its use; the network's
    weights are changed by it."""
    import torch

    from regard.data.batch import batches
    from regard.train.device import precise
    from regard.train.step import step

    device = next(network.parameters()).device
    some = splits.train[:: max(1, len(splits.train) // ENOUGH)]  # every n-th: long and short ones as in all
    items = task.items(some)
    rows = batches([i.lengths for i in items], tokens=train["batch_tokens"], rows=train["batch_size"], seed=1, epoch=0)
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=device.type == "cuda")
    network.train()

    def wait() -> float:
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.perf_counter()

    def steps(batch_rows: Sequence[list[int]]) -> int:
        """Spread over a whole training: a model whose phases cost differently costs what it does on average."""
        for number, one in enumerate(batch_rows):
            batch, progress = task.collate([items[row] for row in one]).to(device), number / max(1, len(batch_rows) - 1)
            step(network, batch, optimiser, progress, clip=train["clip"], precision=train["precision"])
        return sum(map(len, batch_rows))

    chosen = (rows * (1 + (WARM + TIMED) // len(rows)))[: WARM + TIMED]
    steps(chosen[:WARM])
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    start = wait()
    seen = steps(chosen[WARM:])
    epoch = (wait() - start) / seen * len(items) * len(splits.train) / len(some)
    if device.type == "cuda":
        memory = torch.cuda.max_memory_allocated(device) / 2**20
    else:
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    network.eval()
    held = splits.test or splits.valid

    def evaluate(examples: Sequence[Any]) -> None:
        with torch.inference_mode(), precise(device, train["precision"], network.wide):
            task.measure(task.results(network, examples))

    evaluate(held)  # the whole of it: a GPU compiles some kernels anew for other lengths
    start = wait()
    evaluate(held)
    return {
        "parameters": parameters(network),
        "epoch_seconds": round(epoch, 3),
        "test_seconds": round(wait() - start, 3),
        "memory_mib": round(memory, 1),
    }
