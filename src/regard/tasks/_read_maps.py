"""Where a network looked in a document and a question, as attention maps of one example.

    maps_of(read, 0, passage, (document, question), question_tokens)

The first map is of the answer: where a pointer pointed, a row for the start and the end at each of its turns, or how
much each word counted. Then, where the two sides met: what each word of the question looked at in the document, what
each word of the document looked at in the question, and their affinity (less its smallest value, as maps show numbers
of at least 0).
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.look.attention_map import AttentionMap
from regard.networks.answering import Answered
from regard.regions import Item, Region, Token
from regard.tasks._passages import Passage

__all__ = ["maps_of"]

SENTINEL = Token("<sentinel>")


def maps_of(
    read: Answered, row: int, passage: Passage, texts: Sequence[str], question: Sequence[Region]
) -> list[AttentionMap]:
    """The maps of one row of a batch."""
    document, title = passage.regions(texts[0]), texts[1]
    found = [_answer(read, row, document, title)]
    met = read.interaction
    if met.affinity is None:
        return found
    padded = read.document.values.shape[1]
    sentinels = met.affinity.shape[1] > padded
    whole = met.over_question is None  # the question is one vector
    down = [*range(len(document)), *([padded] if sentinels else [])]
    across = [0] if whole else [*range(len(question)), *([met.affinity.shape[2] - 1] if sentinels else [])]
    end = (SENTINEL,) if sentinels else ()
    rows, columns = (*document, *end), (Token(title),) if whole else (*question, *end)
    if met.over_document is not None:
        weights = _array(met.over_document[row])[np.ix_(across, down)]
        found.append(
            AttentionMap(weights, columns, rows, f"question → document: {title}", axes=("question", "document"))
        )
    if met.over_question is not None:
        weights = _array(met.over_question[row])[np.ix_(down, across)]
        found.append(
            AttentionMap(weights, rows, columns, f"document → question: {title}", axes=("document", "question"))
        )
    affinity = _array(met.affinity[row])[np.ix_(down, across)]
    affinity -= affinity.min()
    found.append(AttentionMap(affinity, rows, columns, f"affinity: {title}", axes=("document", "question")))
    return found


def _answer(read: Answered, row: int, document: Sequence[Region], title: str) -> AttentionMap:
    axes = ("answer", "document")
    if read.pointed is None:
        assert read.interaction.weights is not None
        weights = _array(read.interaction.weights[row])[None, : len(document)]
        return AttentionMap(weights, (Item("answer", 0),), tuple(document), title, axes=axes)
    turns = torch.stack([read.pointed.start[row], read.pointed.end[row]], 1).flatten(0, 1)
    weights = _array(turns.softmax(-1))[:, : len(document)]
    names = [
        f"{'' if len(weights) == 2 else f'turn {n // 2 + 1}: '}{('start', 'end')[n % 2]}" for n in range(len(weights))
    ]
    rows = tuple(Item(name, number) for number, name in enumerate(names))
    return AttentionMap(weights, rows, tuple(document), title, axes=axes)


def _array(weights: Tensor) -> NDArray[np.float64]:
    return weights.detach().double().cpu().numpy()
