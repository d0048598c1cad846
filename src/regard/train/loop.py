"""Training loop: batches, loss, optimizer step, validation with real decoding, saving and resuming.

Everything that determines the result (weights, optimizer, averages, random state, position in the data, plan) is in
`state/`, so a run resumes bit for bit.

    outcome = fit(task, splits, run, model, Progress(), None, epochs=20, rate=2e-3)
"""

import copy
import math
import time as clock
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from typing import Annotated, Any, Literal

import torch
from torch import nn
from torch.utils.data import DataLoader

from regard.data.batch import through
from regard.data.splits import Splits
from regard.errors import RegardError
from regard.files import sweep
from regard.find import nearest
from regard.ranges import BatchSize, BelowOne, Count, FewOrNone, NonNegative, Number, Range, Seed
from regard.train import about, checkpoint
from regard.train.budget import NO_LIMIT, PROBE, Budget, seconds_each
from regard.train.curve import draw
from regard.train.device import device_of, precise, usable_cores, widest
from regard.train.distribute import Processes
from regard.train.ema import Ema
from regard.train.graphs import Graphs
from regard.train.layers import rates
from regard.train.log import Log
from regard.train.progress import Progress
from regard.train.progress import clock as spoken
from regard.train.resume import lost, resumed
from regard.train.run import Run
from regard.train.schedule import Decay, Plan, seconds
from regard.train.state import TrainState, digest
from regard.train.step import step
from regard.train.stop import Stop
from regard.train.task import Encoded, Task
from regard.train.threads import quicker, usable
from regard.train.track import ReportTo, Tracking
from regard.types import Batch, Network

__all__ = ["Outcome", "fit"]

# How often the loop looks at the loss, in steps, and in seconds where steps are slow; looking makes a GPU wait.
GLANCE, SECONDS = 20, 1.0
# Seconds after which it is tried again whether several threads are quicker than one.
AGAIN = 30.0
# Small data has short epochs; validating after each would take more time than training.
RARELY = 100


@dataclass(frozen=True)
class Outcome:
    """How a training ended: done, or stopped by a signal (its number) and ready to resume."""

    step: int
    best: float
    stopped: int | None
    seconds: float
    per_second: float  # tokens or examples, as the task counts; 0 where nothing was left to do
    counts: str = "tokens"
    ended: Literal["", "steps", "time", "patience"] = ""  # what ended it, if nobody stopped it
    epochs: float = 0.0
    budget: Budget = NO_LIMIT  # what is left of the time


