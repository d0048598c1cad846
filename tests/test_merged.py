"""Options laid over options, and those a run goes on with."""

from pathlib import Path
from typing import Any

import pytest

from regard.errors import RegardError
from regard.merged import flat, gone_on


def whole(options: Any) -> dict[str, Any]:
    """A configuration with a default, as `configure` makes one."""
    if "gone" in options:
        raise RegardError("unknown option 'gone'")
    return {"dropout": 0.1, **options}


def test_every_option_by_its_dotted_name() -> None:
    assert flat({"a": 1, "b": {"c": 2, "d": {"name": "x"}}}) == [("a", 1), ("b.c", 2), ("b.d.name", "x")]


def test_what_is_not_asked_for_is_not_changed() -> None:
    begun = {"task": "t", "embed": 8, "train": {"lr": 0.1, "time": "5m"}}
    found = gone_on(Path("run"), begun, {"task": "t", "train": {"time": "10m"}, "dropout": 0.1}, whole)
    assert found == {"task": "t", "embed": 8, "train": {"lr": 0.1, "time": "10m"}, "dropout": 0.1}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"task": "u"}, "run was started with task=t, not u; use another --out, or --fresh to start over"),
        ({"task": "t", "embed": 9}, "run was started with embed=8, not 9; use"),
        ({"task": "t", "dropout": 0.2}, "run was started with dropout=0.1, not 0.2; use"),
        ({"task": "t", "score": "dot"}, "run was started with score=additive, not dot; use"),
    ],
)
def test_what_cannot_change_is_refused(asked: dict[str, Any], said: str) -> None:
    begun = {"task": "t", "embed": 8, "score": {"name": "additive", "hidden": 3}}
    with pytest.raises(RegardError) as caught:
        gone_on(Path("run"), begun, asked, whole)
    assert str(caught.value).startswith(said)


def test_an_option_that_is_gone_is_told() -> None:
    with pytest.raises(RegardError, match="that this version does not accept"):
        gone_on(Path("run"), {"task": "t", "gone": 1}, {"task": "t"}, whole)
