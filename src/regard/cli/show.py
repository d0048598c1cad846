"""What commands print, plain and aligned. User text is never markup, and cannot control the terminal.

print(table([("exact_match", figure(0.97)), ("bleu", figure(98.1))]))
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from regard.files import finite

if TYPE_CHECKING:
    from regard.types import Prediction

__all__ = [
    *("answered", "figure", "figures", "labels", "likely", "looked", "plain", "setting", "suggestions", "table"),
    *("to_json", "words_of"),
]

between = " | "  # two inputs in one line


def plain(text: str) -> str:
    """The text in one line, with what does not print written as an escape."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def table(rows: Sequence[Sequence[str]], indent: int = 2) -> str:
    """Columns side by side, all but the last padded; nothing is cut or wrapped."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    lines = ("  ".join([*map(str.ljust, row[:-1], widths), row[-1]]).rstrip() for row in rows)
    return "\n".join(" " * indent + line for line in lines)


def figure(value: float | int | str) -> str:
    """A number with four figures that mean something; a text as it is."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, int) or (math.isfinite(value) and abs(value) >= 1000):
        return f"{value:,.0f}"
    return f"{value:.4g}"


def figures(measures: Mapping[str, float | int | str]) -> str:
    """Measures by name, one a line."""
    return table([(plain(name), figure(value)) for name, value in measures.items()])


def setting(value: Any) -> str:
    """The value of an option as one would write it after `key=`."""
    if value is None:
        return "none"
    return plain(value) if isinstance(value, str) else json.dumps(finite(value), ensure_ascii=False, default=str)


def to_json(value: Any) -> str:
    """JSON in one line; what is not a finite number is null, for JSON has no word for it."""
    return json.dumps(finite(value), ensure_ascii=False, allow_nan=False, default=str)


def labels(prediction: "Prediction", searched: bool) -> list[tuple[str, float]]:
    """Each label with its probability, the likeliest first; none where answers are searched for, or are no labels."""
    if searched or not prediction.others:
        return []
    # A number that is the mean of the others has no probability itself.
    return [(one.text, math.exp(one.log_prob)) for one in (prediction, *prediction.others) if one.log_prob is not None]


def answered(prediction: "Prediction", inputs: Sequence[str], searched: bool = True, true: str | None = None) -> str:
    """What was asked, the answer, how probable it is where it is a label, and the true one where that is another."""
    if prediction.reason or prediction.intent:
        lines = "".join(f"\n  {plain(one)}" for one in suggestions(prediction))
        return f"{plain(between.join(inputs))}{lines}"
    known = [f"p = {p:.2f}" for label, p in labels(prediction, searched)[:1] if label == prediction.text]
    if true is not None and true != prediction.text:
        known.append(f"true: {plain(true)}")
    aside = f" ({', '.join(known)})" if known else ""
    return f"{plain(between.join(inputs))} → {plain(prediction.text)}{aside}"


def suggestions(prediction: "Prediction") -> list[str]:
    """Each suggested reply with its intent and its probability among the allowed replies; or why there is none."""
    if prediction.reason:
        return [f"(no suggestion: {prediction.reason})"]
    every = (prediction, *prediction.others)
    return [f"{one.text} ({one.intent}, {math.exp(one.log_prob):.2f})" for one in every if one.log_prob is not None]


def words_of(prediction: "Prediction") -> list[str]:
    """For each [MASK] its likeliest words, with their probabilities."""
    return [" ".join(f"{token} {math.exp(log_prob):.2f}" for token, log_prob in row) for row in prediction.fills]


def likely(prediction: "Prediction") -> list[str]:
    """Of an answer that was given its log_prob, and below the probability of each token; nothing of one found."""
    if not prediction.tokens:
        return []
    from regard.look.attention_map import visible

    each = [f"{plain(visible(token.text))} {math.exp(log_prob):.2f}" for token, log_prob in prediction.tokens]
    lines = [""]
    for one in each:  # as many to a line as fit a terminal
        lines[-1:] = [f"{lines[-1]}  {one}"] if len(lines[-1]) + len(one) < 78 else [lines[-1], f"  {one}"]
    total, mean = (
        figure(math.nan if one is None else one) for one in (prediction.log_prob, prediction.log_prob_per_token)
    )
    return ["\n".join([f"log_prob = {total}, log_prob_per_token = {mean}; probability of each token:", *lines])]


def looked(prediction: "Prediction", inputs: Sequence[str], searched: bool = True, true: str | None = None) -> str:
    """What was asked and answered, and under it where the model looked."""
    from regard.look.terminal import show

    line, attention_map = answered(prediction, inputs, searched, true), prediction.look
    line = "\n".join([line, *(f"  {plain(words)}" for words in words_of(prediction))])
    if attention_map is None:
        return line
    # A title that is only the inputs has been said by the line.
    if attention_map.title == between.join(inputs):
        attention_map = replace(attention_map, title="")
    return f"{line}\n\n{show(attention_map)}"