def fit(
    task: Task,
    splits: Splits,
    run: Run,
    model: Network,
    show: Progress,
    began: float | None,
    *,
    epochs: Annotated[Number, "passes over the training data"] = 30,
    steps: Annotated[Count, "optimizer steps to train for, instead of epochs; 0 uses epochs"] = 0,
    time: Annotated[str, "time limit for the whole run, for example 90s, 5m or 1h30m; empty for no limit"] = "",
    batch_tokens: Annotated[BatchSize, "largest number of tokens in a batch, padding included; 0 for no limit"] = 4096,
    batch_size: Annotated[BatchSize, "largest number of examples in a batch; 0 for no limit"] = 0,
    lr: Annotated[float, Range(0, 1000, above=True), "peak learning rate of AdamW"] = 1e-3,
    warmup: Annotated[Count, "warm-up steps of the learning rate; at most a quarter of all steps"] = 200,
    decay: Annotated[Decay, "learning-rate schedule after the warm-up"] = "cosine",
    weight_decay: Annotated[NonNegative, "weight decay of AdamW, on matrices only"] = 0.01,
    layer_decay: Annotated[
        float,
        Range(0, 1, above=True),
        "factor from each layer of the encoder to the one below it, for the learning rate; 1 gives all the same",
    ] = 1.0,
    accumulate: Annotated[Number, "batches whose gradients are added up for one optimizer step"] = 1,
    clip: Annotated[NonNegative, "largest gradient norm (clipping); 0 turns clipping off"] = 1.0,
    ema: Annotated[
        BelowOne, "decay of the moving average of the weights that is validated and saved; 0 turns it off"
    ] = 0.999,
    validate_every: Annotated[
        Count, "steps between validations; 0 validates after each epoch, but not more often than every 100 steps"
    ] = 0,
    max_validation: Annotated[Number, "largest number of validation examples to use, from the start of the set"] = 2000,
    patience: Annotated[Number, "validations without improvement before training stops"] = 10,
    save_every: Annotated[Count, "seconds between saves of the training state, for resuming"] = 60,
    seed: Annotated[Seed, "seed of weights, batches and dropout"] = 1,
    device: Annotated[str, "device to train on: cpu, cuda, mps, or auto to use a GPU if there is one"] = "auto",
    precision: Annotated[
        Literal["auto", "float32", "bf16"],
        "precision of the forward pass; auto uses bf16 on GPUs where it is faster",
    ] = "auto",
    graphs: Annotated[
        bool, "on a GPU, record training steps as CUDA graphs and replay them, for models whose steps are all alike"
    ] = False,
    threads: Annotated[
        FewOrNone, "CPU threads for PyTorch; 0 chooses one per core, or a single one if that is faster"
    ] = 0,
    workers: Annotated[
        int, Range(-1, 64), "processes that decode pictures or sound; -1 is one per two cores, and none for text"
    ] = -1,
    keep_examples: Annotated[
        int, Range(0, 10), "validation inputs saved with the run, for its page to offer as examples; 0 saves none"
    ] = 3,
    auto: Annotated[bool, "choose the options you did not set from the data, the device and the time limit"] = True,
    report_to: Annotated[ReportTo, "experiment tracker that also gets the figures of log.jsonl"] = "none",
) -> Outcome:
    """Train until all steps are done, patience runs out or a signal arrives; `model` then holds the best weights.

    The plan is `steps`, or else `epochs`; `time`, counted from `began` (None: now), shortens it if the machine is too
    slow, and leaves time for the test. A batch has up to `batch_tokens` padded tokens, or `batch_size` examples,
    all processes together; a step takes `accumulate` batches.
    Validation comes every `validate_every` steps (0: once per epoch, not within 100 steps) on the first
    `max_validation` examples, less often and on fewer if it would take too much of `time`. State is saved then, and
    every `save_every` seconds. Gradients are clipped to the norm `clip` (0: no clipping). On a CPU PyTorch uses
    `threads` threads (0: one per core, or one if that is faster). `auto` is read before all this: options that are not
    set are chosen for the data, the device and the time (see `suggest`). `graphs` allows CUDA graphs (see `graphs`).
    `report_to` names a tracker (see `track`).
    """
    began, team = clock.monotonic() if began is None else began, Processes.now()
    where, limit = device_of(device), seconds(time)
    team.align(model.to(where))
    # The first stores what is too large for the memory; the others then find it.
    items = task.stored(splits.train, run.folder) if team.first else None
    team.told()
    stored = task.stored(splits.train, run.folder) if items is None else items
    parts, best = task.parts(stored), task.metrics.best

    def batches_of(epoch: int) -> Iterator[list[list[int]]]:
        """The batches of each step, of each batch the rows for this process."""
        every = through(parts, tokens=batch_tokens, rows=batch_size, seed=seed, epoch=epoch)
        cut = map(team.share, every)
        while some := list(islice(cut, accumulate)):
            yield some

    an_epoch = sum(1 for _ in batches_of(0))
    wanted, validate_every = steps or epochs * an_epoch, validate_every or max(an_epoch, RARELY)
    optimiser = torch.optim.AdamW(
        _groups(model, weight_decay, layer_decay), lr=lr, betas=(0.9, 0.98), fused=where.type == "cuda"
    )
    mean = Ema(model, ema)
    log = Log(run.folder / "log.jsonl")
    torch.manual_seed(seed + (team.rank << 32))  # each process has a dropout of its own
    fresh = TrainState(digest(splits.train), wanted, wanted, limit, processes=team.size)
    if team.told(fresh.data) != fresh.data:
        raise RegardError(f"process {team.rank} reads other training data than the first", do="give all the same files")
    restored = checkpoint.restore(run.state, model, optimiser, mean.mean, fresh.data) if team.first else None
    place, gone = fresh, list[str]()
    if team.first:
        place = resumed(fresh, run, restored.place if restored else None, patience)
        gone = lost(run, model, mean, place)
    place = place if team.alone else TrainState.read(team.told(asdict(place)))
    if not team.first and place.step:
        checkpoint.restore(run.state, model, optimiser, mean.mean, fresh.data)
    earlier = 0.0 if place.finished else place.spent - place.before  # of the same budget
    budget = Budget(limit, began - earlier, lambda: clock.monotonic())
    if team.first:
        log.cut(place.step)
        sweep(run.folder)
        about.keep(run, task, splits, keep_examples)

    spent_before, first = place.spent, place.step
    saved, sitting, tokens_before = clock.monotonic(), clock.monotonic(), place.tokens
    loss_sum = torch.tensor(place.loss_sum, device=where, dtype=widest(where))
    noted: dict[str, list[torch.Tensor]] = {}  # since the last glance; only shown and logged
    notes: dict[str, float] = {}
    latest, told = "", False  # what was measured last; whether a shorter warm-up was mentioned

    def spent() -> float:
        return spent_before + clock.monotonic() - began

    def save() -> None:
        place.spent, place.loss_sum = spent(), float(loss_sum)
        checkpoint.save(run.state, model, optimiser, mean.mean, place)

    def speed() -> float:
        return (place.tokens - tokens_before) / max(1e-9, clock.monotonic() - sitting)

    def probe() -> None:
        """Measures how long a validation and the test would take, without any effect on the training."""
        before, held = clock.monotonic(), splits.valid[:max_validation]
        with _aside(model, mean, where, precision), torch.random.fork_rng([where] if where.type == "cuda" else []):
            if not budget.probed:  # the first answer also pays for what is done once
                task.results(model, held[:1], quick=True)
            each = seconds_each(
                lambda some: task.results(model, some, quick=True), held, PROBE * limit, clock.monotonic
            )
            if math.isnan(place.best):  # once there is a best, the next must be of the same examples
                fitting = budget.fitting(len(held), each)
                place.checked = fitting if fitting < len(held) else 0
            budget.validation = each * (place.checked or len(held))
            if splits.test:
                each = seconds_each(lambda some: task.results(model, some), splits.test, PROBE * limit, clock.monotonic)
                budget.test = each * len(splits.test)
        budget.probed = True
        budget.validated += clock.monotonic() - before

    most = threads or (usable() if where.type == "cpu" else 0)
    if most:
        torch.set_num_threads(min(place.threads, most) if place.threads and not threads else most)

    def choose_threads(batch: Batch, progress: float, rounds: int) -> None:
        """Chooses several threads or one by timing a copy of the model."""
        trial = copy.deepcopy(model)

        def work() -> None:
            loss = trial(batch, progress)
            (loss.total / loss.count).backward()
            trial.zero_grad(set_to_none=True)

        with torch.random.fork_rng([]):
            place.threads = quicker(work, most, clock.monotonic, rounds)

    forward, tracker = team.wrapped(model), "none" if place.finished or not team.first else report_to
    with Stop(team.size) as stop, Tracking(tracker, run, place.step, stop, show.warn) as track:
        for line in (*(restored.damaged if restored else ()), *gone):
            show.warn(line)
        if place.step and not place.finished:
            show.say(f"resuming at step {place.step} of {place.steps}")
        if not place.finished:
            show.phase("training", f"on {where.type}, {len(splits.train):,} examples, {an_epoch:,} batches per epoch")
            if budget.limited and budget.left() < 0.5 * limit:
                show.say(f"{spoken(limit - budget.left())} of {spoken(limit)} passed before the first step")
        model.train()
        several = accumulate > 1 or not team.alone
        recorded = Graphs(model, show.warn) if graphs and where.type == "cuda" and not several else None

        def of_epoch(epoch: int) -> Sequence[Encoded]:
            return task.of_epoch(stored, epoch, seed)

        stream = _stream(place, batches_of, of_epoch, task.collate, workers_for(task, workers))
        may_choose, tried = not threads and most > 1 and team.alone, clock.monotonic()
        glanced, counted = clock.monotonic(), place.step
        while not place.finished and stop.asked is None:
            batch = [one.to(where) for one in next(stream)]
            progress = place.step / place.steps
            if may_choose and not place.threads:
                choose_threads(batch[0], progress, rounds=3)
            plan = Plan(place.steps, warmup, decay)
            if plan.shortened and not told and place.step < warmup:  # time may cut the plan on the way, too
                show.say(plan.shortened)
                told = True
            for group in optimiser.param_groups:
                group["lr"] = lr * plan.rate(place.step) * group["share"]
            how = partial(step, clip=clip, precision=precision, graphs=recorded, forward=forward)
            loss = how(model, batch, optimiser, progress)
            place.step += 1
            mean.update(place.step)
            place.tokens += loss.count
            loss_sum += loss.total.detach() if loss.shown is None else loss.shown
            place.loss_count += loss.count
            for name, number in loss.notes.items():
                noted.setdefault(name, []).append(number)

            # Just before the end of a limited time it would be made twice: the last step always validates.
            validate = place.step % validate_every == 0 and (
                not budget.limited or place.steps - place.step >= validate_every // 4
            )
            slow = place.step == first + 1 or clock.monotonic() - glanced >= SECONDS
            glances = place.step % GLANCE == 0 or validate or slow or place.step >= place.steps or budget.over()
            if team.first and glances:
                value = float(loss_sum) / max(1, place.loss_count)
                if not math.isfinite(value):
                    raise RegardError(f"the loss became {value} at step {place.step}", do="lower train.lr")
                if place.step > first + 1:  # the first is no measure: kernels are compiled, memory is fetched
                    budget.stepped(place.step - counted, clock.monotonic() - glanced)
                if not budget.over() and (budget.due() or (validate and budget.limited and not budget.probed)):
                    probe()
                validate = validate and budget.may_validate()
                place.steps = budget.plan(wanted, place.step, validate_every)
                notes = {name: float(torch.stack(some).mean()) for name, some in noted.items()}
                noted.clear()
                aside = "".join(f"  {name} {number:.3g}" for name, number in notes.items())
                figures_now = f"loss {value:.3f}{aside}{latest}  {speed():,.0f} {task.counts}/s"
                show.step(
                    place.step, place.steps, figures_now, budget.remaining(place.step, place.steps, validate_every)
                )
                glanced, counted = clock.monotonic(), place.step
            if team.first and (validate or place.step >= place.steps):
                held = splits.valid[: place.checked or max_validation]
                show.phase("validating", f"{len(held):,} examples")
                with _aside(model, mean, where, precision):
                    figures = task.measure(task.results(model, held, quick=True))
                    if best not in figures:
                        raise RegardError(
                            f"best_metric={best!r} is not a metric of this task", do=nearest(best, figures)
                        )
                    place.since += 1
                    new = float(figures[best])
                    if not place.ready and (model.ready(progress) or place.step >= place.steps):
                        place.ready, place.best = True, math.nan
                    if math.isnan(place.best) or task.metrics.better(new, place.best):
                        place.since = 0
                    if place.since == 0 or new == place.best:  # of equals the later: it has learned for longer
                        place.best = new
                        run.save_weights(model)
                event = {
                    "loss": value,
                    "valid": figures,
                    "epoch": place.epoch,
                    "lr": lr * plan.rate(place.step - 1),
                    "seconds": round(spent(), 2),
                    f"{task.counts}_per_second": round(speed()),
                    **({"notes": notes} if notes else {}),
                }
                log.add(place.step, **event)
                track.add(place.step, event)
                latest = f"  {best} {figures[best]:.4g}"
                shown = (f"{name} {number:.4g}" for name, number in figures.items() if isinstance(number, float))
                show.say(f"step {place.step}: loss {value:.4f}; valid: " + ", ".join(shown))
                loss_sum.zero_()
                place.loss_count = 0
                place.finished = place.step >= place.steps or (place.ready and place.since >= patience)
                budget.validation = clock.monotonic() - glanced
                budget.validated += budget.validation
                glanced = clock.monotonic()
            saving = validate or place.finished or clock.monotonic() - saved > save_every
            if not team.alone:
                decided, asked = team.agreed([place.steps, place.finished, saving], stop.asked or 0)
                place.steps, place.finished, saving = decided[0], bool(decided[1]), bool(decided[2])
                stop.asked = asked or None
            if saving:
                if may_choose and not place.finished and clock.monotonic() - tried > AGAIN:
                    choose_threads(batch[0], progress, rounds=1)  # now, so that what is saved goes on with what it says
                    tried = clock.monotonic()
                save()
                saved = clock.monotonic()
        if stop.asked is not None:
            save()
    if team.first:
        draw(run.folder)
        run.load_weights(model)
    epochs_seen = place.step / max(1, an_epoch)
    if not place.finished:
        return Outcome(place.step, place.best, stop.asked, spent(), speed(), task.counts, "", epochs_seen, budget)
    ended: Literal["steps", "time", "patience"] = "steps" if place.step >= place.wanted else "time"
    if place.ready and place.since >= patience:
        ended = "patience"
    return Outcome(place.step, place.best, None, spent(), speed(), task.counts, ended, epochs_seen, budget)


