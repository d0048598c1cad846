"""Of a thin test every value of every parameter stays in the first tier, and the rest is left to the sweeps."""

from itertools import product
from types import SimpleNamespace
from typing import Any

from tiers import thin


def item(name: str, marked: bool, **params: Any) -> Any:
    marks: list[str] = ["thin"] if marked else []
    return SimpleNamespace(
        nodeid=f"{name}[{'-'.join(map(str, params.values()))}]",
        callspec=SimpleNamespace(params=params),
        marks=marks,
        get_closest_marker=lambda name: name in marks,
        add_marker=lambda mark: marks.append(mark.name),
    )


def items() -> list[Any]:
    return [
        item(name, name != "plain", one="a name of " + one, two=two, three=three)  # of equal value, but never the same
        for name in ("plain", "first", "second")
        for one, two, three in product("abcdefg", "uvwxyz", (None, 2))
    ]


def test_every_value_is_shown_once() -> None:
    some = items()
    thin(some)
    for name in ("first", "second"):
        left = [one for one in some if one.nodeid.startswith(name) and "sweep" not in one.marks]
        assert 7 <= len(left) < 20
        for key, count in (("one", 7), ("two", 6), ("three", 2)):
            assert len({one.callspec.params[key] for one in left}) == count
    assert not any("sweep" in one.marks for one in some if one.nodeid.startswith("plain"))


def test_the_same_in_any_order() -> None:
    some, other = items(), items()[::-1]
    thin(some)
    thin(other)
    assert [one.marks for one in some] == [one.marks for one in other[::-1]]
