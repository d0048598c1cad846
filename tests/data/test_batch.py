import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.batch import batches, in_order, through
from regard.errors import RegardError


def test_by_hand() -> None:
    assert in_order([2, 9, 3, 3, 1], tokens=6) == [[1], [2, 3], [0, 4]]  # 9 alone; 2×3; 2×2, a third would still fit
    assert in_order([(1, 4), (3, 2), (1, 1)], tokens=8) == [[0, 1], [2]]
    assert in_order([5, 1, 3], rows=2) == [[0, 2], [1]]
    assert in_order([1] * 5, tokens=4, rows=3) == [[0, 1, 2], [3, 4]]
    assert in_order([], tokens=5) == []


sizes = st.one_of(
    st.lists(st.integers(0, 60), max_size=80), st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=80)
)


@given(sizes, st.integers(1, 200), st.integers(0, 9), st.integers(0, 5), st.integers(0, 5))
def test_every_row_once_and_within_the_budget(
    lengths: list[int] | list[tuple[int, ...]], tokens: int, rows: int, seed: int, epoch: int
) -> None:
    def longest(row: int) -> int:
        length = lengths[row]
        return length if isinstance(length, int) else max(length)

    made = batches(lengths, tokens=tokens, rows=rows, seed=seed, epoch=epoch)
    assert made == batches(lengths, tokens=tokens, rows=rows, seed=seed, epoch=epoch)
    for cut in (made, in_order(lengths, tokens, rows)):
        assert Counter(row for batch in cut for row in batch) == Counter(range(len(lengths)))
        for batch in cut:
            assert batch
            assert len(batch) == 1 or max(map(longest, batch)) * len(batch) <= tokens
            assert not rows or len(batch) <= rows


def test_epochs_and_seeds_differ() -> None:
    lengths = [row % 30 + 1 for row in range(600)]
    first = batches(lengths, tokens=200, seed=0, epoch=0)
    for seed, epoch in ((0, 1), (1, 0)):
        other = batches(lengths, tokens=200, seed=seed, epoch=epoch)
        assert {frozenset(batch) for batch in first} != {frozenset(batch) for batch in other}
    longest = [max(lengths[row] for row in batch) for batch in first]
    falls = sum(later < earlier for earlier, later in itertools.pairwise(longest))
    assert len(longest) / 4 < falls < len(longest) * 3 / 4  # shuffled, not sorted


def test_little_is_padding() -> None:
    lengths = [row * row % 50 + 1 for row in range(5_000)]
    for made in (batches(lengths, tokens=1_000, seed=0, epoch=0), batches(lengths, rows=32, seed=0, epoch=0)):
        places = sum(len(batch) * max(lengths[row] for row in batch) for batch in made)
        assert sum(lengths) / places > 0.9
    assert all(len(batch) == 32 for batch in batches(lengths[:3200], rows=32, seed=0, epoch=0))


@pytest.mark.parametrize(("tokens", "rows"), [(0, 0), (-1, 0), (5, -1)])
def test_budgets_that_cannot_be(tokens: int, rows: int) -> None:
    with pytest.raises(RegardError, match="one above 0"):
        in_order([1], tokens, rows)


def test_parts_one_after_another() -> None:
    """Every row once; rows of a part stand together; one part is as no parts; another order in each epoch."""
    lengths = [[1 + n % 5 for n in range(size)] for size in (20, 7, 30)]
    parts = [(first, lambda some=some: some) for first, some in zip((0, 20, 27), lengths, strict=True)]  # type: ignore[misc]
    orders = []
    for epoch in range(6):
        found = list(through(parts, seed=1, epoch=epoch, rows=4))
        assert sorted(row for rows in found for row in rows) == list(range(57))
        order = [0 if rows[0] < 20 else 1 if rows[0] < 27 else 2 for rows in found]
        assert all(max(rows) < 27 for rows in found if 20 <= rows[0] < 27)
        orders.append([number for number, _ in itertools.groupby(order)])
    assert all(sorted(order) == [0, 1, 2] for order in orders)
    assert len({tuple(order) for order in orders}) > 1
    assert list(through(parts[:1], seed=1, epoch=3, tokens=9)) == batches(lengths[0], seed=1, epoch=3, tokens=9)
    assert list(through([], seed=1, epoch=3, tokens=9)) == []
