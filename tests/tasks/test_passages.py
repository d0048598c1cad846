"""Windows of a document: together they cover all of it."""

import pytest

from regard.regions import Token
from regard.tasks._passages import Passage, starts


@pytest.mark.parametrize("length", [1, 5, 6, 7, 23])
@pytest.mark.parametrize(("window", "stride"), [(5, 5), (5, 2), (5, 1), (30, 7)])
def test_every_token_is_in_a_window(length: int, window: int, stride: int) -> None:
    found = list(starts(length, window, stride))
    covered = {place for first in found for place in range(first, min(first + window, length))}
    assert covered == set(range(length))
    assert found[-1] + window >= length
    assert len(found) == 1 or found[-2] + window < length  # none too many


def test_every_short_answer_lies_whole_in_one() -> None:
    """Windows share window − stride tokens: an answer of one more lies in one of them."""
    firsts = list(starts(40, 10, 6))
    for begin in range(36):
        assert any(first <= begin and begin + 4 < first + 10 for first in firsts)


def test_regions() -> None:
    passage = Passage(0, [5, 6, 3], [7], [(0, 3), (4, 5), (-1, -1)], extra=("</s>",))
    assert passage.regions("Ada .") == [Token("Ada", 0, 3), Token(".", 4, 5), Token("</s>")]
    assert passage.lengths == (3, 1, 1)
