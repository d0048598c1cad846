"""Parts by name, options by signature: what is right is built, what is wrong is told in one line."""

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import RegardError
from regard.find import In, Of, Spec, build, call, check, find, full, names, nearest, settable

oak = '''
class Oak:
    """A part."""
    def __init__(self, size: int, hidden: int = 3, rate: float = 0.5) -> None:
        self.size, self.hidden, self.rate = size, hidden, rate

def make(width: int, depth: int = 2, bark: str = "rough") -> tuple[int, int, str]:
    return width, depth, bark
'''
tall_pine = '''
class TallPine:
    """Another."""
    def __init__(self, needles: bool = True) -> None:
        self.needles = needles
'''


@pytest.fixture(autouse=True)
def toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder of choices of our own, `regard.toys`, so that these tests need no real part."""
    for name, text in {"oak": oak, "tall_pine": tall_pine, "_shared": ""}.items():
        (tmp_path / f"{name}.py").write_text(text)
    package = ModuleType("regard.toys")
    package.__path__ = [str(tmp_path)]
    monkeypatch.setitem(sys.modules, "regard.toys", package)
    yield
    for name in [name for name in sys.modules if name.startswith("regard.toys.")]:
        del sys.modules[name]


class Garden:
    """A thing with options of every kind; `bed` is given by code."""

    def __init__(
        self,
        bed: int,
        hidden: int = 8,
        rate: float = 0.1,
        wet: bool = False,
        kind: Literal["wild", "neat"] = "wild",
        label: str = "g",
        depth: int | None = None,
        scale: float | Literal["auto"] = "auto",
        rows: tuple[int, ...] = (1, 2),
        tree: Annotated[Spec, In("toys")] = "oak",
        fence: Annotated[Spec | None, In("toys")] = None,
        shrubs: Annotated[tuple[Spec, ...], In("toys")] = (),
        hedge: Annotated[Mapping[str, Any], Of("toys.oak.make")] = {},
    ) -> None:
        self.options = {k: v for k, v in locals().items() if k not in ("self", "__class__")}


class Park:
    """One level more, for the paths of nested options."""

    def __init__(self, garden: Annotated[Spec, In("toys")] = f"{__name__}.Garden") -> None:
        self.garden = garden


def fails(action: Callable[[], Any]) -> str:
    with pytest.raises(RegardError) as caught:
        action()
    message = str(caught.value)
    assert "\n" not in message
    return message


# Names


def test_parts_are_the_files_of_a_folder() -> None:
    assert names("toys") == ["oak", "tall_pine"]


def test_file_class_and_name_are_one_word() -> None:
    assert find("toys", "oak").__name__ == "Oak"
    assert find("toys", "tall_pine").__name__ == "TallPine"


def test_a_wrong_name_suggests_the_nearest() -> None:
    assert fails(lambda: find("toys", "tal_pine")) == "unknown toys 'tal_pine'; did you mean 'tall_pine'?"


@pytest.mark.parametrize("name", ["zzz", "", "_shared", "oak/x", "__init__"])
def test_a_name_near_nothing_lists_all_or_suggests(name: str) -> None:
    message = fails(lambda: find("toys", name))
    assert message.startswith(f"unknown toys {name!r}; ")
    assert "oak" in message


def test_a_dotted_path_leads_to_a_class_of_ones_own() -> None:
    assert find("toys", f"{__name__}.Garden") is Garden


@pytest.mark.parametrize("name", ["no_such_package.Thing", "regard.errors.NoSuch", ".Thing", "..a.B", "a..B", "."])
def test_a_dotted_path_that_leads_nowhere(name: str) -> None:
    message = fails(lambda: find("toys", name))
    assert message.startswith(f"cannot import {name!r}")
    assert "a class, written as package.module.Class" in message


@pytest.mark.parametrize("name", ["math.pi", "os.path", "regard.find.type_names"])
def test_a_dotted_path_must_lead_to_a_class(name: str) -> None:
    assert "expected a class" in fails(lambda: build("toys", name))


# The nearest word


def test_nearest_by_hand() -> None:
    assert nearest("hiden", ["hidden", "width"]) == "did you mean 'hidden'?"
    assert nearest("zzz", ["hidden", "width"]) == "known: hidden, width"
    assert nearest("zzz", []) == "known: none"


@settings(deadline=None)  # a busy machine is not a wrong answer
@given(st.text(), st.lists(st.text(min_size=1, max_size=100), max_size=5))
def test_nearest_suggests_only_what_is_known(word: str, known: list[str]) -> None:
    said = nearest(word, known)
    suggestions = {f"did you mean {one!r}?" for one in known} | {"known: " + (", ".join(sorted(known)) or "none")}
    assert said in suggestions
    if word in known:
        assert said == f"did you mean {word!r}?"


# Options


def test_options_are_the_parameters_with_a_default() -> None:
    assert list(settable(find("toys", "oak"))) == ["hidden", "rate"]


def test_an_unknown_option_names_the_nearest() -> None:
    assert fails(lambda: check(Garden, {"hiden": 3})) == "unknown option 'hiden'; did you mean 'hidden'?"


def test_what_code_gives_is_no_option() -> None:
    assert fails(lambda: check(Garden, {"bed": 3})).startswith("unknown option 'bed'")


def test_the_path_is_put_before_the_name() -> None:
    message = fails(lambda: check(Garden, {"hiden": 3}, path="encoder."))
    assert message == "unknown option 'encoder.hiden'; did you mean 'hidden'?"


def test_an_unknown_option_of_a_part_inside_a_part() -> None:
    options = {"garden": {"tree": {"name": "oak", "hiden": 3}}}
    assert fails(lambda: check(Park, options)) == "unknown option 'garden.tree.hiden'; did you mean 'hidden'?"
    assert fails(lambda: check(Park, {"garden": {"tree": "oka"}})) == "unknown toys 'oka'; did you mean 'oak'?"


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("hidden", "8", "a whole number"),
        ("hidden", 8.0, "a whole number"),
        ("hidden", True, "a whole number"),
        ("hidden", None, "a whole number"),
        ("hidden", [8], "a whole number"),
        ("rate", "fast", "a number"),
        ("rate", False, "a number"),
        ("wet", 1, "true or false"),
        ("wet", "yes", "true or false"),
        ("kind", "tidy", "one of wild, neat"),
        ("label", True, "a word"),
        ("depth", "deep", "a whole number"),
        ("depth", 1.5, "a whole number"),
        ("scale", "big", "a number"),
        ("rows", 3, "list"),
        ("rows", "ab", "list"),
        ("rows", [1, "b"], "a whole number"),
        ("tree", 3, "the name of a part"),
        ("tree", ["oak"], "the name of a part"),
        ("hedge", "oak", "its own options, for example garden.hedge.depth="),
    ],
)
def test_a_value_of_the_wrong_kind(option: str, value: Any, expected: str) -> None:
    message = fails(lambda: check(Garden, {option: value}, path="garden."))
    assert message.startswith(f"garden.{option}")
    assert repr(value) in message or isinstance(value, list)
    assert expected in message.split("; ", 1)[1]


@pytest.mark.parametrize(
    ("option", "value", "kept"),
    [
        ("hidden", 0, 0),
        ("rate", 1, 1.0),
        ("wet", True, True),
        ("kind", "neat", "neat"),
        ("label", "none", "none"),
        ("depth", 4, 4),
        ("depth", None, None),
        ("depth", "none", None),
        ("scale", "auto", "auto"),
        ("scale", 2, 2.0),
        ("rows", [3, 4], (3, 4)),
        ("rows", [], ()),
        ("fence", None, None),
        ("fence", "none", None),
    ],
)
def test_a_value_of_the_right_kind(option: str, value: Any, kept: Any) -> None:
    result = full(Garden, {option: value})[option]
    assert result == kept
    assert type(result) is type(kept)


def test_full_fills_every_default() -> None:
    assert full(Garden, {"hidden": 9, "hedge": {"depth": 5}}) == {
        "hidden": 9,
        "rate": 0.1,
        "wet": False,
        "kind": "wild",
        "label": "g",
        "depth": None,
        "scale": "auto",
        "rows": (1, 2),
        "tree": {"name": "oak", "hidden": 3, "rate": 0.5},
        "fence": None,
        "shrubs": [],
        "hedge": {"depth": 5, "bark": "rough"},
    }


def test_several_parts_of_one_folder() -> None:
    oak, pine = {"name": "oak", "hidden": 3, "rate": 0.5}, {"name": "tall_pine", "needles": False}
    assert full(Garden, {"shrubs": ["oak", {"name": "tall_pine", "needles": False}]})["shrubs"] == [oak, pine]
    assert full(Garden, {"shrubs": "oak"})["shrubs"] == [oak]  # one is a list of one
    assert [one["name"] for one in full(Garden, {"shrubs": "oak, tall_pine"})["shrubs"]] == ["oak", "tall_pine"]
    message = fails(lambda: check(Garden, {"shrubs": [{"name": "oak", "hiden": 3}]}))
    assert message == "unknown option 'shrubs.hiden'; did you mean 'hidden'?"
    assert fails(lambda: check(Garden, {"shrubs": [3]})).startswith("shrubs: got 3")
    assert "no name" in fails(lambda: check(Garden, {"shrubs": [{"hidden": 3}]}))


def test_full_twice_is_full_once() -> None:
    once = full(Park, {"garden": {"tree": {"name": "oak", "rate": 1}, "fence": "tall_pine", "shrubs": ["oak"]}})
    assert full(Park, once) == once
    assert once["garden"]["fence"] == {"name": "tall_pine", "needles": True}


def test_full_leaves_what_it_was_given_alone() -> None:
    options = {"tree": {"hidden": 5}}
    full(Garden, options)
    assert options == {"tree": {"hidden": 5}}


def test_the_name_may_be_left_out_where_there_is_a_default() -> None:
    assert full(Garden, {"tree": {"hidden": 5}})["tree"] == {"name": "oak", "hidden": 5, "rate": 0.5}


def test_another_name_takes_nothing_from_the_default() -> None:
    def thing(tree: Annotated[Spec, In("toys")] = {"name": "oak", "hidden": 5}) -> None: ...  # noqa: B006

    assert full(thing, {})["tree"]["hidden"] == 5
    assert full(thing, {"tree": {"rate": 0.1}})["tree"] == {"name": "oak", "hidden": 5, "rate": 0.1}
    assert full(thing, {"tree": {"hidden": 9}})["tree"] == {"name": "oak", "hidden": 9, "rate": 0.5}
    assert full(thing, {"tree": "tall_pine"})["tree"] == {"name": "tall_pine", "needles": True}


# Building


def test_build_by_name_alone_and_with_options() -> None:
    assert vars(build("toys", "oak", size=7)) == {"size": 7, "hidden": 3, "rate": 0.5}
    assert vars(build("toys", {"name": "oak", "hidden": 64}, size=7)) == {"size": 7, "hidden": 64, "rate": 0.5}


def test_a_part_takes_of_what_is_given_only_what_it_names() -> None:
    assert vars(build("toys", "tall_pine", size=7, vocabulary=9)) == {"needles": True}


def test_build_without_a_name_tells_the_choices() -> None:
    assert fails(lambda: build("toys", {"hidden": 3})) == "toys: no name; choose one of oak, tall_pine"


def test_build_checks_before_it_makes() -> None:
    assert fails(lambda: build("toys", {"name": "oak", "hiden": 3}, size=7)).endswith("did you mean 'hidden'?")
    assert "expected a whole number" in fails(lambda: build("toys", {"name": "oak", "hidden": "3"}, size=7))


def test_build_a_class_of_ones_own() -> None:
    assert build("toys", {"name": f"{__name__}.Garden", "hidden": 2}, bed=1).options["hidden"] == 2


def test_call_takes_options_and_what_is_given() -> None:
    make = sys.modules[find("toys", "oak").__module__].make
    assert call(make, {"depth": 9}, width=4, other=5) == (4, 9, "rough")


@pytest.mark.parametrize(
    ("option", "value", "kept"),
    [("depth", "none", None), ("rate", 1, 1.0), ("rows", [3], (3,)), ("fence", "none", None)],
)
def test_what_is_built_gets_the_value_that_was_checked(option: str, value: Any, kept: Any) -> None:
    got = call(Garden, {option: value}, bed=1).options[option]
    assert got == kept
    assert type(got) is type(kept)


def test_a_part_asked_for_without_its_name_can_be_built_by_its_owner() -> None:
    """`tree.hidden=5` on the command line: Garden passes its `tree` on to `build`, which needs the name."""
    garden = call(Garden, {"tree": {"hidden": 5}}, bed=1)
    assert build("toys", garden.options["tree"], size=7).hidden == 5


@pytest.mark.parametrize("name", [1.5, ["regard.Thing"], {"regard.Thing": 1}, None, True])
def test_a_name_is_a_word(name: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.import_module", lambda module: pytest.fail(f"{module} was imported"))
    with pytest.raises(RegardError, match="expected the name of a part"):
        build("attend.score", {"name": name})


def test_a_part_that_needs_what_is_not_given_is_told() -> None:
    with pytest.raises(RegardError, match="'oak' needs size, which this task does not give to a part of toys"):
        build("toys", "oak", inputs=4)
    assert build("toys", "oak", size=4).size == 4
