import pytest

from regard.errors import RegardError
from regard.measure import Measure, Results
from regard.measure.slots import Slots
from regard.types import Example, Prediction


def results(*rows: tuple[str, str, str]) -> Results:
    """(record, target, written)"""
    return Results(
        [Example((record,), target, "r.tsv:1") for record, target, _ in rows],
        [Prediction(text, 0.0) for _, _, text in rows],
    )


def test_by_hand():
    """The target says name and area, not "yes"; the first answer says one of the two, the second both."""
    record = "name[Blue Spice], area[riverside], familyFriendly[yes]"
    target = "Blue Spice is by the riverside, for all the family."
    found = Slots()(results((record, target, "Blue Spice is fine, yes."), (record, target, "riverside: BLUE  spice")))
    assert found == {"slots": pytest.approx(3 / 4), "slots_all": pytest.approx(1 / 2)}


def test_whole_words_only():
    assert Slots()(results(("n[5]", "5 stars", "15 stars, 5x")))["slots"] == 0.0
    assert Slots()(results(("n[5]", "5 stars", "it has 5.")))["slots"] == 1.0
    assert Slots()(results(("p[more than £30]", "It costs more than £30.", "more than £30!")))["slots"] == 1.0


def test_json_records():
    assert Slots()(results(('{"name": "Zizzi", "stars": 5}', "Zizzi has 5", "Zizzi has 4")))["slots"] == 0.5


def test_nothing_said_by_any_target():
    assert Slots()(results(("a[b]", "c", "b"))) == {}


def test_records_with_nothing_to_say_do_not_count():
    assert Slots()(results(("a[b]", "c", "b"), ("a[b]", "b", "b"))) == {"slots": 1.0, "slots_all": 1.0}


def test_what_is_no_record_is_told_with_its_place():
    with pytest.raises(RegardError, match=r"r\.tsv:1: 'nonsense' is not a field"):
        Slots()(results(("nonsense", "a", "b")))


def test_it_is_a_measure():
    assert isinstance(Slots(), Measure)
