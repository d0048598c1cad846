"""The output lines of `regard predict`: one per input line, in order; empty where the line failed.

for text, error in answers(model, lines, as_json=False, wanted={}): ...
"""

import json
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from regard.cli.inputs import Line
from regard.cli.show import figure, labels, suggestions, to_json, words_of
from regard.errors import RegardError, counted

if TYPE_CHECKING:
    from regard.api import Model
    from regard.types import Example, Prediction

__all__ = ["Answered", "answers", "scores"]

Answered = tuple[str, RegardError | None]  # what is written for a line, and why it is no answer


def _each(
    ask: "Callable[[list[Example]], list[Prediction]]", rows: "list[Example]"
) -> "list[Prediction | RegardError]":
    """The answer of each row. Where one of many cannot be answered, the others are asked again without it."""
    if not rows:
        return []
    try:
        return [*ask(rows)]
    except RegardError as error:
        if len(rows) == 1:
            told, where = str(error), rows[0].where
            return [error if told.startswith(where) else RegardError(f"{where}: {told}")]
    half = len(rows) // 2
    return _each(ask, rows[:half]) + _each(ask, rows[half:])


def _outcomes(
    lines: list[Line],
    parse: "Callable[[Line], Example | None]",
    ask: "Callable[[list[Example]], list[Prediction]]",
) -> "Iterator[tuple[Line, Example | None, Prediction | RegardError | None]]":
    """Each line with what was read in it and what came of it: an answer, why there is none, or None if it is blank."""
    rows: dict[int, Example] = {}
    found: dict[int, Prediction | RegardError] = {}
    for number, line in enumerate(lines):
        try:
            if line.error is not None:
                raise line.error
            if (row := parse(line)) is not None:
                rows[number] = row
        except RegardError as error:
            found[number] = error
    found |= zip(rows, _each(ask, list(rows.values())), strict=True)
    for number, line in enumerate(lines):
        yield line, rows.get(number), found.get(number)


def answers(
    model: "Model", lines: list[Line], as_json: bool, wanted: dict[str, Any], document: str = ""
) -> Iterator[Answered]:
    """With a document, every line is a question about it."""
    from regard.types import Example

    def parse(line: Line) -> Example | None:
        if not line.text.strip():
            return None
        if document:
            return Example((document, line.text), "", line.where)
        return Example(line.values or _inputs(model, line.text, line.where), "", line.where)

    def ask(rows: list[Example]) -> "list[Prediction]":
        return model.predict([one.inputs for one in rows], look=False, where=[one.where for one in rows], **wanted)

    ranks, suggests = model.task.can("ranks"), model.task.can("suggests")
    for line, row, found in _outcomes(lines, parse, ask):
        error = found if isinstance(found, RegardError) else None
        answer = None if isinstance(found, RegardError) else found
        if as_json:
            several = row.inputs if row else None if error else ()
            given = {"source": None if line.error else line.text} if model.inputs == 1 else {"inputs": several}
            told = _ranking(answer) if ranks else _suggested(answer) if suggests else _object(answer, model.searches)
            said = {**given, **told}
            yield to_json(said if error is None else {**said, "text": None, "error": str(error)}), error
        elif suggests:
            yield _one_line("\t".join(suggestions(answer)) if answer is not None else ""), error
        elif ranks:
            yield "\t".join(f"{_one_line(one.text)} {figure(p)}" for one, p in _ranked(answer)), error
        else:
            yield _one_line("" if answer is None else "\t".join([answer.text, *words_of(answer)])), error


def _suggested(prediction: "Prediction | None") -> dict[str, Any]:
    """The suggestions, each with its intent and its probability among the allowed replies; or why there are none."""
    every = [(one, probability) for one, probability in _ranked(prediction) if one.text]
    return {
        "text": every[0][0].text if every else "",
        "suggestions": [{"text": one.text, "intent": one.intent, "probability": p} for one, p in every],
        "silent": (prediction.reason or None) if prediction is not None else None,
    }


def _ranked(prediction: "Prediction | None") -> "list[tuple[Prediction, float]]":
    """Each item of a ranked list, with its probability."""
    every = (prediction, *prediction.others) if prediction is not None else ()
    return [(one, math.exp(one.log_prob)) for one in every if one.log_prob is not None]


