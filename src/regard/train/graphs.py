"""CUDA graphs: a training step recorded once for each shape of batch, and replayed.

A model that reads token after token launches thousands of small kernels a step, and a GPU waits for the CPU between
them. Where every step of a shape does the same (`Network.steady`), forward and backward pass are recorded as a CUDA
graph when a shape has come `SEEN` times, and from then on replayed in one launch. The numbers are the same; random
numbers are drawn anew at each replay. Whatever cannot be recorded runs as it always did.

    graphs = Graphs(model);  output = graphs.passed(batch, progress, precision)        # gradients are in `.grad` then
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

from regard.train.device import precise
from regard.types import Batch, Network, Output

__all__ = ["Graphs", "passed"]

SEEN = 3  # steps of a shape that run as usual first: kernels are compiled and averages begun by then
MOST = 64  # shapes that are recorded; each keeps gradients of its own

Made = dict[str, Any]
"""What a recorded pass writes anew at each replay: tensors by name, in lists and tables."""

Record = Callable[[Callable[[], Made]], tuple[Made, Callable[[], None]]]
"""Records a function: what it makes, and what makes it again in the same place."""


def passed(model: Network, batch: Batch, progress: float, precision: str) -> Output:
    """Forward and backward pass: the gradients are those of the mean over what the network counts."""
    with precise(next(model.parameters()).device, precision, model.wide):
        output: Output = model(batch, progress)
    (output.total / output.count).backward()  # type: ignore[no-untyped-call]
    # Whoever keeps the output would keep the autograd graph, whose nodes add gradients on the stream of this pass: a
    # pass recorded on another stream meanwhile would take them over, and could not be recorded.
    return replace(output, total=output.total.detach())


class OnGpu:
    """Records CUDA graphs that share their memory: they are replayed one after another, never at once."""

    def __init__(self) -> None:
        self.pool: Any = None

    def __call__(self, work: Callable[[], Made]) -> tuple[Made, Callable[[], None]]:
        self.pool = self.pool or torch.cuda.graph_pool_handle()
        graph, stream = torch.cuda.CUDAGraph(), torch.cuda.current_stream()
        generator = torch.cuda.default_generators[torch.cuda.current_device()]
        state = generator.clone_state()
        try:
            with torch.cuda.graph(graph, pool=self.pool, capture_error_mode="thread_local"):
                made = work()
        except RuntimeError:  # PyTorch leaves its stream current, and the random numbers as if they were recorded
            torch.cuda.set_stream(stream)
            generator.graphsafe_set_state(state)
            raise
        return made, graph.replay


@dataclass(frozen=True)
class _Recorded:
    batch: Batch  # whose tensors the replay reads
    progress: Tensor
    count: Tensor
    made: Made
    replay: Callable[[], None]


class Graphs:
    """The recorded passes of one network. `warn` is told once if its passes cannot be recorded."""

    def __init__(
        self, model: Network, warn: Callable[[str], None] = lambda line: None, record: Record | None = None
    ) -> None:
        self.model, self.warn, self.record = model, warn, record or OnGpu()
        self.parameters = [one for one in model.parameters() if one.requires_grad]
        self.seen: Counter[Any] = Counter()
        self.kept: dict[Any, _Recorded] = {}
        self.off = False

    def passed(self, batch: Batch, progress: float, precision: str) -> Output:
        if self.off or not self.model.steady(progress):
            return passed(self.model, batch, progress, precision)
        shape = tuple((one.shape, one.dtype) for one in tree_leaves(batch)), self.model.training
        self.seen[shape] += 1
        if shape not in self.kept:
            if self.seen[shape] <= SEEN or len(self.kept) >= MOST:
                return passed(self.model, batch, progress, precision)
            try:
                self.kept[shape] = self._recorded(batch, progress, precision)
            except RuntimeError as error:  # an operation that waits for the GPU, in a part of somebody's own
                self.off = True
                self.model.zero_grad(set_to_none=True)
                self.warn(f"training without CUDA graphs ({str(error).splitlines()[0][:100]})")
                return passed(self.model, batch, progress, precision)
        return self._replayed(self.kept[shape], batch, progress)

    def _recorded(self, batch: Batch, progress: float, precision: str) -> _Recorded:
        own = tree_map(torch.clone, batch)
        device = self.parameters[0].device
        count, done = (torch.tensor(float(one), device=device) for one in (self.model.count(batch), progress))
        self.model.zero_grad(set_to_none=True)  # gradients of the graph's own, which no other step writes to

        def work() -> Made:
            with precise(device, precision, self.model.wide):
                output: Output = self.model(own, done)
            (output.total / count).backward()  # type: ignore[no-untyped-call]
            shown = {} if output.shown is None else {"shown": output.shown.detach()}
            gradients = [one.grad for one in self.parameters]
            return {"total": output.total.detach(), "notes": dict(output.notes), "gradients": gradients, **shown}

        made, replay = self.record(work)
        return _Recorded(own, done, count, made, replay)

    def _replayed(self, one: _Recorded, batch: Batch, progress: float) -> Output:
        for own, new in zip(tree_leaves(one.batch), tree_leaves(batch), strict=True):
            own.copy_(new, non_blocking=True)
        count = self.model.count(batch)
        one.count.fill_(count)
        one.progress.fill_(progress)
        one.replay()
        for parameter, gradient in zip(self.parameters, one.made["gradients"], strict=True):
            parameter.grad = gradient
        notes: Mapping[str, Tensor] = one.made["notes"]
        shown = one.made.get("shown")
        # Copies: the next replay writes to the same place.
        return Output(
            one.made["total"].clone(),
            count,
            {name: number.clone() for name, number in notes.items()},
            None if shown is None else shown.clone(),
        )
