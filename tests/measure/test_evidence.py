"""Evidence: the share of attention on the sentence that gives the answer, by hand."""

import numpy as np
import pytest

from regard.look.attention_map import AttentionMap
from regard.measure import Results
from regard.measure.evidence import Evidence, share
from regard.regions import Item, Token
from regard.types import Example, Prediction

COLUMNS = (Token("Ada", 0, 3), Token("left", 4, 8), Token("Bo", 10, 12), Token("</s>", 12, 12), Token("<sentinel>"))


def looked(*rows: list[float]) -> AttentionMap:
    return AttentionMap(np.array(rows), tuple(Item(str(n)) for n in range(len(rows))), COLUMNS)


def test_by_hand() -> None:
    """The weight on the end and on the sentinel is nowhere: of 0.8 that are left 0.6 are inside."""
    found = share(looked([0.2, 0.4, 0.2, 0.1, 0.1]), ((0, 8),))
    assert found == (pytest.approx(0.75), pytest.approx(2 / 3))


def test_of_a_set() -> None:
    inside, outside = looked([0.5, 0.5, 0, 0, 0]), looked([0, 0, 1, 0, 0], [0, 0, 1, 0, 0])
    examples = [Example(("d", "q"), "a", evidence=((0, 8),)), Example(("d", "q"), "a")]
    read = [Prediction("a", 0.0, look=inside, looks=(outside,)), Prediction("a", 0.0, look=inside)]
    found = Evidence()(Results(examples, [], read=read))
    assert found == {
        "evidence_answer": pytest.approx(1.0), "evidence_attention": pytest.approx(0.0),
        "evidence_chance": pytest.approx(2 / 3),
    }  # fmt: skip
    assert Evidence()(Results([], [])) == {}
