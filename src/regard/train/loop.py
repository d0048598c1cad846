"""The loop: batches → loss → step, again and again; validated with real decoding, saved, resumed.

Everything that decides the numbers (weights, optimiser, averages, random state, place in the data,
plan) is in `state/`, so a run that was stopped goes on bit for bit as if it never had been.

    outcome = fit(task, splits, run, model, Progress(), None, epochs=20, rate=2e-3)
"""

import copy
import math
import time as clock
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import torch
from torch import nn

from regard.data.batch import batches
from regard.data.splits import Splits
from regard.errors import RegardError
from regard.files import sweep
from regard.find import nearest
from regard.ranges import BatchSize, BelowOne, Count, FewOrNone, NonNegative, Number, Range, Seed
from regard.train import checkpoint
from regard.train.budget import NO_LIMIT, PROBE, Budget, seconds_each
from regard.train.curve import draw
from regard.train.device import device_of, precise, widest
from regard.train.ema import Ema
from regard.train.log import Log
from regard.train.progress import Progress
from regard.train.progress import clock as spoken
from regard.train.resume import lost, resumed
from regard.train.run import Run
from regard.train.schedule import Decay, Plan, seconds
from regard.train.state import TrainState, digest
from regard.train.step import step
from regard.train.stop import Stop
from regard.train.task import Task
from regard.train.threads import quicker, usable
from regard.types import Batch

__all__ = ["Outcome", "fit"]

# How often the loop looks at the loss, in steps, and in seconds where steps are slow; looking makes a GPU wait.
GLANCE, SECONDS = 20, 1.0
# Seconds after which it is tried again whether several threads are quicker than one.
AGAIN = 30.0
# Small data has short epochs; validating after each would take more time than training.
RARELY = 100


