"""One run as the service holds it: what may be asked of it, and its answers as the bytes of JSON.

What can be known of a request before it waits is checked at once (`rows`); what only the model finds, as a text of too
many tokens, fails that request alone. Answers are worked out and written in the batcher's thread, so that whoever
listens to the network never waits for them.

    hosted = Hosted(0, "translate", model, Limits(), Metrics())
    answers = await hosted.batcher.submit(*hosted.rows(ask))
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

from regard.api import Model
from regard.errors import RegardError
from regard.look.layers import check, shown
from regard.look.scene import describe_run, item
from regard.serve.batcher import Batcher
from regard.serve.limits import Limits
from regard.serve.metrics import Metrics
from regard.serve.schema import Ask
from regard.serve.to_json import to_json
from regard.tasks._features import checked
from regard.types import Example

__all__ = ["Hosted", "Row", "Way", "names"]


class Row(NamedTuple):
    """The texts of one answer, the tokens to leave out of them, and which of its request's it is, for messages."""

    inputs: tuple[str, ...]
    without: tuple[tuple[int, ...], ...]
    where: str


class Way(NamedTuple):
    """How answers are asked for; only those asked for in the same way are worked out together."""

    look: bool
    trace: bool
    beam: int | None
    without: bool
    layers: str = ""
    features: int | tuple[int, ...] = ()


class Hosted:
    """A model with its name, its place among the runs of the service, and its queue."""

    def __init__(
        self,
        place: int,
        name: str,
        model: Model,
        limits: Limits,
        metrics: Metrics,
        turn: AbstractContextManager[Any] | None = None,
    ) -> None:
        self.place, self.name, self.model, self.limits = place, name, model, limits
        self.about: dict[str, Any] = describe_run(model, name)
        self.batcher = Batcher(
            self.answers,
            limits.batch,
            limits.window,
            limits.queue,
            turn,
            seen=metrics.run(name, lambda: self.batcher.depth),
            name=f"regard {name}",
        )

    def rows(self, ask: Ask) -> tuple[list[Row], Way]:
        """What is asked for, where it can be answered."""
        limits, model, without = self.limits, self.model, ask.without
        if not 1 <= len(ask.inputs) <= limits.texts:
            raise RegardError(f"inputs: {len(ask.inputs)}", expected=f"1 to {limits.texts}", do="send several requests")
        if ask.beam is not None and ask.beam > limits.beam:
            raise RegardError(f"beam: {ask.beam:,}", expected=f"at most {limits.beam}")
        if (ask.beam is not None or ask.trace) and not model.searches:
            raise RegardError(f"{model.config['task']} has no search", do="remove beam and trace")
        if without is not None and len(without) != len(ask.inputs):
            raise RegardError(f"without: {len(without)}", expected=f"{len(ask.inputs)}, one for each of inputs")
        layers, features = self._shown(ask)
        rows = [
            self._row(inputs, without[number] if without is not None else None, f"text {number + 1}")
            for number, inputs in enumerate(ask.inputs)
        ]
        return rows, Way(ask.look, ask.trace, ask.beam, any(any(row.without) for row in rows), layers, features)

    def _shown(self, ask: Ask) -> tuple[str, int | tuple[int, ...]]:
        """Which layers and features, where the run has such; "" and () where none was asked for."""
        layers = "" if ask.layers is None else str(ask.layers)
        features = tuple(ask.features) if isinstance(ask.features, list) else ask.features or ()
        if (layers or features) and not ask.look:
            raise RegardError("layers or features, but look is false", do="remove them, or set look to true")
        if layers:
            try:
                check(self.model.network, layers, self.name)
            except RegardError as error:
                raise RegardError(str(error).replace("--layers", "layers")) from None
        if features:
            checked(self.model.task, features)
            many = features if isinstance(features, int) else len(features)
            if many > self.limits.features:
                raise RegardError(f"features: {many:,}", expected=f"at most {self.limits.features}")
        return layers, features

    def _row(self, inputs: Sequence[str], without: Sequence[Sequence[int]] | None, where: str) -> Row:
        if len(inputs) != self.model.inputs:
            raise RegardError(f"{where}: {self.model.wrong_count(len(inputs))}")
        for text in inputs:
            if not text.strip():
                raise RegardError(f"{where}: an empty text", expected="at least one word")
            if len(text) > self.limits.characters:
                raise RegardError(
                    f"{where}: {len(text):,} characters",
                    expected=f"at most {self.limits.characters:,}",
                    do="shorten it",
                )
        if without is not None and len(without) != len(inputs):
            raise RegardError(
                f"{where}: without has {len(without)} lists", expected=f"{len(inputs)}, one for each input"
            )
        left_out = tuple(tuple(sorted(set(places))) for places in without or [()] * len(inputs))
        if sum(map(len, left_out)) > self.limits.characters:
            raise RegardError(f"{where}: without names more tokens than a text may have")
        return Row(tuple(inputs), left_out, where)

    def answers(self, rows: list[Row], way: Way) -> list[bytes]:
        """In the batcher's thread. What was not asked for is not passed on either."""
        options: dict[str, Any] = {}
        if way.beam is not None:
            options |= {"name": "beam", "beam_size": way.beam, "n_best": way.beam}
        if way.trace:
            options["trace"] = True
        if way.without:
            options["without"] = [row.without for row in rows]
        if way.features:
            options["features"] = way.features
        places = [Example(row.inputs, "", row.where) for row in rows]
        try:
            with shown(self.model.network, way.layers, self.name):
                found = self.model.predict([row.inputs for row in rows], way.look, places, **options)
        except RegardError as error:
            if len(rows) > 1:  # they will come again, fewer at a time
                raise
            # What a model counts from 1 in what it is given, whoever asked counts in their request.
            said = str(error).removeprefix("input 1: ").removeprefix(f"{rows[0].where}: ")
            raise RegardError(f"{rows[0].where}: {said}") from None
        return [
            to_json(item(self.place, row.inputs, prediction, row.without))
            for row, prediction in zip(rows, found, strict=True)
        ]


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
