"""What a person calls from Python: `train` and `load`. The command line calls the same.

result = regard.train("translate", data="pairs.tsv", out="runs/mine", time="5m")
regard.load("runs/mine")("Dienstag, 5. März 2024").text
"""

import json
import time as clock
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from regard.data.load import load as load_data
from regard.data.splits import Splits
from regard.errors import RegardError
from regard.find import build, call, find, full, nearest, settable
from regard.measure import Results
from regard.merged import flat, gone_on, merge
from regard.room import network_of
from regard.tasks._features import Features
from regard.tasks._features import checked as in_features
from regard.tasks._given import given
from regard.tasks._without import Without, checked
from regard.train.card import card
from regard.train.device import device_of, precise, usable_cores
from regard.train.doubts import doubts_of
from regard.train.ending import advised, longer, tested
from regard.train.lock import Hold, held
from regard.train.loop import Outcome, fit
from regard.train.progress import Progress
from regard.train.run import Run, plain
from regard.train.schedule import seconds
from regard.train.suggest import Choice, Facts, Parts, Recipe, nested
from regard.train.task import Task
from regard.train.threads import restored
from regard.trust import Trust, outside
from regard.types import Example, Prediction

__all__ = ["Model", "configure", "flat", "load", "merge", "prepare", "train"]

FEW_VALID = 200  # examples that are answered where there is no test set


class Model:
    """A trained run, ready to predict: `model("text")`, `model(["text", …])`, `model(("premise", "hypothesis"))`."""

    def __init__(self, run: Run, task: Any, network: nn.Module) -> None:
        self.run, self.task, self.network = run, task, network
        self.config = run.config

    def __call__(self, texts: str | Sequence[str] | Sequence[Sequence[str]], look: bool = True, **search: Any) -> Any:
        """The prediction for a text, or a list of predictions for several texts. Takes search options: `beam_size=10`.

        A task with two inputs takes a tuple, `model(("premise", "hypothesis"))`, or a list of them.
        """
        pair = self.inputs > 1 and isinstance(texts, tuple) and all(isinstance(text, str) for text in texts)
        single = isinstance(texts, str) or pair
        found = self.predict([texts] if single else texts, look, **search)  # type: ignore[list-item]
        return found[0] if single else found

    def predict(
        self,
        texts: Sequence[str] | Sequence[Sequence[str]],
        look: bool = True,
        places: Sequence[Example] = (),
        trace: bool = False,
        without: Without = (),
        features: Features = (),
        **search: Any,
    ) -> list[Prediction]:
        """Predictions in order; `places` says where each text was read, for messages; `trace` keeps the search's steps.

        `without` drops tokens before the model reads them: one entry per text, with token indices for each input.
        `features` also shows single features of feature-wise attention: how many, or a list of their numbers.
        """
        if trace and not self.searches:
            raise RegardError(f"{self.config['task']} has no search", do="remove trace")
        rows, chosen = [self._row(text) for text in texts], self._search(search)
        with torch.inference_mode(), self.precision():
            more: dict[str, Any] = {"trace": True} if trace else {}
            if without:
                more["without"] = checked(self.task, without, len(rows), self.inputs)
            more |= {"features": in_features(self.task, features)} if features else {}
            return self.task.predict(self.network, rows, look, chosen, places, **more)  # type: ignore[no-any-return]

    def score(
        self, rows: Sequence[Sequence[str]], look: bool = True, places: Sequence[Example] = ()
    ) -> list[Prediction]:
        """Score given targets, `model.score([("source", "target"), …])`: the log-probability of each target and of its
        tokens, and the attention. A language model takes the texts themselves."""
        with torch.inference_mode(), self.precision():
            return given(self.task, self.network, rows, look, places)

    @property
    def inputs(self) -> int:
        """Number of texts for one prediction."""
        return max(1, self.task.columns - 1)  # type: ignore[no-any-return]

    @property
    def searches(self) -> bool:
        """Whether predictions are searched for token by token, so that search options apply."""
        return hasattr(self.task, "search")

    def wrong_count(self, texts: int) -> RegardError:
        """What is said of so many texts where others are taken."""
        given, taken = (f"{n} {word}{'s' * (n != 1)}" for n, word in ((texts, "text"), (self.inputs, "input")))
        roles = f" ({', '.join(self.task.roles)})" if self.inputs > 1 and hasattr(self.task, "roles") else ""
        return RegardError(f"{given} for a task with {taken}{roles}")

    def _row(self, text: str | Sequence[str]) -> tuple[str, ...]:
        row = (text,) if isinstance(text, str) else tuple(text)
        if len(row) != self.inputs:
            raise self.wrong_count(len(row))
        return row

    def evaluate(self, examples: Sequence[Any], **search: Any) -> dict[str, float | str]:
        """Every metric of the task on examples, with full decoding."""
        return self.task.measure(self.results(examples, **search))  # type: ignore[no-any-return]

    def results(self, examples: Sequence[Any], **search: Any) -> Results:
        """The predictions for examples, for computing metrics."""
        chosen = self._search(search)
        with torch.inference_mode(), self.precision():
            return self.task.results(self.network, examples, search=chosen)  # type: ignore[no-any-return]

    def precision(self) -> torch.autocast:
        """The precision it was trained in."""
        device = next(self.network.parameters()).device
        return precise(device, self.config["train"]["precision"], self.network)

    def _search(self, options: Mapping[str, Any]) -> Any:
        """The run's own search with other options, or another one (`name="sample"`) with these alone; None for none."""
        if not options:
            return None
        if not self.searches:
            raise RegardError(f"{self.config['task']} has no search", do="remove the search options")
        own = {"search": self.config.get("search", "beam")}
        return build("search", merge(own, {"search": options})["search"])

    def data(self) -> Splits:
        """The data this run was trained on, read again."""
        return read(self.task, self.config)

    def __repr__(self) -> str:
        size = sum(p.numel() for p in self.network.parameters())
        return f"<regard {self.config['task']} model, {size:,} parameters, from {self.run.folder}>"


