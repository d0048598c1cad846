"""Every number that can be set has a range: its default lies in it, and what lies outside ends in one line."""

import importlib
import math
import types as pytypes
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.cli.list import kinds, sections
from regard.errors import RegardError, brief
from regard.find import In, Of, Spec, about, choices, find, full, mark, names, settable, words
from regard.ranges import Dropout, Range, Seed, Width, range_of, ranged

whole, part = Range(0, 10), Range(0, 1, below=True)


# Ranges


@pytest.mark.parametrize(
    ("allowed", "inside", "outside", "said"),
    [
        (whole, [0, 10, 3], [-1, 11, math.nan, math.inf], "from 0 to 10"),
        (part, [0, 0.999], [1, 1.0, -1e-9, math.nan, -math.inf], "from 0 to below 1"),
        (Range(0, 1, above=True), [1e-300, 1], [0, 0.0, 1.0001, math.nan], "above 0 and at most 1"),
        (Range(0, 1, above=True, below=True), [0.5], [0, 1], "above 0 and below 1"),
        (Range(-2.5, 65536), [-2.5], [10**400, -(10**400)], "from -2.5 to 65,536"),
    ],
)
def test_by_hand(allowed: Range, inside: list[float], outside: list[float], said: str) -> None:
    assert all(value in allowed for value in inside)
    assert not any(value in allowed for value in outside)
    assert str(allowed) == said


def test_as_json_schema() -> None:
    assert whole.json() == {"minimum": 0, "maximum": 10}
    assert Range(0, 1, above=True, below=True).json() == {"exclusiveMinimum": 0, "exclusiveMaximum": 1}


def test_a_constructor_of_its_own_checks() -> None:
    class Thing:
        @ranged
        def __init__(self, size: Width, dropout: Dropout = 0.0, free: int = 0) -> None:
            self.size, self.dropout, self.free = size, dropout, free

    assert vars(Thing(3, dropout=0.5, free=-1)) == {"size": 3, "dropout": 0.5, "free": -1}
    for make in (lambda: Thing(0), lambda: Thing(size=2**16 + 1), lambda: Thing(3, 1.0), lambda: Thing(3, math.nan)):
        with pytest.raises(RegardError, match=r"^(size|dropout): got \S+; expected a (whole )?number from "):
            make()
    assert list(settable(Thing)) == ["dropout", "free"]


# What is given as an option


def thing(
    hidden: Width = 8,
    dropout: Dropout = 0.0,
    seed: Seed | None = None,
    sizes: tuple[Width, ...] = (1,),
    any_int: int = 0,
    any_float: float = 0.0,
    label: str = "",
) -> None: ...


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("hidden", 0, "part.hidden: got 0; expected a whole number from 1 to 65,536"),
        ("hidden", 10**12, "part.hidden: got 1000000000000; expected a whole number from 1 to 65,536"),
        ("hidden", 10**90, f"part.hidden: got 1{'0' * 78}…; expected a whole number from 1 to 65,536"),
        ("hidden", True, "part.hidden: got True; expected a whole number from 1 to 65,536"),
        ("dropout", 1, "part.dropout: got 1; expected a number from 0 to below 1"),
        ("dropout", math.nan, "part.dropout: got nan; expected a number from 0 to below 1"),
        ("dropout", 10**400, f"part.dropout: got 1{'0' * 78}…; expected a number from 0 to below 1"),
        ("seed", -1, "part.seed: got -1; expected a whole number from 0 to 9,223,372,036,854,775,807 or none"),
        ("seed", 2**63, f"part.seed: got {2**63}; expected a whole number from 0 to {2**63 - 1:,} or none"),
        ("sizes", [4, 0], "part.sizes: got 0; expected a whole number from 1 to 65,536"),
        ("any_int", 2**63, f"part.any_int: got {2**63}; expected a whole number"),
        ("any_float", math.inf, "part.any_float: got inf; expected a number"),
        ("any_float", math.nan, "part.any_float: got nan; expected a number"),
        ("any_float", 10**400, f"part.any_float: got 1{'0' * 78}…; expected a number"),
    ],
)
def test_outside_is_one_line(option: str, value: Any, said: str) -> None:
    with pytest.raises(RegardError) as caught:
        full(thing, {option: value}, "part.")
    assert str(caught.value) == said


def explained(
    hidden: Annotated[Width, "units"] = 8,
    seed: Annotated[Seed | None, "where draws begin"] = None,
    sizes: Annotated[tuple[Width, ...], "one a layer"] = (1,),
    pair: Annotated[tuple[int, int], "low and high"] = (0, 1),
    wet: Annotated[bool, "in the rain"] = False,
    kind: Annotated[Literal["wild", "neat"], "how it grows"] = "wild",
    look: Annotated[Literal["last"] | Annotated[int, Range(0, 9)], "which layer"] = "last",
    any_int: Annotated[int, "a count"] = 0,
    anything: Annotated[Any, "whatever"] = (),
    tree: Annotated[Spec, In("text"), "how it is cut"] = "word",
    hedge: Annotated[Mapping[str, Any], Of("networks.teach.Teach"), "how it is taught"] = {},
) -> None: ...


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("hidden", "many", "a whole number from 1 to 65,536 (units)"),
        ("seed", -1, "a whole number from 0 to 9,223,372,036,854,775,807 or none (where draws begin)"),
        ("sizes", 3, "a list, for example part.sizes=[1,2] (one a layer)"),
        ("sizes", [0], "a whole number from 1 to 65,536 (one a layer)"),
        ("pair", [1], "a list of 2 (low and high)"),
        ("wet", "yes", "true or false (in the rain)"),
        ("kind", "tidy", "one of wild, neat (how it grows)"),
        ("look", 10, "one of last or a whole number from 0 to 9 (which layer)"),
        ("any_int", 2**63, "a whole number (a count)"),
        ("tree", 3, "the name of a part or a table of its options (how it is cut)"),
        ("hedge", 3, "its own options, for example part.hedge.scheduled_sampling= (how it is taught)"),
    ],
)
def test_a_message_says_what_the_option_is(option: str, value: Any, expected: str) -> None:
    with pytest.raises(RegardError) as caught:
        full(explained, {option: value}, "part.")
    assert str(caught.value) == f"part.{option}: got {brief(value[0] if value == [0] else value)}; expected {expected}"


