"""Where a model goes wrong: the worst examples, scores by input length and by label, confusions, missed words.

    report = analyse(model, examples, model.results(examples))        # all of it as JSON
    write(report, model, Path("runs/entail/errors"))                  # errors.json, index.html and the plots

What is in a report follows from the field of the target: `labels` give confusions and figures by label, `number` gives
residuals, `words` gives the words that are missed. Every model gets its worst examples and its scores by input length.
"""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from regard.files import finite, write_whole
from regard.find import find
from regard.intervals import mean
from regard.measure import Results
from regard.types import Example

__all__ = ["analyse", "write"]

WORST = 50  # examples shown
WORDS = 30  # missed words, and added ones
NAMED = 10  # groups by a word
BINS = 6  # groups of like input length


def analyse(model: Any, examples: Sequence[Example], results: Results) -> dict[str, Any]:
    """Everything about the errors of a `regard.Model` in a dictionary for JSON.

    `scores` names what each example is judged by, the one that ranks them first; "loss" is −log p of the target, per
    token where it has several.
    """
    task, target = model.task, model.task.target
    scores = task.metrics.each(results) if results.predictions else {}
    if (losses := _losses(model, results)) is not None:
        scores["loss"] = losses
    lower = {name: name == "loss" or find("measure", name).better == "lower" for name in scores}
    answers = [one.text for one in results.predictions] or [""] * len(examples)
    lengths = _lengths(task, examples)
    report = {
        "task": model.config["task"],
        "run": str(model.run.folder),
        "examples": len(examples),
        "measures": task.measure(results),
        "roles": list(task.inputs),
        "scores": {name: {"better": "lower" if lower[name] else "higher"} for name in scores},
        "worst": _worst(examples, answers, lengths, scores, lower),
        "by_length": _groups(_bins(lengths), lengths, scores),
    }
    grouped = task.groups(examples)
    if grouped:
        report["by_group"] = {name: _named(values, scores) for name, values in grouped.items()}
    references = [len(one.references) for one in examples]
    if len(set(references)) > 1:
        report["by_references"] = _groups([(n, n) for n in sorted(set(references))], references, scores)
    if target is None or not results.predictions:
        return report
    if target.labels(answers[0]) is not None:
        report |= _by_label(
            [
                pair
                for example, answer in zip(examples, answers, strict=True)
                for pair in zip(target.labels(example.target), target.labels(answer), strict=False)
            ]
        )
    if target.number(answers[0]) is not None:
        pairs = [
            (target.number(one.target), target.number(answer)) for one, answer in zip(examples, answers, strict=True)
        ]
        report["residuals"] = [{"true": true, "predicted": predicted} for true, predicted in pairs]
    if target.words(answers[0]) is not None:
        report |= _words(
            [
                ([Counter(target.words(text)) for text in example.references], Counter(target.words(answer)))
                for example, answer in zip(examples, answers, strict=True)
            ]
        )
    return report


def _losses(model: Any, results: Results) -> list[float | None] | None:
    """−log p of each target, per token where it is searched for token by token; None where a model cannot tell."""
    task, examples = model.task, results.examples
    if task.can("scores"):
        rows = [(*one.inputs, one.target) if task.target is not None else one.inputs for one in examples]
        told = [number for number, row in enumerate(rows) if all(text.strip() for text in row)]
        scored = model.score([rows[number] for number in told], look=False, where=[examples[n].where for n in told])
        found: list[float | None] = [None] * len(rows)
        for number, one in zip(told, scored, strict=True):
            found[number] = None if one.log_prob_per_token is None else -one.log_prob_per_token
        return found
    if any(one.log_prob is None or not one.others for one in results.predictions):
        return None
    known: list[dict[str, Any]] = [
        {one.text: one.log_prob for one in (first, *first.others)} for first in results.predictions
    ]
    return [-row[one.target] if one.target in row else None for row, one in zip(known, examples, strict=True)]


def _lengths(task: Any, examples: Sequence[Example]) -> list[int]:
    """Tokens (or whatever a field counts) that the model reads, over all inputs."""
    where, total = [one.where for one in examples], [0] * len(examples)
    for side, (role, field) in enumerate(task.inputs.items()):
        rows = field.encode([one.inputs[side] for one in examples], where, role)
        total = [sum_so_far + field.length(row) for sum_so_far, row in zip(total, rows, strict=True)]
    return total