@dataclass(frozen=True)
class Outcome:
    """How a training ended: done, or stopped by a signal (its number) and ready to go on."""

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
    model: nn.Module,
    show: Progress,
    began: float | None,
    *,
    epochs: Annotated[Number, "passes over the training data"] = 30,
    steps: Annotated[Count, "optimizer steps to take instead of epochs; 0 counts epochs"] = 0,
    time: Annotated[str, "time limit for the whole run, as 90s, 5m or 1h30m; empty sets none"] = "",
    batch_tokens: Annotated[BatchSize, "tokens in a batch, padding counted; 0 sets no limit"] = 4096,
    batch_size: Annotated[BatchSize, "examples in a batch; 0 sets no limit"] = 0,
    lr: Annotated[float, Range(0, 1000, above=True), "peak learning rate of AdamW"] = 1e-3,
    warmup: Annotated[Count, "steps over which the learning rate rises; at most a quarter of all steps"] = 200,
    decay: Annotated[Decay, "how the learning rate falls after the warm-up"] = "cosine",
    weight_decay: Annotated[NonNegative, "weight decay of AdamW, on matrices only"] = 0.01,
    clip: Annotated[NonNegative, "largest norm of the gradient; 0 does not clip"] = 1.0,
    ema: Annotated[
        BelowOne, "decay of the moving average of the weights that is validated and saved; 0 turns it off"
    ] = 0.999,
    validate_every: Annotated[Count, "steps between validations; 0 is an epoch, but at least 100 steps"] = 0,
    max_validation: Annotated[Number, "examples of the validation set to use, the first ones"] = 2000,
    patience: Annotated[Number, "validations without a better result after which training ends"] = 10,
    save_every: Annotated[Count, "seconds between saves of the training state, for resuming"] = 60,
    seed: Annotated[Seed, "seed of weights, batches and dropout"] = 1,
    device: Annotated[str, "where to train: cpu, cuda, mps, or auto for a GPU if there is one"] = "auto",
    precision: Annotated[
        Literal["auto", "float32", "bf16"],
        "floating-point numbers of the forward pass; auto takes bf16 on GPUs that gain by it",
    ] = "auto",
    threads: Annotated[FewOrNone, "CPU threads of PyTorch; 0 is one per core, or one if that is faster"] = 0,
    auto: Annotated[bool, "fit the options you did not set to the data, the device and the time"] = True,
) -> Outcome:
    """Train until the plan is done, patience is out, or a signal asks to stop; `model` then holds the best weights.

    The plan is `steps`, or else `epochs`; `time`, counted from `began` (None: now), shortens it where the machine is
    too slow for it, and leaves time for the test. A batch is filled up to `batch_tokens` padded tokens, or holds
    `batch_size` examples. Validation comes every `validate_every` steps (0: once an epoch, not within 100 steps), over
    the first `max_validation` examples, more seldom and over fewer where it would take too much of `time`; state is
    saved then, and every `save_every` seconds. Gradients are clipped to the norm `clip` (0: they are not). On a CPU
    PyTorch has `threads` threads (0: as many as there are cores, or one where that is quicker), and keeps them. `auto`
    is read before all this: options that nobody set are chosen for the data, the device and the time (see `suggest`),
    or left as they are.
    """
    began = clock.monotonic() if began is None else began
    where, limit = device_of(device), seconds(time)
    model.to(where)
    items = task.items(splits.train)
    lengths = [item.lengths for item in items]

    def batches_of(epoch: int) -> list[list[int]]:
        return batches(lengths, tokens=batch_tokens, rows=batch_size, seed=seed, epoch=epoch)

    an_epoch = len(batches_of(0))
    wanted, validate_every = steps or epochs * an_epoch, validate_every or max(an_epoch, RARELY)
    optimiser = torch.optim.AdamW(_groups(model, weight_decay), lr=lr, betas=(0.9, 0.98), fused=where.type == "cuda")
    mean = Ema(model, ema)
    log = Log(run.folder / "log.jsonl")
    torch.manual_seed(seed)
    fresh = TrainState(digest(splits.train), wanted, wanted, limit)
    restored = checkpoint.restore(run.state, model, optimiser, mean.mean, fresh.data)
    place = resumed(fresh, run, restored.place if restored else None, patience)
    gone = lost(run, model, mean, place)
    earlier = 0.0 if place.finished else place.spent - place.before  # of the same budget
    budget = Budget(limit, began - earlier, lambda: clock.monotonic())
    log.cut(place.step)
    sweep(run.folder)

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
        """How long a validation and the test would take now. It leaves no trace in the training."""
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

    def choose_threads(batch: Batch, rounds: int) -> None:
        """Several or one, tried on a copy of the model. It leaves no trace in the training but the number itself."""
        trial = copy.deepcopy(model)

        def work() -> None:
            loss = task.loss(trial, batch)
            (loss.total / loss.count).backward()  # type: ignore[no-untyped-call]
            trial.zero_grad(set_to_none=True)

        with torch.random.fork_rng([]):
            place.threads = quicker(work, most, clock.monotonic, rounds)

    with Stop() as stop:
        for line in (*(restored.damaged if restored else ()), *gone):
            show.warn(line)
        if place.step and not place.finished:
            show.say(f"resuming at step {place.step} of {place.steps}")
        for note in (*splits.notes, *task.notes):
            show.say(note)
        if not place.finished:
            show.phase("training", f"on {where.type}, {len(splits.train):,} examples, {an_epoch:,} batches per epoch")
            if budget.limited and budget.left() < 0.5 * limit:
                show.say(f"{spoken(limit - budget.left())} of {spoken(limit)} passed before the first step")
        model.train()
        stream = _stream(place, batches_of)
        may_choose, tried = not threads and most > 1, clock.monotonic()
        glanced, counted = clock.monotonic(), place.step
        while not place.finished and stop.asked is None:
            batch = task.collate([items[row] for row in next(stream)]).to(where)
            task.on_step(model, place.step / place.steps)
            if may_choose and not place.threads:
                choose_threads(batch, rounds=3)
            plan = Plan(place.steps, warmup, decay)
            if plan.shortened and not told and place.step < warmup:  # time may cut the plan on the way, too
                show.say(plan.shortened)
                told = True
            for group in optimiser.param_groups:
                group["lr"] = lr * plan.rate(place.step)
            loss = step(task, model, batch, optimiser, clip=clip, precision=precision)
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
            if place.step % GLANCE == 0 or validate or slow or place.step >= place.steps or budget.over():
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
            if validate or place.step >= place.steps:
                held = splits.valid[: place.checked or max_validation]
                show.phase("validating", f"{len(held):,} examples")
                with _aside(model, mean, where, precision):
                    figures = task.measure(task.results(model, held, quick=True))
                    if task.best not in figures:
                        raise RegardError(
                            f"best={task.best!r} is not a metric of this task", do=nearest(task.best, figures)
                        )
                    place.since += 1
                    new = float(figures[task.best])
                    if not place.ready and (task.ready(model) or place.step >= place.steps):
                        place.ready, place.best = True, math.nan
                    if math.isnan(place.best) or task.better(new, place.best):
                        place.since = 0
                    if place.since == 0 or new == place.best:  # of equals the later: it has learned for longer
                        place.best = new
                        run.save_weights(model)
                log.add(
                    place.step,
                    loss=value,
                    valid=figures,
                    epoch=place.epoch,
                    lr=optimiser.param_groups[0]["lr"],
                    seconds=round(spent(), 2),
                    **{f"{task.counts}_per_second": round(speed())},
                    **({"notes": notes} if notes else {}),
                )
                latest = f"  {task.best} {figures[task.best]:.4g}"
                shown = (f"{name} {number:.4g}" for name, number in figures.items() if isinstance(number, float))
                show.say(f"step {place.step}: loss {value:.4f}; valid: " + ", ".join(shown))
                loss_sum.zero_()
                place.loss_count = 0
                place.finished = place.step >= place.steps or (place.ready and place.since >= patience)
                budget.validation = clock.monotonic() - glanced
                budget.validated += budget.validation
                glanced = clock.monotonic()
            if validate or place.finished or clock.monotonic() - saved > save_every:
                if may_choose and not place.finished and clock.monotonic() - tried > AGAIN:
                    choose_threads(batch, rounds=1)  # now, so that what is saved goes on with what it says
                    tried = clock.monotonic()
                save()
                saved = clock.monotonic()
        if stop.asked is not None:
            save()
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
def _aside(model: nn.Module, mean: Ema, where: torch.device, precision: str) -> Iterator[None]:
    """The averaged model, as it will be used, for a while in the middle of training."""
    with ExitStack() as stack:
        model.eval()
        stack.callback(model.train)
        stack.enter_context(mean.applied())
        stack.enter_context(precise(where, precision, model))
        yield


def _groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Matrices shrink, vectors (biases, gains) do not."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]


def _stream(place: TrainState, batches_of: Any) -> Iterator[list[int]]:
    """Rows of one batch after another, epoch after epoch, from where training stands; it keeps the place."""
    while True:
        today = batches_of(place.epoch)
        while place.batch < len(today):
            rows = today[place.batch]
            place.batch += 1
            yield rows
        place.epoch, place.batch = place.epoch + 1, 0
