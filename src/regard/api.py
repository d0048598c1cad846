"""The Python API: `train` and `load`. The command line uses the same functions.

result = regard.train("translate", data="pairs.tsv", out="runs/mine", time="5m")
regard.load("runs/mine")("Dienstag, 5. März 2024").text
"""

import json
import os
import time as clock
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import torch

from regard.data.corpus import read_corpus
from regard.data.given import is_given, options_of, rows_of
from regard.data.histories import columns_of
from regard.data.load import load as load_data
from regard.data.load import load_part
from regard.data.read import Reading
from regard.data.readlog import ReadLog
from regard.data.references import grouped
from regard.data.roles import by_role
from regard.data.splits import Splits
from regard.errors import RegardError, brief, counted
from regard.find import In, build, call, find, full, mark, named, names, nearest, settable
from regard.measure import Results
from regard.merged import flat, gone_on, merge
from regard.networks.reader import Reader
from regard.own_code import class_names
from regard.ranges import Few, within
from regard.room import network_of
from regard.search import Constraints, Search, compiled
from regard.search.beam import fitted
from regard.train.card import card
from regard.train.device import device_of, precise, usable_cores
from regard.train.distribute import Processes, joined
from regard.train.doubts import doubts_of
from regard.train.ending import advised, longer, tested
from regard.train.lock import Hold, held
from regard.train.loop import Outcome, fit
from regard.train.progress import Progress
from regard.train.run import Run, plain
from regard.train.schedule import seconds
from regard.train.start import ENCODER, Start, freeze, take, taken_options
from regard.train.suggest import Choice, Facts, Parts, nested
from regard.train.task import Ask, Capability, DropTokens, Features, Task, places
from regard.train.threads import restored
from regard.train.track import installed
from regard.trust import Trust, outside
from regard.types import Example, Network, Prediction

__all__ = ["Model", "configure", "flat", "load", "merge", "prepare", "train"]

SECTIONS = ("data", "train", "start")  # of a configuration, beside the options of the task
FEW_VALID = 200  # examples that are answered where there is no test set


