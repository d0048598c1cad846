from hypothesis import given
from hypothesis import strategies as st

from regard.data.splits import place, split
from regard.types import Example


def some(n: int, start: int = 0) -> list[Example]:
    return [Example((f"sentence {i}",), f"{i}") for i in range(start, start + n)]


def test_by_hand() -> None:
    # blake2b, 8 bytes, salted with the seed in 8 bytes, of the length in 8 bytes and the text
    assert place(("a",), 0) == place(("a",), 2**64)
    assert place(("ab", "c"), 0) != place(("a", "bc"), 0)
    assert round(place(("a",), 0), 6) == 0.501107


def test_shares_and_caps() -> None:
    parts = split(some(10_000))
    assert 400 < len(parts.valid) < 600
    assert 400 < len(parts.test) < 600
    capped = split(some(10_000), most=100)
    assert (len(capped.train), len(capped.valid), len(capped.test)) == (9_800, 100, 100)
    assert split(some(100), test=0.0).test == []
    assert split(some(100), valid=0.0).valid == []
    assert split(some(1000), seed=1) != split(some(1000), seed=2)


def test_adding_lines_moves_no_others() -> None:
    few, many = split(some(2_000)), split(some(3_000))
    assert set(few.valid) <= set(many.valid)
    assert set(few.test) <= set(many.test)
    assert set(few.train) <= set(many.train)
    assert split(some(2_000)[::-1]).valid == few.valid[::-1]


shares = st.sampled_from([(0.05, 0.05), (0.5, 0.5), (0.1, 0.9), (0.9, 0.1)])


@given(st.lists(st.sampled_from("abcdefghij"), max_size=40), shares, st.integers(0, 5))
def test_every_part_and_no_leak(sources: list[str], shares: tuple[float, float], seed: int) -> None:
    examples = [Example((source,), f"{row}") for row, source in enumerate(sources)]
    parts = split(examples, *shares, seed=seed)
    sides = [{e.inputs for e in part} for part in (parts.train, parts.valid, parts.test)]
    assert sorted((*parts.train, *parts.valid, *parts.test), key=lambda e: int(e.target)) == examples
    assert not sides[0] & sides[1]
    assert not sides[0] & sides[2]
    assert not sides[1] & sides[2]
    different = len(set(sources))
    assert [bool(side) for side in sides] == [different > 0, different > 1, different > 2]
    assert bool(split(examples, test=0.0, seed=seed).valid) == (different > 1)
    assert bool(split(examples, valid=0.0, seed=seed).test) == (different > 1)


def test_a_source_with_many_targets_stays_together() -> None:
    examples = [Example((f"{i % 7}",), f"{i}") for i in range(700)]
    parts = split(examples, most=50)
    assert len(parts.valid) == len(parts.test) == 100  # one source each, though it has more than the cap


def test_a_label_that_few_have_is_not_held_out() -> None:
    """Each sentence has a label that all have and one of its own, or that two have."""
    examples = [Example(e.inputs, f"all {int(e.target) // 2}") for e in some(200)]

    def labels(target: str) -> list[str]:
        return target.split()

    def all_of(part: list[Example]) -> set[str]:
        return {label for example in part for label in labels(example.target)}

    plain, parts = split(examples), split(examples, labels=labels)
    assert not all_of(plain.valid + plain.test) <= all_of(plain.train)
    assert all_of(parts.valid + parts.test) <= all_of(parts.train)
    for got, before in ((parts.valid, plain.valid), (parts.test, plain.test)):
        assert got
        assert set(got) <= set(before)
    assert len(parts.train) + len(parts.valid) + len(parts.test) == 200
    back = [e for e in parts.train if e not in plain.train]
    assert len(back) == len({e.target for e in back})  # one of each is enough
    usual = [Example(e.inputs, str(int(e.target) % 2)) for e in some(200)]
    assert split(usual, labels=labels) == split(usual)