def test_a_sentence_changes_no_value() -> None:
    given = {"hidden": 3, "seed": None, "sizes": (2,), "wet": True, "kind": "neat", "look": 4, "anything": [[1]]}
    assert full(explained, given).items() >= given.items()
    assert full(explained, {})["hedge"]["scheduled_sampling"] == "none"


def test_a_constructor_says_what_its_option_is() -> None:
    class Thing:
        @ranged
        def __init__(self, size: Annotated[Width, "units"]) -> None: ...

    with pytest.raises(RegardError, match=r"^size: got 0; expected a whole number from 1 to 65,536 \(units\)$"):
        Thing(0)


def test_what_an_option_is_and_may_be() -> None:
    options = settable(explained)
    assert (about(options["hidden"]), about(settable(thing)["hidden"])) == ("units", "")
    assert (choices(options["kind"]), choices(options["look"])) == (("wild", "neat"), ())
    short = {name: words(option.annotation, short=True) for name, option in options.items()}
    assert short == {
        "hidden": "1 to 65,536",
        "seed": "0 to 9,223,372,036,854,775,807 or none",
        "sizes": "a list, each 1 to 65,536",
        "pair": "a list",
        "wet": "true or false",
        "kind": "wild, neat",
        "look": "last or 0 to 9",
        "any_int": "",
        "anything": "",
        "tree": "",
        "hedge": "",
    }


def test_a_number_too_long_to_write() -> None:
    for option, expected in (("hidden", "a whole number from 1 to 65,536"), ("label", "a word")):
        with pytest.raises(RegardError) as caught:
            full(thing, {option: 10**5000})
        assert str(caught.value) == f"{option}: got a number with thousands of digits; expected {expected}"


@pytest.mark.parametrize(
    ("option", "value"),
    [("seed", 2**63 - 1), ("seed", 0), ("seed", None), ("hidden", 65536), ("dropout", 0.999), ("any_int", -(2**63))],
)
def test_inside_is_kept(option: str, value: Any) -> None:
    assert full(thing, {option: value})[option] == value


@given(st.one_of(st.integers(), st.floats(), st.text(), st.none(), st.lists(st.integers())))
def test_whatever_is_given_is_kept_or_told(value: Any) -> None:
    for option in settable(thing):
        with suppress(RegardError):
            full(thing, {option: value})


# Every option there is


def parts() -> Iterator[tuple[str, Callable[..., Any]]]:
    """All that has options: the parts of every folder and the sections of a configuration."""
    for folder in kinds.values():
        yield from ((f"{folder}.{name}", find(folder, name)) for name in names(folder))
    for place in sections.values():
        module, _, attribute = place.rpartition(".")
        yield place, getattr(importlib.import_module(f"regard.{module}"), attribute)


def test_every_section_is_listed() -> None:
    """Whatever a signature takes options from is walked here, and shown by `regard list`."""
    marks = [mark(parameter) for _, made in parts() for parameter in settable(made).values()]
    named = {f"{folder}.{name}.{find(folder, name).__name__}" for folder in kinds.values() for name in names(folder)}
    assert {one.place for one in marks if isinstance(one, Of)} <= named | {*sections.values()}
    assert {one.folder for one in marks if isinstance(one, In)} <= {*kinds.values()}


def numbers(kind: Any) -> Iterator[Any]:
    """Every kind of number in an annotation, with its range where it has one."""
    if kind in (int, float) or (get_origin(kind) is Annotated and get_args(kind)[0] in (int, float)):
        yield kind
    elif get_origin(kind) in (Union, pytypes.UnionType, tuple, list, Annotated):
        for inner in get_args(kind):
            yield from numbers(inner)


options = [
    pytest.param(made, name, kind, parameter.default, id=f"{place}.{name}")
    for place, made in parts()
    for name, parameter in settable(made).items()
    if mark(parameter) is None
    for kind in numbers(parameter.annotation)
]


@pytest.mark.parametrize(("made", "name", "kind", "default"), options)
def test_every_number_has_a_range(made: Callable[..., Any], name: str, kind: Any, default: Any) -> None:
    allowed = range_of(kind)
    assert allowed is not None, f"{name} has no range"
    for value in default if isinstance(default, tuple) else [default]:
        assert value is None or isinstance(value, str) or value in allowed
    a_list = isinstance(default, tuple)
    for value in beyond(kind, allowed):
        with pytest.raises(RegardError) as caught:
            full(made, {name: [value] if a_list else value}, "here.")
        assert str(caught.value).startswith(f"here.{name}: got {brief(value)}; expected ")
        assert words(kind) in str(caught.value)


def beyond(kind: Any, allowed: Range) -> list[float]:
    """Values just outside a range, and far from it."""
    if get_args(kind)[0] is int:
        return [allowed.low - 1, allowed.high + 1, 10**20, 10**5000, -(10**20)]
    low = allowed.low if allowed.above else math.nextafter(allowed.low, -math.inf)
    high = allowed.high if allowed.below else math.nextafter(allowed.high, math.inf)
    return [low, high, math.nan, math.inf, -math.inf, 10**400]