class Model:
    """A trained run, ready to predict: `model("text")`, `model(["text", …])`, `model(("premise", "hypothesis"))`."""

    def __init__(self, run: Run, task: Task, network: Network) -> None:
        self.run, self.task, self.network = run, task, network
        self.config = run.config

    def __call__(self, texts: str | Iterable[str] | Iterable[Sequence[str]], look: bool = True, **search: Any) -> Any:
        """The same as `predict`."""
        return self.predict(texts, look, **search)

    @overload
    def predict(self, texts: str, *args: Any, **options: Any) -> Prediction: ...

    @overload
    def predict(self, texts: tuple[str, ...], *args: Any, **options: Any) -> Any: ...  # one pair, or several texts

    @overload
    def predict(
        self, texts: Iterable[str] | Iterable[Sequence[str]], *args: Any, **options: Any
    ) -> list[Prediction]: ...

    def predict(
        self,
        texts: str | Iterable[str] | Iterable[Sequence[str]],
        look: bool = True,
        where: Sequence[str] = (),
        trace: bool = False,
        drop_tokens: DropTokens = (),
        features: Features = (),
        layers: str = "",
        top: int = 0,
        **search: Any,
    ) -> Any:
        """The prediction for a text, or a list of predictions for several texts, in their order.

        A task with two inputs takes a tuple, `model.predict(("premise", "hypothesis"))`, or a list of them. Search
        options count for this call: `beam_size=10`. `look=False` leaves the attention maps out, which is faster.

        `where` names each text in messages; `trace` keeps the steps of the search.
        `drop_tokens` drops tokens before the model reads them: one entry per text, with token indices for each input.
        Constraints are options of the search in your own text: `allowed` (the only answers that may come out), `prefix`
        (what every answer begins with), `banned` (words that no answer contains), `min_length` and `no_repeat_ngram`.
        Where several answers are given without a search (answer), `n_best` says how many come back.
        `features` also shows single features of feature-wise attention: how many, or a list of their numbers. `layers`
        chooses the Transformer layers to show: last, mean, all, or a number from 1. `top` is how many items to
        recommend, for tasks that rank.
        """
        pair = self.inputs > 1 and isinstance(texts, tuple) and all(isinstance(text, str) for text in texts)
        single = isinstance(texts, str) or pair
        rows, n_best = self._rows([texts] if single else texts), 0
        if self.task.can("lists") and search.get("name", "beam") == "beam":  # how a longer list is asked of a search
            n_best = int(search.pop("n_best", 0))
            search = {} if search.keys() == {"name"} else search
        chosen = self._search(search)
        if trace:
            self._needs("searches", "trace")
        if drop_tokens:
            self._needs("drops_tokens", "drop_tokens")
            _check_drops(drop_tokens, len(rows), self.inputs)
        if features:
            self._needs("features", "features")
            _check_features(features)
        if top:
            self._needs("ranks", "top")
            within("top", top, Few)
        ask = Ask(look, chosen, trace, drop_tokens, features, n_best=n_best, top=top)
        with torch.inference_mode(), self.precision():
            found = self.task.predict(self.network.showing(layers), rows, ask, where)
        return found[0] if single else found

    def score(
        self, rows: Sequence[Sequence[str]], look: bool = True, where: Sequence[str] = (), layers: str = ""
    ) -> list[Prediction]:
        """Score given targets, `model.score([("source", "target"), …])`: the log-probability of each target and of its
        tokens, and the attention. A language model takes the texts themselves."""
        self._needs("scores", "score")
        roles = tuple(self.task.fields)
        whole = [(row,) if isinstance(row, str) else tuple(row) for row in rows]
        for row, at in zip(whole, places(rows, where), strict=True):
            if len(row) != len(roles):
                raise RegardError(f"{at}: {counted(len(row), 'text')}", expected=f"{len(roles)} ({', '.join(roles)})")
            for role, text in zip(roles, row, strict=True):
                if not text.strip():
                    raise RegardError(f"{at}: an empty {role}", expected="at least one character")
        with torch.inference_mode(), self.precision():
            return self.task.score(self.network.showing(layers), whole, Ask(look), where)

    @property
    def inputs(self) -> int:
        """Number of values for one prediction."""
        return len(self.task.inputs)

    @property
    def searches(self) -> bool:
        """Whether predictions are searched for token by token, so that search options apply."""
        return self.task.can("searches")

    @property
    def roles(self) -> list[dict[str, str]]:
        """The inputs of one prediction, each with its name, its kind and what one is called in a sentence."""
        fields = self.task.inputs.items()
        return [{"name": name, "kind": field.kind, "noun": field.noun or f"a {field.kind}"} for name, field in fields]

    @property
    def features(self) -> bool:
        """Whether single features of feature-wise attention can be shown."""
        return isinstance(self.network, Reader) and self.network.features

    def _needs(self, capability: Capability, option: str) -> None:
        if not self.task.can(capability):
            what = {"searches": "has no search", "scores": "has no texts to score"}
            said = what.get(capability, f"has no {option}")
            raise RegardError(f"{self.config['task']} {said}", do=f"remove {option}")

    def wrong_count(self, texts: int) -> RegardError:
        """The message for a wrong number of inputs."""
        given, taken = (f"{n} {word}{'s' * (n != 1)}" for n, word in ((texts, "text"), (self.inputs, "input")))
        roles = f" ({', '.join(self.task.inputs)})" if self.inputs > 1 else ""
        return RegardError(f"{given} for a task with {taken}{roles}")

    def _rows(self, texts: Any) -> list[tuple[str, ...]]:
        """The inputs of each prediction."""
        wanted = "a text" if self.inputs == 1 else f"a tuple of {self.inputs} texts ({', '.join(self.task.inputs)})"
        if isinstance(texts, bytes | bytearray | Mapping) or not isinstance(texts, Iterable):
            raise RegardError(f"cannot predict for {brief(texts)}", expected=f"{wanted}, or a list of them")
        rows = []
        for number, text in enumerate(texts, 1):
            several = isinstance(text, Iterable) and not isinstance(text, bytes | bytearray | Mapping)
            row = (text,) if isinstance(text, str) or not several else tuple(text)
            if not all(isinstance(one, str) for one in row):
                raise RegardError(f"cannot predict for input {number}: {brief(text)}", expected=wanted)
            if len(row) != self.inputs:
                raise self.wrong_count(len(row))
            rows.append(tuple(map(str, row)))  # plain ones: NumPy has strings of its own
        return rows

    def examples(self, data: Any) -> tuple[list[Example], list[str]]:
        """The examples of a file or of rows given in Python, read as the run's own data was, and what to know of them.

        The columns have the same names, and files are in the same form.
        """
        own, fields = self.config["data"], tuple(self.task.fields.values())
        spec = os.fspath(data) if isinstance(data, str | os.PathLike) else rows_of(data)
        log = ReadLog(own.get("skip", False))
        return load_part(spec, fields, Reading.of(own, columns_of(fields), self.task.known), log), log.notes()

    def evaluate(self, data: Any = None, **search: Any) -> dict[str, float | str]:
        """Every metric of the task, with full decoding: on the run's own test set, or on other data.

        `data` is all that `regard.train` takes for one part: a file name, rows such as `(text, label)`, a data frame, a
        `Dataset`, or `Example`s. Search options count for this call: `beam_size=10`.
        """
        if data is not None:
            return self.task.measure(self.results(data, **search))
        test = self.data().test
        if not test:
            raise RegardError(
                f"{self.run.folder} has no test set", do="give data, for example model.evaluate(model.data().valid)"
            )
        return self.task.measure(self.results(test, **search))

    def results(self, data: Any, **search: Any) -> Results:
        """The predictions for data as `evaluate` takes it, for computing metrics."""
        chosen = self._search(search)
        if isinstance(data, list | tuple) and all(isinstance(one, Example) for one in data):
            examples = data
        else:
            found, _ = self.examples(data)
            examples = grouped(found) if self.config["data"].get("group") else found
        with torch.inference_mode(), self.precision():
            return self.task.results(self.network, examples, search=chosen)

    def precision(self) -> torch.autocast:
        """The precision it was trained in."""
        device = next(self.network.parameters()).device
        return precise(device, self.config["train"]["precision"], self.network.wide)

    def _search(self, options: Mapping[str, Any]) -> Any:
        """The run's own search with other options, or another one (`name="sample"`) with these alone; None for none."""
        if not options:
            return None
        self._needs("searches", "the search options")
        constraints, options = Constraints.taken_from(options)
        own = {"search": self.config.get("search", "beam")}
        search: Search = build("search", fitted(merge(own, {"search": options})["search"], options))
        if constraints is not None:
            search.limits = compiled(constraints, self.task.answer_text, search.limits)
        return search

    def data(self) -> Splits:
        """The data this run was trained on, read again."""
        return read(self.task, self.config)

    def save_pretrained(self, folder: str | os.PathLike[str]) -> Path:
        """Write the encoder of a model with encoder=pretrained to a new folder, as Hugging Face Transformers loads it:
        `AutoModel.from_pretrained(folder)`. The head is left out; LoRA is merged into the weights."""
        return self.task.save_pretrained(self.network, Path(folder))

    def __repr__(self) -> str:
        size = sum(p.numel() for p in self.network.parameters())
        return f"<regard {self.config['task']} model, {size:,} parameters, from {self.run.folder}>"