@contextmanager
def _aside(model: Network, mean: Ema, where: torch.device, precision: str) -> Iterator[None]:
    """The averaged model in evaluation mode, within the block."""
    with ExitStack() as stack:
        model.eval()
        stack.callback(model.train)
        stack.enter_context(mean.applied())
        stack.enter_context(precise(where, precision, model.wide))
        yield


def _groups(model: nn.Module, weight_decay: float, layer_decay: float) -> list[dict[str, Any]]:
    """Weight decay applies to matrices, not to vectors (biases, gains). Each layer has its share of the learning rate.
    There are two groups where all have the same, even empty ones: their order counts when a run is resumed."""
    names, parameters = zip(*model.named_parameters(), strict=True)
    shares = rates(names, layer_decay)
    return [
        {"params": some, "weight_decay": decay, "share": share}
        for share in sorted(set(shares), reverse=True)
        for decay, matrix in ((weight_decay, True), (0.0, False))
        if (
            some := [
                one
                for one, own in zip(parameters, shares, strict=True)
                if one.requires_grad and own == share and (one.dim() >= 2) is matrix
            ]
        )
        or layer_decay == 1
    ]


def workers_for(task: Task, asked: int) -> int:
    """Processes that decode while the model trains: by default one for every two cores where decoding is slow."""
    if asked >= 0:
        return asked
    return usable_cores() // 2 if any(field.slow for field in task.inputs.values()) else 0


