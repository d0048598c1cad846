from regard.measure import Results
from regard.measure.chosen import Chosen


def test_by_hand():
    assert Chosen()(Results([], [], chosen=0.25)) == {"chosen": 0.25}
    assert Chosen()(Results([], [], chosen=0.0)) == {"chosen": 0.0}, "none of them is a choice too"


def test_nothing_where_nothing_was_chosen_from():
    assert Chosen()(Results([], [])) == {}