def configure(task: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The whole configuration of a run: what was asked for over the task's presets over every part's defaults."""
    _tables(options)
    kind = find("tasks", task)
    own = {key: value for key, value in options.items() if key != "task"}
    asked = merge(_preset(kind, options), merge(kind.implied(own), own))
    parts = {key: value for key, value in asked.items() if key not in SECTIONS}
    known = [*settable(kind), *SECTIONS]
    for key in parts:
        if key not in known:
            raise RegardError(f"unknown option {key!r}", do=nearest(key, known))
    config = {
        "task": task,
        "data": full(load_data, by_role(asked.get("data", {}), kind.columns, [*settable(load_data)]), "data."),
        "train": full(fit, asked.get("train", {}), "train."),
        "start": full(Start, asked.get("start", {}), "start."),
        **full(kind, parts),
    }
    return plain(config)  # type: ignore[no-any-return]


def _preset(kind: type[Task], options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Options that come with a built-in set: the task's for its own, and for another set what that set says."""
    data = str(options.get("data", {}).get("train") or kind.default_data)
    if data == kind.default_data:
        return kind.preset
    source, _, name = data.partition(":")
    return find("data.builtin", name).preset if source == "builtin" else {}


def _check_drops(drop_tokens: DropTokens, rows: int, inputs: int) -> None:
    if len(drop_tokens) != rows:
        raise RegardError(f"drop_tokens has {len(drop_tokens)} entries", expected=f"{rows}, one per text")
    for entry in drop_tokens:
        if len(entry) != inputs:
            raise RegardError(f"drop_tokens names tokens of {counted(len(entry), 'input')}", expected=f"{inputs}")


def _check_features(features: Features) -> None:
    for number in [features] if isinstance(features, int) else features:
        if number < 1:
            raise RegardError(f"features: {number}", expected="1 or more")


def _tables(config: Mapping[str, Any]) -> None:
    for name in SECTIONS:
        if not isinstance(given := config.get(name, {}), Mapping):
            raise RegardError(f"{name}: got {given!r:.50}", expected="a table of options")


def make_task(config: Mapping[str, Any]) -> Task:
    _tables({"data": None, "train": None, **config})
    options = {key: value for key, value in config.items() if key not in ("task", *SECTIONS)}
    return build("tasks", {"name": config["task"], **options})  # type: ignore[no-any-return]


def read(task: Task, config: Mapping[str, Any]) -> Splits:
    """The data a configuration names, as the task wants it."""
    given = {"default": task.default_data, "fields": tuple(task.fields.values()), "known": task.known}
    if task.corpus and (found := _corpus(config["data"], given)) is not None:
        return found
    return call(load_data, config["data"], **given)  # type: ignore[no-any-return]


def _corpus(data: Mapping[str, Any], given: Mapping[str, Any]) -> Splits | None:
    """Text that is read in a stream; None where it has to be read as for other tasks."""
    plain_text = data["form"] == "auto" and not (data["source"] or data["target"] or data["group"])
    if not data["train"] or is_given(data["train"]) or data["train"].startswith("builtin:") or not plain_text:
        return None
    held = {part: data[part] for part in ("valid", "test") if data[part]}
    wanted = {"valid": "valid" not in held, "test": not held}
    found = read_corpus(data["train"], encoding=data["encoding"], skip=data["skip"], **wanted)
    if found is None:
        return None
    how = Reading(known=given["known"], encoding=data["encoding"])
    parts = {part: load_part(spec, given["fields"], how) for part, spec in held.items()}
    full_splits = Splits(found.train, parts.get("valid", found.valid), parts.get("test", found.test))
    full_splits.notes.extend(found.notes)
    full_splits.faults.extend(found.faults)
    return full_splits


@dataclass(frozen=True)
class Prepared:
    """All that training needs: configuration, task with its words, data, fresh model."""

    config: dict[str, Any]
    task: Task
    splits: Splits
    network: Network
    choices: tuple[Choice, ...] = ()  # options that were chosen to suit the data, the device and the time
    begun: str = ""  # what was taken from another run

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know before the training."""
        chosen = (
            [f"options chosen for {self.choices[0].why}; --dry-run shows each with its reason"] if self.choices else []
        )
        begun = [self.begun] if self.begun else []
        return (*self.splits.notes, *self.task.notes, *begun, *chosen)


def _started(task: str, options: Mapping[str, Any], trust: Trust) -> tuple["Model | None", Mapping[str, Any]]:
    """The run that a new training starts from, and the options with those that follow from it."""
    start, kind = configure(task, {"start": options["start"]})["start"], find("tasks", task)
    folder = start["run"]
    if not folder:
        if start["freeze"]:
            raise RegardError("start.freeze=true without a run to start from", do="add --start RUN")
        return None, options
    begun = load(folder, device="cpu", trust=trust)
    theirs, from_task = begun.task.starts, begun.config["task"]
    if kind.starts is None:
        raise RegardError(f"--start {folder}: {task} has no encoder that could start from another run")
    if theirs is None or theirs.modules != kind.starts.modules:
        what = "an encoder" if kind.starts.modules == ENCODER.modules else f"a run of {task}"
        raise RegardError(f"--start {folder}: {task} starts from {what}, and that is a run of {from_task}")
    if "encoder" in theirs.parts and find("encode", named(begun.config["encoder"])).pretrained:
        said = f"--start {folder}: its encoder is a pre-trained one"
        raise RegardError(said, do="use encoder=pretrained and encoder.from=")
    ours, read = (next(iter(one.inputs.values())).kind for one in (kind(), begun.task))
    choice = isinstance(mark(settable(kind)[kind.starts.field]), In)  # of a field
    if read != ours and (not choice or kind.starts.field == ours):
        raise RegardError(f"--start {folder}: it reads {read}, and {task} reads {ours}")
    return begun, taken_options(kind.starts, theirs, begun.config, options, folder, read if choice else "")


def prepare(task: str, options: Mapping[str, Any], run: Run | None = None, trust: Trust = False) -> Prepared:
    """Read the data, learn the words, build the model, for a `run` that goes on if it fits; nothing is written."""
    origin: Model | None = None
    if run is None and "start" in options:
        origin, options = _started(task, options, trust)
    config = configure(task, options)
    seconds(config["train"]["time"])  # what the loop could not use is said before anything is written
    device_of(config["train"]["device"])
    installed(config["train"]["report_to"])
    begun = make_task(config)
    splits = read(begun, config)
    choices: tuple[Choice, ...] = ()
    if run is None:  # one that goes on keeps what was chosen when it began
        config, choices = suited(begun, options, config, splits)
    made = make_task(config)
    if origin is not None:
        made.begin(origin.run.kept)
    elif run is not None and config["start"]["run"]:
        made.begin(run.kept)
    made.went_on = None if run is None else run.kept
    made.learn(splits.train)
    made.remember(splits)
    made.items([*splits.valid, *splits.test])  # what is too long there is better told before the training than after it
    splits.validates(config["data"]["train"] or made.default_data)
    torch.manual_seed(config["train"]["seed"])
    if run is not None:
        run.check_room(lambda: network_of(made))
    network, said = network_of(made), ""
    if run is not None and any(field.imported for field in made.inputs.values()):
        with suppress(RegardError):  # damaged ones are restored from a checkpoint
            run.load_weights(network)
    if origin is not None and made.starts is not None:
        same = origin.config["task"] == task and made.target is None
        take(network, origin.network, made.starts, str(origin.run.folder), whole=same)
        said = f"starts from {origin.run.folder}: {_parts(origin)}"
    if config["start"]["freeze"] and made.starts is not None:
        freeze(network, made.starts)
        said += ", frozen" if said else ""
    return Prepared(config, made, splits, network, choices, said)


def _parts(begun: "Model") -> str:
    """What is taken from a run, in words."""
    assert begun.task.starts is not None
    [module, *_] = begun.task.starts.parts
    part = begun.config[module]
    name = part if isinstance(part, str) else part["name"]
    size = sum(p.numel() for key, p in begun.network.named_parameters() if begun.task.starts.has(key))
    return f"tokenizer, embedding and {module}={name}, {size:,} parameters"


def suited(
    task: Task, options: Mapping[str, Any], config: dict[str, Any], splits: Splits
) -> tuple[dict[str, Any], tuple[Choice, ...]]:
    """The configuration with what the user left open chosen by the task's recipe, and those choices.

    Built-in data comes with options measured for it, and a run that goes on has all of its options already.
    """
    plan = config["train"]
    if not plan["auto"] or _preset(type(task), options) or "train" in type(task).implied(options) or not splits.train:
        return config, ()
    where = device_of(plan["device"]).type
    facts = Facts.of(splits.train, list(task.fields.values()), where, usable_cores(), seconds(plan["time"]))
    parts = Parts(options, config)
    chosen = type(task).recipe(facts, parts)
    asked = {key: value for key, value in options.items() if key != "task"}
    config = configure(config["task"], merge(nested(chosen, parts), asked))
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
    results: Results | None = None  # the predictions it was tested by (on part of valid, where there is no test set)
    first: bool = True  # of several processes; the others only help it to train

    def predict(self, texts: Any, *args: Any, **options: Any) -> Any:
        """What `model.predict` returns."""
        return self.model.predict(texts, *args, **options)

    def evaluate(self, data: Any = None, **search: Any) -> dict[str, float | str]:
        """What `model.evaluate` returns."""
        return self.model.evaluate(data, **search)

    def __repr__(self) -> str:
        best = self.model.task.metrics.best
        score = f"{best} {self.test[best]:.4g} on {counted(self.tested, 'test example')}" if self.test else "not tested"
        what = f"{self.model.config['task']} model, step {self.outcome.step:,}"
        return f"<trained {what}, {score}, {self.model.run.folder}>"


def train(
    task: str,
    data: Any = "",
    out: str | Path = "",
    time: str = "",
    fresh: bool = False,
    quiet: bool = False,
    trust: Trust = False,
    started: float | None = None,
    **options: Any,
) -> Trained:
    """Train a model for a task, or resume a run. Returns the model and its scores on the test set.

        import regard

        films = [(f"a {word} film", label) for label, words in {
            "good": ["fine", "warm", "witty", "great", "lovely", "moving", "clever"],
            "bad": ["dull", "weak", "clumsy", "poor", "dreary", "tired", "boring"],
        }.items() for word in words]
        trained = regard.train("classify", data=films, out="runs/films", train={"epochs": 2})
        print(trained.test, trained.predict("a witty film").text)

    task: what to learn: translate, classify, tag, …; `regard list task` on the command line shows all.
    data: the training data. A file or folder ("reviews.tsv", "train.de,train.en", "hf:NAME"), rows such as
        `(text, label)`, a data frame or a `Dataset`. Or a table of options: `{"train": frame, "valid": "valid.tsv",
        "source": "Review", "target": "Sentiment"}`. Without a validation or test set, a part of `train` is held out.
        Default: the task's built-in data.
    out: folder of the run (default: runs/TASK). If it is already a run, that run is resumed: its options are the
        defaults, and those given now may change how long and where it trains.
    time: limit for everything from reading the data to testing: "90s", "5m", "1h30m".
    fresh: start over, and replace the run in `out`.
    quiet: show no progress.
    trust: allow a resumed run to import code that is not part of regard and not named here: True, or a list of names.
    started: when `time` began to count, as a `time.monotonic()` (default: now).
    start: a run whose tokenizer, embedding and encoder to start from: start="runs/pretrained", or
        start={"run": "runs/pretrained", "freeze": True}.
    options: options of the task by name: `encoder="bilstm"`, `encoder={"name": "bilstm", "hidden": 64}`,
        `encoder=MyEncoder` (docs/extending.md), `train={"lr": 2e-3, "epochs": 5, "device": "cpu"}`.
        `regard list` on the command line shows every part and option. Those left open are chosen for the data, the
        device and the time.
    """
    if not isinstance(task, str):
        raise RegardError(f"task: got {brief(task)}", expected=f"the name of a task ({', '.join(names('tasks'))})")
    if not isinstance(out, str | os.PathLike):
        raise RegardError(f"out: got {brief(out)}", expected="the folder of the run")
    if not isinstance(time, str):
        raise RegardError(f"time: got {brief(time)}", expected='a limit such as "90s" or "5m"')
    started = clock.monotonic() if started is None else started
    asked: dict[str, Any] = class_names(options)
    if isinstance(asked.get("start"), str | os.PathLike):
        asked["start"] = {"run": os.fspath(asked["start"])}
    if not (isinstance(data, str) and not data):
        asked["data"] = options_of(data)
    if time:
        asked["train"] = merge(asked.get("train", {}), {"time": time})
    folder = Path(out or f"runs/{task}")
    with joined(), restored():
        if not (team := Processes.now()).first:
            with Progress(quiet=True) as show:
                return _follow(task, asked, folder, show, started, team)
        with held(folder, Run.is_in(folder)) as hold, Progress(quiet) as show:
            # Held before the data is read: who comes second learns it at once.
            return _train(task, asked, folder, fresh, show, started, trust, hold, team)


def resume(
    task: str, asked: Mapping[str, Any], folder: Path, fresh: bool = False, trust: Trust = False
) -> tuple[Run | None, Prepared]:
    """The run that a training goes on with, if the folder holds one and `fresh` is not asked for, and what it needs."""
    typed = set(outside({"task": task, **asked}))  # what is asked for here needs no trust
    trusted = trust if isinstance(trust, bool) and trust else typed.union(trust or ())
    if fresh or not Run.is_in(folder):
        return None, prepare(task, asked, trust=trusted)
    run = Run.open(folder, trusted)
    options = gone_on(run.folder, run.config, {**asked, "task": task}, lambda o: configure(task, o))
    try:
        return run, prepare(task, options, run)
    except RegardError as error:
        if str(run.folder) in str(error):
            raise
        raise RegardError(f"{run.folder}: {error}") from None  # what is wrong is in the run's own configuration


def _train(
    task: str,
    asked: dict[str, Any],
    folder: Path,
    fresh: bool,
    show: Progress,
    started: float,
    trust: Trust,
    hold: Hold,
    team: Processes,
) -> Trained:
    show.phase("reading", "the data")
    try:
        run, ready = resume(task, asked, folder, fresh, trust)
        run = _begun(run, ready, folder, hold)
    except BaseException:
        team.told(None)  # nothing that the others could follow
        raise
    team.told({"config": plain(ready.config), "kept": ready.task.keep()})
    for note in ready.notes:
        show.say(note)
    model, outcome = _fitted(run, ready, show, started)
    if outcome.stopped is not None:
        return Trained(model, outcome, {}, ready.splits)
    ready.task.finish(run, ready.network, ready.splits)
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
    return Trained(model, outcome, test, ready.splits, count, command, warnings, results)


def _fitted(run: Run, ready: Prepared, show: Progress, started: float) -> tuple[Model, Outcome]:
    given = {"task": ready.task, "splits": ready.splits, "run": run, "model": ready.network}
    outcome: Outcome = call(fit, ready.config["train"], **given, show=show, began=started)
    return Model(run, ready.task, ready.network.eval()), outcome


def _follow(
    task: str, asked: Mapping[str, Any], folder: Path, show: Progress, started: float, team: Processes
) -> Trained:
    """Train as one of several processes, with what the first has prepared; it alone writes and tests."""
    told = team.told()
    if told is None:
        raise SystemExit(2)  # the first says why
    config = told["config"]
    # Of rows given in Python the configuration has only a name.
    config["data"] |= {part: rows for part, rows in asked.get("data", {}).items() if is_given(rows)}
    made = make_task(config)
    splits = read(made, config)
    made.restore(told["kept"])
    network = network_of(made)
    if config["start"]["freeze"] and made.starts is not None:
        freeze(network, made.starts)
    model, outcome = _fitted(Run(folder, config, told["kept"]), Prepared(config, made, splits, network), show, started)
    return Trained(model, outcome, {}, splits, first=False)


def _begun(run: Run | None, ready: Prepared, folder: Path, hold: Hold) -> Run:
    """The run that is trained: a new one, or the one that goes on."""
    if run is None:
        if Run.is_in(folder):
            ready.task.clear(folder)
            Run.remove(folder)
        run = Run.create(folder, ready.config, ready.task.keep(), ready.network)
        hold()
    elif json.loads(json.dumps(ready.task.keep())) != run.kept:
        raise RegardError(
            f"the training data is not what {folder} was started with", do="use --fresh to start over, or another --out"
        )
    else:
        run.configure(ready.config)
    return run


def load(folder: str | Path, device: str = "auto", trust: Trust = False) -> Model:
    """Load a trained run. `trust` allows the run to import classes that are not part of regard."""
    if not isinstance(folder, str | os.PathLike):
        raise RegardError(f"cannot load {brief(folder)}", expected="the folder of a run")
    run = Run.open(Path(folder), trust)
    task = run.built(lambda: make_task(run.config))
    run.config = merge({"data": full(load_data, {}), "train": full(fit, {})}, run.config)  # what is missing there
    run.load_words(task)
    run.check_sizes(lambda: network_of(task))
    network = run.built(lambda: network_of(task))
    run.load_weights(network)
    task.opened(run.folder)
    return Model(run, task, network.to(device_of(device)).eval())
