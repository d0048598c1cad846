"""Maps of a row of a batch: padding is left out, and the sentinels are named."""

import torch

from regard.attend.interact import Interaction
from regard.networks.answering import Answered
from regard.predict.point import Pointed
from regard.regions import Token
from regard.tasks._passages import Passage
from regard.tasks._read_maps import maps_of
from regard.types import Memory


def test_one_row_of_a_batch() -> None:
    """Its document has 2 of 3 positions and its question 1 of 2; behind the padding are the sentinels."""
    affinity = torch.arange(12.0).reshape(1, 4, 3) - 3
    states = torch.zeros(1, 3, 2)
    logits = torch.tensor([[[0.0, 0.0, -1e30]]])
    read = Answered(
        Interaction(states, None, affinity, affinity.transpose(1, 2).abs(), affinity.abs()),
        Memory(states, states),
        Pointed(logits, logits, torch.zeros(1, 1, 2, dtype=torch.long)),
    )
    passage = Passage(0, [5, 3], [6], [(0, 3), (-1, -1)], extra=("</s>",))
    answer, asked, looked, shown = maps_of(read, 0, passage, ("Ada", "who"), (Token("who", 0, 3),))
    assert answer.weights.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert [one.text for one in answer.rows] == ["start", "end"]
    assert [one.text for one in asked.columns] == ["Ada", "</s>", "<sentinel>"]
    assert [one.text for one in looked.columns] == ["who", "<sentinel>"]
    assert shown.weights.tolist() == [[0, 2], [3, 5], [9, 11]]
    assert looked.weights.tolist() == [[3, 1], [0, 2], [6, 8]]
    assert asked.weights.tolist() == [[3, 0, 6], [1, 2, 8]]
