"""Records: both forms read alike, values set aside, and regions that show them."""

import pytest

from regard.errors import RegardError
from regard.fields.record import Record


@pytest.fixture
def field() -> Record:
    made = Record(end=True, delexicalise=("name",), tokenizer={"name": "word", "split": "punctuation"})
    made.fit(["name[Blue Spice], area[riverside]"])
    return made


def test_both_forms_are_one(field: Record) -> None:
    one, other = "name[Blue Spice], area[riverside]", '{"name": "Blue Spice", "area": "riverside"}'
    assert field.written(one) == field.written(other) == ("name[x_name], area[riverside]", {"x_name": "Blue Spice"})
    assert field.encode([one], [""]) == field.encode([other], [""])
    assert field.title(other) == one


def test_a_name_never_seen_is_read_as_its_placeholder_and_shown_as_it_is(field: Record) -> None:
    value = "name[New Place], area[riverside]"
    assert field.encode([value], [""]) == field.encode(["name[Blue Spice], area[riverside]"], [""])
    [regions] = field.regions([value])
    assert [region.text for region in regions[:4]] == ["name", "[", "New Place", "]"]  # type: ignore[union-attr]
    assert (regions[2].start, regions[2].end) == (5, 14)  # type: ignore[union-attr]


def test_mistakes(field: Record) -> None:
    with pytest.raises(RegardError, match=r"^e\.csv:9: 'just words' is not a field"):
        field.encode(["just words"], ["e.csv:9"])
    with pytest.raises(RegardError, match=r"^delexicalise: no record has a field 'nam'; did you mean 'name'"):
        Record(end=True, delexicalise=("nam",)).fit(["name[a]"])