def _ranking(prediction: "Prediction | None") -> dict[str, Any]:
    """A ranked list: each item by its id, with its title where it has one."""
    items = []
    for one, probability in _ranked(prediction):
        item, _, title = one.text.partition(" ")
        items.append({"item": item, **({"title": title} if title else {}), "probability": probability})
    return {"text": items[0]["item"] if items else "", "items": items}


def scores(model: "Model", lines: list[Line], as_json: bool) -> Iterator[Answered]:
    """How likely the targets are; a task whose data are texts alone takes the line as it is."""
    from regard.types import Example

    alone = model.task.target is None

    def parse(line: Line) -> Example | None:
        if not line.text.strip(" "):  # a TAB alone is no empty line, but a pair of nothing
            return None
        fields = line.values or ((line.text,) if alone else tuple(line.text.split("\t")))
        if not alone and len(fields) != 2:
            raise RegardError(f"{line.where}: {counted(len(fields), 'field')}", expected="2 (source TAB target)")
        return Example(fields[:-1], fields[-1], line.where)

    def ask(rows: list[Example]) -> "list[Prediction]":
        texts = [(*one.inputs, one.target) for one in rows]
        return model.score(texts, look=False, where=[one.where for one in rows])

    for _, row, found in _outcomes(lines, parse, ask):
        error = found if isinstance(found, RegardError) else None
        one = None if isinstance(found, RegardError) else found
        if not as_json:
            yield "" if one is None else f"{one.log_prob:.6g}", error
            continue
        names = ("text",) if alone else ("source", "target")
        texts = (*row.inputs, row.target) if row else (None if error else "",) * len(names)
        tokens = [{"text": token.text, "log_prob": log_prob} for token, log_prob in one.tokens] if one else []
        said = {**dict(zip(names, texts, strict=True)), **_probable(one), "tokens": tokens}
        yield to_json(said if error is None else {**said, "error": str(error)}), error


def _inputs(model: "Model", text: str, where: str) -> tuple[str, ...]:
    """The texts of a line; a task of one input takes the line as it is, with all TABs in it."""
    if model.inputs > 1 and text.lstrip().startswith("{") and (row := _row(model, text)):
        return row
    inputs = (text,) if model.inputs == 1 else tuple(text.split("\t"))
    if len(inputs) != model.inputs:
        roles = ", ".join(model.task.inputs)
        raise RegardError(
            f"{where}: {len(inputs)} field{'s' * (len(inputs) != 1)}",
            expected=f"{model.inputs}, separated by TAB ({roles})",
        )
    return inputs


def _row(model: "Model", text: str) -> tuple[str, ...]:
    """The inputs in a line of JSON; none where it is something else."""
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    values = [row.get(role) for role in model.task.inputs] if isinstance(row, dict) else []
    return tuple(map(str, values)) if values and all(isinstance(value, str) for value in values) else ()


def _one_line(text: str) -> str:
    return text.replace("\r", " ").replace("\n", " ")


def _object(prediction: "Prediction | None", searched: bool) -> dict[str, Any]:
    if prediction is None:
        return {"text": "", **_probable(None)}
    said: dict[str, Any] = {"text": prediction.text, **_probable(prediction)}
    if prediction.span is not None or any(one.span is not None for one in prediction.others):
        every = [
            {**_placed(one), "probability": math.exp(one.log_prob or 0.0)} for one in (prediction, *prediction.others)
        ]
        return {**said, **every[0], "others": every[1:]}
    if prediction.fills:
        said["fills"] = [
            [{"token": token, "probability": math.exp(log_prob)} for token, log_prob in row] for row in prediction.fills
        ]
    if chances := labels(prediction, searched):
        said["labels"] = [{"label": label, "probability": probability} for label, probability in chances]
    elif prediction.others:
        said["others"] = [{"text": one.text, **_probable(one)} for one in prediction.others]
    return said


def _placed(prediction: "Prediction") -> dict[str, Any]:
    """An answer with the characters of the document that it is."""
    start, end = prediction.span or (None, None)
    return {"text": prediction.text, "start": start, "end": end}


def _probable(prediction: "Prediction | None") -> dict[str, float | None]:
    """The log-probability of an answer, as the sum over its tokens and as their mean."""
    names = ("log_prob", "log_prob_per_token")
    return {name: None if prediction is None else getattr(prediction, name) for name in names}
