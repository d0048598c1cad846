"""Whether a model has learned anything: its answers beside those of somebody who never looks at the input.

A model that answers everything alike, or no better than the commonest answer, the mean or the frequency of words, says
so in a plain line. A good model says nothing.

    doubts(task, results, splits.train, epochs=0.4)   # → ["only 6 different predictions for 500 inputs", …]
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.measure import Results
from regard.types import Example, Prediction

__all__ = ["doubts", "doubts_of", "uniform"]

FEW = 20  # inputs; of fewer nothing can be said
ALIKE = 0.1  # different answers beside different targets
LOOKS = 8  # examples whose looks are asked for
EVEN = 0.97  # of the largest entropy that weights can have


def doubts_of(model: Any, results: Results, train: Sequence[Example], epochs: float | None = None) -> list[str]:
    """The same of a `regard.Model`, with where it looks, if it looks at an input to write an answer."""
    found = doubts(model.task, results, train, epochs)
    if model.searches and model.task.columns == 2:
        found += uniform(model.predict([example.inputs for example in results.examples[:LOOKS]]))
    return found


def doubts(task: Any, results: Results, train: Sequence[Example], epochs: float | None = None) -> list[str]:
    """One line for each reason to think that a model has not learned."""
    found = []
    if epochs is not None and epochs < 1:
        found.append(f"the model has seen only {epochs:.0%} of the training data")
    if len(results.examples) >= FEW:
        if hasattr(task, "labels"):
            found += _labels(task, results, train)
        elif hasattr(task, "low"):  # a number on a scale
            found += _numbers(results, train)
        else:
            found += _texts(task, results, train)
    return found


def _labels(task: Any, results: Results, train: Sequence[Example]) -> list[str]:
    usual = Counter(label for example in train for label in task.labels_of(example)).most_common(1)[0][0]
    true, said = list[str](), list[str]()
    for example, prediction in results.pairs():
        labels = list(task.labels_of(example))
        true += labels
        said += prediction.text.split(" ") if len(labels) > 1 else [prediction.text]
    if len(true) != len(said):
        return []
    if len(set(said)) == 1 and len(set(true)) > 1:
        return [f"the same prediction for all {len(results.examples):,} inputs"]
    right = sum(a == b for a, b in zip(true, said, strict=True)) / len(true)
    always = sum(label == usual for label in true) / len(true)
    if right > always or always == 1:
        return []
    return [f"accuracy {right:.1%}; always predicting the most frequent label gives {always:.1%}"]


def _numbers(results: Results, train: Sequence[Example]) -> list[str]:
    mean = sum(float(example.target) for example in train) / max(1, len(train))
    pairs = [(float(example.target), float(prediction.text)) for example, prediction in results.pairs()]
    error = sum((true - said) ** 2 for true, said in pairs) / len(pairs)
    always = sum((true - mean) ** 2 for true, _ in pairs) / len(pairs)
    if error < always or always == 0:
        return []
    return [f"mean squared error {error:.3g}; always predicting the mean gives {always:.3g}"]


def _texts(task: Any, results: Results, train: Sequence[Example]) -> list[str]:
    found = []
    answers = {prediction.text for prediction in results.predictions}
    inputs, targets = ({getattr(one, name) for one in results.examples} for name in ("inputs", "target"))
    if results.predictions and len(inputs) >= FEW and len(targets) >= FEW and len(answers) <= ALIKE * len(targets):
        number = f"only {len(answers):,} different predictions" if len(answers) > 1 else "the same prediction"
        found.append(f"{number} for {len(inputs):,} inputs")
    counts = Counter(token for item in task.items(train) for token in item.target)
    total, kinds = counts.total(), len(counts) + 1
    seen = Counter(token for item in task.items(results.examples) for token in item.target)
    if results.tokens and seen.total():
        nats = results.nats / results.tokens
        usual = -sum(n * math.log((counts[token] + 1) / (total + kinds)) for token, n in seen.items()) / seen.total()
        if nats >= usual:
            found.append(
                f"perplexity {math.exp(min(nats, 700)):,.4g} per token; token frequencies alone "
                f"give {math.exp(usual):,.4g}"
            )
    return found


def uniform(predictions: Sequence[Prediction]) -> list[str]:
    """A line where the attention of a decoder is spread evenly over its input."""
    shares = []
    for look in (prediction.look for prediction in predictions):
        if look is None or look.weights.shape[-1] < 4 or look.weights.ndim < 2:
            continue
        weights = np.clip(np.asarray(look.weights, dtype=np.float64), 1e-12, None)
        weights /= weights.sum(-1, keepdims=True)
        shares.append(float((-(weights * np.log(weights)).sum(-1)).mean() / math.log(weights.shape[-1])))
    if not shares or sum(shares) / len(shares) < EVEN:
        return []
    return ["attention is almost uniform over the input: the model does not focus on any part of it"]
