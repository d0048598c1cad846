"""Visits: the label is the department that comes most often, and no visit is in two parts."""

from collections import Counter
from random import Random

from regard.data.builtin.visits import DEPARTMENTS, PRODUCTS, Visits


def test_the_label_comes_most_often() -> None:
    ids = [f"p{number:03d}" for number in range(len(DEPARTMENTS) * PRODUCTS)]
    Random("1 products").shuffle(ids)
    of = {one: DEPARTMENTS[place // PRODUCTS] for place, one in enumerate(ids)}
    for example in Visits(train=200, valid=1, test=1).splits().train:
        counts = Counter(of[one] for one in example.source.split()).most_common()
        assert counts[0][0] == example.target
        assert counts[0][1] > counts[1][1]


def test_parts_share_no_visit() -> None:
    splits = Visits(train=500, valid=100, test=100).splits()
    parts = [{one.inputs for one in part} for part in (splits.train, splits.valid, splits.test)]
    assert sum(map(len, parts)) == len(set.union(*parts)) == 700
