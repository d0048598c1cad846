"""One run as the service hosts it: what may be asked of it, and its answers as JSON.

What can be known of a request before it waits is checked at once (`rows`); what only the model finds, as a text of too
many tokens, fails that request alone. Answers are worked out and written in the batcher's thread, so that whoever
listens to the network never waits for them.

    hosted = Hosted(0, "translate", model, ServiceLimits(), Metrics())
    answers = await hosted.batcher.submit(*hosted.rows(ask))
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from regard.api import Model
from regard.errors import RegardError
from regard.look.scene import describe_run, item
from regard.search import Constraints
from regard.serve.batcher import Batcher
from regard.serve.limits import ServiceLimits
from regard.serve.metrics import Metrics
from regard.serve.schema import Constrained, PredictRequest
from regard.serve.to_json import to_json

__all__ = ["Hosted", "Question", "Way", "names"]


class Question(NamedTuple):
    """The texts of one answer, the tokens to leave out of them, and which of its request's it is, for messages."""

    inputs: tuple[str, ...]
    drop_tokens: tuple[tuple[int, ...], ...]
    where: str


class Way(NamedTuple):
    """How answers are asked for; only those asked for in the same way are worked out together."""

    look: bool
    trace: bool
    beam: int | None
    drop_tokens: bool
    layers: str = ""
    features: int | tuple[int, ...] = ()
    groups: int | None = None
    diversity: float | None = None
    constraints: Constraints | None = None