def configure(task: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The whole configuration of a run: what was asked for over the task's presets over every part's defaults."""
    _tables(options)
    kind = find("tasks", task)
    builtin = options.get("data", {}).get("train") in (None, "", kind.default_data)
    asked = merge(kind.preset if builtin else {}, {key: value for key, value in options.items() if key != "task"})
    parts = {key: value for key, value in asked.items() if key not in ("data", "train")}
    known = [*settable(kind), "data", "train"]
    for key in parts:
        if key not in known:
            raise RegardError(f"unknown option {key!r}", do=nearest(key, known))
    config = {
        "task": task,
        "data": full(load_data, asked.get("data", {}), "data."),
        "train": full(fit, asked.get("train", {}), "train."),
        **full(kind, parts),
    }
    return plain(config)  # type: ignore[no-any-return]


def _tables(config: Mapping[str, Any]) -> None:
    for name in ("data", "train"):
        if not isinstance(given := config.get(name, {}), Mapping):
            raise RegardError(f"{name}: got {given!r:.50}", expected="a table of options")


def make_task(config: Mapping[str, Any]) -> Task:
    _tables({"data": None, "train": None, **config})
    options = {key: value for key, value in config.items() if key not in ("task", "data", "train")}
    return build("tasks", {"name": config["task"], **options})  # type: ignore[no-any-return]


def read(task: Any, config: Mapping[str, Any]) -> Splits:
    """The data a configuration names, as the task, or its class alone, wants it."""
    given = {"default": task.default_data, "columns": task.columns, "known": getattr(task, "known", ())}
    return call(load_data, config["data"], **given, labels=getattr(task, "labels_of", None))  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Prepared:
    """All that training needs: configuration, task with its words, data, fresh model."""

    config: dict[str, Any]
    task: Any
    splits: Splits
    network: nn.Module
    choices: tuple[Choice, ...] = ()  # options that were chosen to suit the data, the device and the time


def prepare(task: str, options: Mapping[str, Any], run: Run | None = None) -> Prepared:
    """Read the data, learn the words, build the model, for a `run` that goes on if it fits; nothing is written."""
    config = configure(task, options)
    seconds(config["train"]["time"])  # what the loop could not use is said before anything is written
    device_of(config["train"]["device"])
    splits = read(make_task(config), config)
    choices: tuple[Choice, ...] = ()
    if run is None:  # one that goes on keeps what was chosen when it began
        config, choices = suited(task, options, config, splits)
    made = make_task(config)
    made.learn(splits.train)
    made.items([*splits.valid, *splits.test])  # what is too long there is better told before the training than after it
    splits.validates(config["data"]["train"] or made.default_data)
    torch.manual_seed(config["train"]["seed"])
    if choices:
        chosen = f"options chosen for {choices[0].why}; --dry-run shows each with its reason"
        made.notes = (*made.notes, chosen)
    if run is not None:
        run.check_room(lambda: network_of(made))
    return Prepared(config, made, splits, network_of(made), choices)


def suited(
    task: str, options: Mapping[str, Any], config: dict[str, Any], splits: Splits
) -> tuple[dict[str, Any], tuple[Choice, ...]]:
    """The configuration with what the user left open chosen by the task's recipe, and those choices.

    A task's own data comes with options measured for it, and a run that goes on has all of its options already.
    """
    kind = find("tasks", task)
    recipe: Recipe | None = getattr(kind, "recipe", None)
    plan = config["train"]
    own = config["data"]["train"] not in ("", kind.default_data)
    if recipe is None or not plan["auto"] or not own or not splits.train:
        return config, ()
    facts = Facts.of(splits.train, device_of(plan["device"]).type, usable_cores(), seconds(plan["time"]))
    parts = Parts(kind, options)
    chosen = recipe(facts, parts)
    asked = {key: value for key, value in options.items() if key != "task"}
    config = configure(task, merge(nested(chosen, parts), asked))
    final = dict(flat(config))
    return config, tuple(choice for choice in chosen if final.get(choice.key) == choice.value)


@dataclass(frozen=True)
class Trained:
    """What training came to: the model, how it ended, its measures on the test set (if there is one), the data.

    `tested` is the number of test examples measured: all of them, unless the time limit left room for fewer."""

    model: Model
    outcome: Outcome
    test: dict[str, float | str]
    splits: Splits
    tested: int = 0
    longer: str = ""  # the command that would train it for longer
    warnings: tuple[str, ...] = ()  # why it seems not to have learned, and what to do, one line each


def train(
    task: str,
    data: str | Mapping[str, Any] = "",
    out: str | Path = "",
    time: str = "",
    fresh: bool = False,
    quiet: bool = False,
    trust: bool = False,
    started: float | None = None,
    **options: Any,
) -> Trained:
    """Train a model for a task, or resume a run; the run is saved to `out` (default: runs/TASK).

    `data` is the training data, or a table with the options of `data`. Other options are tables by name, for example
    `encoder={"hidden": 64}, train={"lr": 2e-3}`. If `out` is already a run, it is resumed: its options are the
    defaults, and the options given now may change how long and where it trains. `trust` allows it to import code that
    is not named here. `time` limits everything from reading the data to testing, counted from `started` (a
    `time.monotonic()`; default: now).
    """
    started = clock.monotonic() if started is None else started
    asked: dict[str, Any] = dict(options)
    if data:
        asked["data"] = {"train": data} if isinstance(data, str) else data
    if time:
        asked["train"] = merge(asked.get("train", {}), {"time": time})
    folder = Path(out or f"runs/{task}")
    with held(folder, Run.is_in(folder)) as hold, Progress(quiet) as show, restored():
        # Held before the data is read: who comes second learns it at once.
        return _train(task, asked, folder, fresh, show, started, trust, hold)


def resume(
    task: str, asked: Mapping[str, Any], folder: Path, fresh: bool = False, trust: bool = False
) -> tuple[Run | None, Prepared]:
    """The run that a training goes on with, if the folder holds one and `fresh` is not asked for, and what it needs."""
    trusted = trust or set(outside(configure(task, asked)))  # what is asked for here needs no trust
    if fresh or not Run.is_in(folder):
        return None, prepare(task, asked)
    run = Run.open(folder, trusted)
    options = gone_on(run.folder, run.config, {**asked, "task": task}, lambda o: configure(task, o))
    return run, prepare(task, options, run)


def _train(
    task: str,
    asked: dict[str, Any],
    folder: Path,
    fresh: bool,
    show: Progress,
    started: float,
    trust: bool,
    hold: Hold,
) -> Trained:
    show.phase("reading", "the data")
    run, ready = resume(task, asked, folder, fresh, trust)
    if run is None:
        if Run.is_in(folder):
            if clear := getattr(ready.task, "clear", None):  # what `finish` wrote there
                clear(folder)
            Run.remove(folder)
        run = Run.create(folder, ready.config, ready.task.keep(), ready.network)
        hold()
    elif json.loads(json.dumps(ready.task.keep())) != run.kept:
        raise RegardError(
            f"the training data is not what {folder} was started with", do="use --fresh to start over, or another --out"
        )
    else:
        run.configure(ready.config)
    given = {"task": ready.task, "splits": ready.splits, "run": run, "model": ready.network}
    outcome: Outcome = call(fit, ready.config["train"], **given, show=show, began=started)
    model = Model(run, ready.task, ready.network.eval())
    if outcome.stopped is not None:
        return Trained(model, outcome, {}, ready.splits)
    if finish := getattr(ready.task, "finish", None):
        finish(run, ready.network, ready.splits)  # more than the run itself, where a task has that to write
    held_out = ready.splits.test or ready.splits.valid[:FEW_VALID]
    results = tested(model.results, held_out, outcome.budget, show)
    show.phase("computing metrics", f"for {len(results.examples):,} predictions")
    command = longer(run, outcome)
    warnings = advised(doubts_of(model, results, ready.splits.train, outcome.epochs), command, outcome)
    test: dict[str, float | str] = ready.task.measure(results) if ready.splits.test else {}
    count = len(results.examples) if test else 0
    show.phase("writing", "card.md")
    if outcome.per_second or not (folder / "card.md").exists():
        card(run, outcome, ready.splits, ready.network, test, count, warnings)
    return Trained(model, outcome, test, ready.splits, count, command, warnings)


def load(folder: str | Path, device: str = "auto", trust: Trust = False) -> Model:
    """Load a trained run. `trust` allows the run to import classes that are not part of regard."""
    run = Run.open(Path(folder), trust)
    task = run.built(lambda: make_task(run.config))
    run.load_words(task)
    run.check_sizes(lambda: network_of(task))
    network = run.built(lambda: network_of(task))
    run.load_weights(network)
    return Model(run, task, network.to(device_of(device)).eval())