def _worst(
    examples: Sequence[Example],
    answers: Sequence[str],
    lengths: Sequence[int],
    scores: dict[str, list[Any]],
    lower: dict[str, bool],
) -> list[dict[str, Any]]:
    """By the first score; among equals by the next."""

    def badness(number: int) -> tuple[float, ...]:
        each = ((name, values[number]) for name, values in scores.items())
        return tuple(-np.inf if value is None else value if lower[name] else -value for name, value in each)

    order = sorted(range(len(examples)), key=badness, reverse=True)[:WORST]
    return [
        {
            "where": examples[number].where,
            "inputs": list(examples[number].inputs),
            "target": examples[number].target,
            "alternatives": list(examples[number].alternatives),
            "answer": answers[number],
            "length": lengths[number],
            "scores": {name: values[number] for name, values in scores.items()},
        }
        for number in order
    ]


def _bins(values: Sequence[int]) -> list[tuple[int, int]]:
    """From and to, both included, of groups that have about as many examples each."""
    edges = sorted({int(edge) for edge in np.quantile(values, np.linspace(0, 1, BINS + 1)[1:], method="lower")})
    return [(first, last) for first, last in zip([min(values), *(edge + 1 for edge in edges)], edges, strict=False)]


def _named(values: Sequence[int | str], scores: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Groups of like numbers, or of the same word, the most frequent first."""
    numbers = [value for value in values if isinstance(value, int)]
    if len(numbers) == len(values):
        return _groups(_bins(numbers), numbers, scores)
    words = [str(value) for value in values]
    usual = [word for word, _ in Counter(words).most_common(NAMED)]
    place = {word: number for number, word in enumerate(usual)}
    rows = _groups([(n, n) for n in range(len(usual))], [place.get(word, -1) for word in words], scores)
    return [{**row, "from": word, "to": word} for row, word in zip(rows, usual, strict=True)]


def _groups(
    bounds: Sequence[tuple[int, int]], values: Sequence[int], scores: dict[str, list[Any]]
) -> list[dict[str, Any]]:
    """The mean of each score, with its 95 % interval, over the examples of each group."""
    found = []
    for first, last in bounds:
        inside = [number for number, value in enumerate(values) if first <= value <= last]
        row: dict[str, Any] = {"from": first, "to": last, "examples": len(inside), "scores": {}}
        for name, every in scores.items():
            if some := [every[number] for number in inside if every[number] is not None]:
                about = mean(some)
                row["scores"][name] = {"mean": about.value, "low": about.low, "high": about.high}
        found.append(row)
    return found


def _by_label(pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Confusions, and precision, recall and F1 of each label, the most frequent first."""
    counts = Counter(pairs)
    true, said = Counter(one for one, _ in pairs), Counter(one for _, one in pairs)
    labels = sorted(true | said, key=lambda label: (-true[label], label))
    rows = []
    for label in labels:
        right = counts[label, label]
        wrong = [(count, other) for (one, other), count in counts.items() if one == label != other]
        rows.append(
            {
                "label": label,
                "examples": true[label],
                "predicted": said[label],
                "precision": right / said[label] if said[label] else None,
                "recall": right / true[label] if true[label] else None,
                "f1": 2 * right / (true[label] + said[label]),
                "taken_for": max(wrong, key=lambda one: one[0])[1] if wrong else None,
            }
        )
    confusions = [{"true": one, "predicted": other, "count": count} for (one, other), count in counts.most_common()]
    return {"by_label": rows, "confusions": confusions}


def _words(pairs: Sequence[tuple[list[Counter[str]], Counter[str]]]) -> dict[str, Any]:
    """Words that every reference has and the answer lacks, and those that it has and no reference does."""
    missed, wanted, added, said = (Counter[str]() for _ in range(4))
    for references, answer in pairs:
        least, most = references[0], references[0]
        for one in references[1:]:
            least, most = least & one, most | one
        missed += least - answer
        wanted += least
        added += answer - most
        said += answer
    return {
        "missed": [{"word": word, "missed": n, "of": wanted[word]} for word, n in _first(missed)],
        "added": [{"word": word, "added": n, "of": said[word]} for word, n in _first(added)],
    }


def _first(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:WORDS]


def write(report: dict[str, Any], model: Any, folder: Path) -> list[str]:
    """Writes the plots, errors.json and index.html into a folder. The names of the files."""
    from regard.error_analysis.page import page
    from regard.error_analysis.plots import plots

    pictures = plots(report)
    for name, picture in pictures.items():
        write_whole(folder / f"{name}.png", picture)
    write_whole(folder / "errors.json", json.dumps(finite(report), ensure_ascii=False, indent=1, allow_nan=False))
    write_whole(folder / "index.html", page(report, pictures, model.task.inputs))
    return ["index.html", "errors.json", *(f"{name}.png" for name in pictures)]