class Hosted:
    """A model with its name, its place among the runs of the service, and its queue."""

    def __init__(
        self,
        place: int,
        name: str,
        model: Model,
        limits: ServiceLimits,
        metrics: Metrics,
        turn: AbstractContextManager[Any] | None = None,
    ) -> None:
        more = sum(field.request_bytes for field in model.task.inputs.values())
        if limits.body == ServiceLimits.body:  # a limit of the user's own stays
            limits = replace(limits, body=limits.body + more)
        self.place, self.name, self.model, self.limits = place, name, model, limits
        self.about: dict[str, Any] = describe_run(model, name, model.roles, model.features)
        self.batcher = Batcher(
            self.answers,
            limits.batch,
            limits.window,
            limits.queue,
            turn,
            seen=metrics.run(name, lambda: self.batcher.depth),
            name=f"regard {name}",
        )

    def rows(self, ask: PredictRequest) -> tuple[list[Question], Way]:
        """What is asked for, where it can be answered."""
        limits, model, drop_tokens = self.limits, self.model, ask.drop_tokens
        if not 1 <= len(ask.inputs) <= limits.texts:
            raise RegardError(f"inputs: {len(ask.inputs)}", expected=f"1 to {limits.texts}", do="send several requests")
        if ask.beam is not None and ask.beam > limits.beam:
            raise RegardError(f"beam: {ask.beam:,}", expected=f"at most {limits.beam}")
        searches = ask.beam, ask.groups, ask.diversity, ask.constraints
        if (ask.trace or searches != (None,) * len(searches)) and not model.searches:
            raise RegardError(
                f"{model.config['task']} has no search", do="remove beam, groups, diversity, constraints and trace"
            )
        if ask.groups is not None and ask.groups > limits.beam:
            raise RegardError(f"groups: {ask.groups:,}", expected=f"at most {limits.beam}")
        if ask.diversity is not None and ask.groups is None:
            raise RegardError("diversity without groups", do="add groups, or remove diversity")
        if drop_tokens is not None and len(drop_tokens) != len(ask.inputs):
            raise RegardError(f"drop_tokens: {len(drop_tokens)}", expected=f"{len(ask.inputs)}, one for each of inputs")
        layers, features = self._shown(ask)
        rows = [
            self._row(inputs, drop_tokens[number] if drop_tokens is not None else None, f"input {number + 1}")
            for number, inputs in enumerate(ask.inputs)
        ]
        way = Way(ask.look, ask.trace, ask.beam, any(any(row.drop_tokens) for row in rows), layers, features)
        if ask.groups is not None or ask.constraints is not None:
            constraints = None if ask.constraints is None else self._constraints(ask.constraints)
            way = way._replace(groups=ask.groups, diversity=ask.diversity, constraints=constraints)
            # Compiled, and refused where they cannot be met, before anything waits.
            self.model.predict([], **_searched(way))
        return rows, way

    def _constraints(self, asked: Constrained) -> Constraints:
        """What is asked for, where it is no more than we take on; the same object for the same content, so that
        requests are quickly found to be alike."""
        most = {"allowed": self.limits.allowed, "banned": self.limits.banned}
        for name, count in most.items():
            given = getattr(asked, name) or ()
            if len(given) > count:
                raise RegardError(f"constraints.{name}: {len(given):,}", expected=f"at most {count:,}")
        texts = (*(asked.allowed or ()), *(asked.banned or ()), asked.prefix or "")
        if (longest := max(map(len, texts))) > self.limits.characters:
            expected = f"at most {self.limits.characters:,}"
            raise RegardError(f"constraints: a text of {longest:,} characters", expected=expected)
        try:
            return _interned(Constraints.read(asked.model_dump()))
        except RegardError as error:
            raise RegardError(f"constraints.{error}") from None

    def _shown(self, ask: PredictRequest) -> tuple[str, int | tuple[int, ...]]:
        """Which layers and features, where the run has such; "" and () where none was asked for."""
        layers = "" if ask.layers is None else str(ask.layers)
        features = tuple(ask.features) if isinstance(ask.features, list) else ask.features or ()
        if (layers or features) and not ask.look:
            raise RegardError("layers or features, but look is false", do="remove them, or set look to true")
        if layers:
            self.model.network.showing(layers)
        if features:
            if not self.model.task.can("features"):
                raise RegardError(f"{self.model.config['task']} has no features", do="remove features")
            many = features if isinstance(features, int) else len(features)
            if many > self.limits.features:
                raise RegardError(f"features: {many:,}", expected=f"at most {self.limits.features}")
        return layers, features

    def _row(self, inputs: Sequence[str], drop_tokens: Sequence[Sequence[int]] | None, where: str) -> Question:
        if len(inputs) != self.model.inputs:
            raise RegardError(f"{where}: {self.model.wrong_count(len(inputs))}")
        for field, value in zip(self.model.task.inputs.values(), inputs, strict=True):
            field.requested(value, where, self.limits.characters)
        if drop_tokens is not None and len(drop_tokens) != len(inputs):
            raise RegardError(
                f"{where}: drop_tokens has {len(drop_tokens)} lists", expected=f"{len(inputs)}, one for each input"
            )
        left_out = tuple(tuple(sorted(set(places))) for places in drop_tokens or [()] * len(inputs))
        if sum(map(len, left_out)) > self.limits.characters:
            raise RegardError(f"{where}: drop_tokens names more tokens than a text may have")
        return Question(tuple(inputs), left_out, where)

    def answers(self, rows: list[Question], way: Way) -> list[bytes]:
        """In the batcher's thread. What was not asked for is not passed on either."""
        options = _searched(way)
        if way.trace:
            options["trace"] = True
        if way.drop_tokens:
            options["drop_tokens"] = [row.drop_tokens for row in rows]
        if way.features:
            options["features"] = way.features
        if way.layers:
            options["layers"] = way.layers
        try:
            where = [row.where for row in rows]
            found = self.model.predict([row.inputs for row in rows], way.look, where, **options)
        except RegardError as error:
            if len(rows) > 1:  # they will come again, fewer at a time
                raise
            # What a model counts from 1 in what it is given, whoever asked counts in their request.
            said = str(error).removeprefix("input 1: ").removeprefix(f"{rows[0].where}: ")
            raise RegardError(f"{rows[0].where}: {said}") from None
        return [
            to_json(item(self.place, row.inputs, prediction, row.drop_tokens))
            for row, prediction in zip(rows, found, strict=True)
        ]


def _searched(way: Way) -> dict[str, Any]:
    """The options of the search; none where the run's own is wanted."""
    options: dict[str, Any] = {} if way.constraints is None else dict(vars(way.constraints))
    if way.beam is not None:
        options |= {"name": "beam", "beam_size": way.beam, "n_best": way.beam}
    if way.groups is not None:
        options |= {"name": "beam", "groups": way.groups}
    return options if way.diversity is None else {**options, "diversity": way.diversity}


@lru_cache(maxsize=16)
def _interned(constraints: Constraints) -> Constraints:
    return constraints


def names(folders: Sequence[str | Path]) -> list[str]:
    """The last names of the folders, made different where two are the same: translate, translate-2."""
    given: dict[str, Path] = {}
    for folder in folders:
        path = Path(folder).expanduser().resolve()
        if path in given.values():
            raise RegardError(f"{folder} is given twice", expected="each run once")
        name, number = path.name or "run", 1
        while name in given:
            number += 1
            name = f"{path.name or 'run'}-{number}"
        given[name] = path
    return list(given)
