"""Text to read: with an end or without, cut, dropped from, and each position's characters."""

from pathlib import Path
from typing import Any

import pytest
import torch

from regard.errors import RegardError
from regard.fields.text import Text


def field(end: bool = False, **options: Any) -> Text:
    made = Text(end=end, tokenizer="word", embed={"dim": 4}, **options)
    made.fit(["a dog runs", "a cat"])
    return made


@pytest.mark.parametrize(("end", "words"), [(False, ["a", "dog"]), (True, ["a", "dog", "</s>"])])
def test_a_position_is_a_word_and_its_characters(end: bool, words: list[str]) -> None:
    part = field(end)
    [row], [regions] = part.encode(["a dog"], [""]), part.regions(["a dog"])
    assert len(row) == len(regions) == len(words)
    assert [region.text for region in regions] == words  # type: ignore[union-attr]
    assert (regions[1].start, regions[1].end) == (2, 5)  # type: ignore[union-attr]
    vectors = part.embedding()(part.collate([row]))
    assert vectors.values.shape == (1, len(words), 4)


def test_it_comes_back() -> None:
    part, again = field(), Text(end=False)
    again.restore(part.state())
    assert again.encode(["a cat"], [""]) == part.encode(["a cat"], [""])
    assert again.embedding().learned.shape == part.embedding().learned.shape


def test_only_the_beginning_is_read_where_it_is_truncated() -> None:
    part = field(end=True, truncate=3)
    [row], [regions] = part.encode(["a dog runs"], [""]), part.regions(["a dog runs"])
    assert (part.text.decode(row), row[-1], len(regions)) == ("a dog", part.text.end, 3)


def test_dropping_by_hand() -> None:
    part = field()
    assert part.drop([7, 8, 9], (1,)) == [7, 9]
    assert part.drop([7, 8, 9], (2, 0, 2)) == [8]
    assert part.drop([7, 8], ()) == [7, 8]
    assert part.drop([], ()) == []
    [regions] = part.regions(["a dog runs"])
    assert part.remaining(regions, (0, 2)) == regions[1:2]


@pytest.mark.parametrize("place", [-1, 3])
def test_what_is_not_there_cannot_be_dropped(place: int) -> None:
    with pytest.raises(RegardError, match=f"^no token {place} to drop; expected 0 to 2$"):
        field().drop([1, 2, 3], (place,))
    with pytest.raises(RegardError, match=r"^no token would be left"):
        field().drop([1, 2], (0, 1))


@pytest.mark.parametrize("value", ["", "  "])
def test_an_empty_text(value: str) -> None:
    with pytest.raises(RegardError, match=r"^b\.tsv:7: an empty premise; expected at least one word$"):
        field().encode(["a", value], ["b.tsv:6", "b.tsv:7"], "premise")
    assert len(field(end=True).encode([""], [""])[0]) == 1  # the end is read


def test_what_a_request_may_hold() -> None:
    field().requested("a dog", "input 1", 5)
    with pytest.raises(RegardError, match=r"^input 1: 5 characters; expected at most 4"):
        field().requested("a dog", "input 1", 4)
    with pytest.raises(RegardError, match=r"^input 1: empty text"):
        field().requested(" ", "input 1", 4)


def test_a_table_is_new_each_time() -> None:
    part = field()
    assert not torch.equal(part.embedding().learned, part.embedding().learned)


def test_vectors_of_several_files_or_of_one_with_a_comma_in_its_name(tmp_path: Path) -> None:
    for name, line in (("one.txt", "dog 1 2"), ("two.txt", "dog 3"), ("a,b.txt", "dog 4 5")):
        (tmp_path / name).write_text(f"{line}\n")
    for given, width in ((f"{tmp_path}/one.txt, {tmp_path}/two.txt", 3), (f"{tmp_path}/a,b.txt", 2)):
        made = Text(end=False, tokenizer="word", embed={"vectors": given})
        made.fit(["a dog runs"])
        assert made.vectors is not None
        assert made.vectors.width == width
