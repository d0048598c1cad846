"""A text that is given instead of found: how likely it is, token by token, and where the model looked meanwhile.

    log p(y | x) = Σ_t log p(y_t | y_<t, x),     the end among the y_t; what is not in the vocabulary is `<unk>`

Nothing is searched for. A task that can do it has a method `score`; each of its rows
holds as many texts as a line of its data: source and target, or the text alone.

    [one] = model.score([("Dienstag, 5. März 2024", "2024-03-05")])
    one.log_prob, one.tokens, one.look
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor, nn

from regard.data.batch import in_order
from regard.errors import RegardError, counted
from regard.look.attention_map import AttentionMap
from regard.search import Hypothesis, forced
from regard.text import Text
from regard.types import Example, Prediction, Sequences, Token

__all__ = ["AttentionMaps", "attention_map", "given", "read"]


def given(
    task: Any, network: nn.Module, rows: Sequence[Sequence[str]], look: bool, places: Sequence[Example]
) -> list[Prediction]:
    """The rows as the task scores them, once they are such as can be; `places` says where each was read."""
    if not hasattr(task, "score"):
        raise RegardError(f"{task.name} scores no given texts", expected="a task that writes texts, as translate")
    roles = ("source", "target") if task.columns == 2 else ("text",)
    for number, row in enumerate(rows):
        where = places[number].where if places else f"input {number + 1}"
        texts = (row,) if isinstance(row, str) else row
        if len(texts) != len(roles):
            raise RegardError(f"{where}: {counted(len(texts), 'text')}", expected=f"{len(roles)} ({', '.join(roles)})")
        for role, text in zip(roles, texts, strict=True):
            if not text.strip():
                raise RegardError(f"{where}: an empty {role}", expected="something to read")
    whole = [(row,) if isinstance(row, str) else tuple(row) for row in rows]
    return task.score(network, whole, look, places)  # type: ignore[no-any-return]


def read(
    model: Any, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], weights: bool, tokens: int
) -> list[Hypothesis]:
    """Every target as the model's decoder reads it, in the order they came."""
    found: dict[int, Hypothesis] = {}
    first: Tensor = next(model.parameters())
    for rows in in_order([(len(s), len(t)) for s, t in zip(sources, targets, strict=True)], tokens=tokens):
        memory = model.encode(Sequences.pad([sources[row] for row in rows]).to(first.device))
        some = [targets[row] for row in rows]
        found |= zip(rows, forced(model.decoder, memory, some, start=Text.start, weights=weights), strict=True)
    return [found[row] for row in range(len(targets))]


def attention_map(
    found: Hypothesis, rows: Sequence[Token], columns: Sequence[Token], title: str, head_names: tuple[str, ...]
) -> AttentionMap | None:
    """Where the decoder looked for the tokens of a hypothesis; None where it does not look, or was not asked."""
    weights = found.array
    if weights is None or not weights.shape[-1]:  # without attention there are no keys
        return None
    weights = weights[..., : len(columns)]
    return AttentionMap(
        weights, tuple(rows), tuple(columns), title=title, head_names=head_names if weights.ndim == 3 else ()
    )


class AttentionMaps:
    """`attention_map` for many hypotheses of one decoder, at a third of the cost: all weights are checked together."""

    def __init__(self, found: Sequence[Hypothesis], head_names: tuple[str, ...]) -> None:
        self.head_names = head_names
        arrays = [array for one in found if (array := one.array) is not None]
        self.sound = all(_sound(arrays[first : first + 1024]) for first in range(0, len(arrays), 1024))

    def __call__(
        self, found: Hypothesis, rows: tuple[Token, ...], columns: tuple[Token, ...], title: str
    ) -> AttentionMap | None:
        weights, time, keys = found.array, len(rows), len(columns)
        if weights is None or not weights.shape[-1]:
            return None
        if weights.shape[-1] > keys:
            weights = weights[..., :keys]
        head_names = self.head_names if weights.ndim == 3 else ()
        if not (
            self.sound and weights.shape[-2:] == (time, keys) and (not head_names or len(head_names) == len(weights))
        ):
            return attention_map(found, rows, columns, title, head_names)  # which says what is wrong, if anything is
        return AttentionMap.known(weights, rows, columns, title, head_names)


def _sound(some: Sequence[np.ndarray]) -> bool:
    """Finite, and none below 0; where there is a nan, neither comparison holds."""
    every = np.concatenate(some, axis=None)
    return not every.size or bool(every.min() >= 0 and every.max() < np.inf)
