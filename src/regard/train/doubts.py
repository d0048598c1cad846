"""Warnings about a model that has not learned: its predictions against baselines that ignore the input.

There is one line if all predictions are the same, or no better than the most frequent label, the mean or word
frequencies. A good model gets none.

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

FEW = 20  # inputs; with fewer there are no warnings
ALIKE = 0.1  # smallest ratio of distinct predictions to distinct targets
MANY = 50_000  # lines of a text whose tokens are counted
LOOKS = 8  # examples whose attention is checked
EVEN = 0.97  # share of the largest possible entropy from which weights count as uniform


def doubts_of(model: Any, results: Results, train: Sequence[Example], epochs: float | None = None) -> list[str]:
    """The warnings for a `regard.Model`, including uniform attention of a decoder."""
    found = doubts(model.task, results, train, epochs)
    if model.searches and model.task.target is not None:
        found += uniform(model.predict([example.inputs for example in results.examples[:LOOKS]]))
    return found


def doubts(task: Any, results: Results, train: Sequence[Example], epochs: float | None = None) -> list[str]:
    """One line for each reason to think that a model has not learned."""
    found = []
    if epochs is not None and epochs < 1:
        found.append(f"the model has seen only {epochs:.0%} of the training data")
    if len(results.examples) >= FEW:
        guessed = None
        if task.target is not None:
            pairs = [(example.target, prediction.text) for example, prediction in results.pairs()]
            guessed = task.target.doubts([one.target for one in train], pairs)
        found += _texts(task, results, train) if guessed is None else guessed
    return found


def _texts(task: Any, results: Results, train: Sequence[Example]) -> list[str]:
    found = []
    answers = {prediction.text for prediction in results.predictions}
    inputs, targets = ({getattr(one, name) for one in results.examples} for name in ("inputs", "target"))
    if results.predictions and len(inputs) >= FEW and len(targets) >= FEW and len(answers) <= ALIKE * len(targets):
        number = f"only {len(answers):,} different predictions" if len(answers) > 1 else "the same prediction"
        found.append(f"{number} for {len(inputs):,} inputs")
    some = train if isinstance(train, list) else train[:MANY]
    counts = Counter(token for item in task.items(some) for token in task.said(item))
    total, kinds = counts.total(), len(counts) + 1
    seen = Counter(token for item in task.items(results.examples) for token in task.said(item))
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
    """A warning if the attention of a decoder is nearly uniform."""
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