def _collated(collate: Callable[[Sequence[Encoded]], Batch], items: Sequence[Encoded]) -> Batch | RegardError:
    """A batch, or why there is none: an error that a worker process raises would arrive with its traceback."""
    try:
        return collate(items)
    except RegardError as error:
        return error


def _stream(
    place: TrainState,
    batches_of: Callable[[int], Iterator[list[list[int]]]],
    items_of: Callable[[int], Sequence[Encoded]],
    collate: Callable[[Sequence[Encoded]], Batch],
    workers: int,
) -> Iterator[list[Batch]]:
    """The batches of one step after another, epoch after epoch, from where training stands; it keeps the place."""
    while True:
        sizes: deque[int] = deque()  # batches of the steps to come: the loader may run ahead

        def rows(today: Iterator[list[list[int]]], sizes: deque[int] = sizes) -> Iterator[list[int]]:
            for some in today:
                sizes.append(len(some))
                yield from some

        # A generator of its own: the loader would draw from the one that decides the training.
        chance = torch.Generator()
        how: dict[str, Any] = {"collate_fn": partial(_collated, collate), "num_workers": workers, "generator": chance}
        loader: DataLoader[Any] = DataLoader(
            items_of(place.epoch),  # type: ignore[arg-type]
            batch_sampler=rows(islice(batches_of(place.epoch), place.batch, None)),
            **how,
        )
        found: list[Batch] = []
        for batch in loader:
            if isinstance(batch, RegardError):
                raise batch
            found.append(batch)
            if len(found) == sizes[0]:
                sizes.popleft()
                place.batch += 1
                yield found
                found = []
        place.epoch, place.batch = place.epoch + 1, 0
