"""The plots of an error report: those that it has figures for, whatever labels are called."""

from io import BytesIO
from typing import Any

import pytest
from matplotlib.image import imread

from regard.error_analysis.plots import LABELS, plots

group = {"examples": 3, "scores": {"accuracy": {"mean": 0.5, "low": None, "high": None}}}
groups = [{"from": 1, "to": 3, **group}, {"from": 4, "to": 4, "examples": 2, "scores": {}}]
bare: dict[str, Any] = {"scores": {"accuracy": {"better": "higher"}}, "by_length": []}


def labels(names: list[str]) -> dict[str, Any]:
    return {
        "by_label": [{"label": name, "f1": 0.5} for name in names],
        "confusions": [{"true": one, "predicted": other, "count": 2} for one in names for other in names[:2]],
    }


def test_only_what_there_is() -> None:
    assert plots(bare) == {}
    words = [{"word": "cat", "missed": 2, "of": 5}]
    residuals = [{"true": 1.0, "predicted": 2.0}]
    whole = {**bare, **labels(["a", "b"]), "by_length": groups, "by_references": groups}
    found = plots({**whole, "missed": words, "residuals": residuals})
    assert list(found) == ["confusion", "by_label", "by_length", "by_references", "residuals", "missed"]
    assert all(picture.startswith(b"\x89PNG") for picture in found.values())
    assert plots({**bare, "by_length": groups[:1], "missed": []}) == {}


@pytest.mark.parametrize("names", [["$x_1$", "\\frac{"], ["名词", "أ"], ["a" * 500, "\x1b[31m"], ["", "​"]])
def test_names_are_not_markup(names: list[str]) -> None:
    assert set(plots({**bare, **labels(names)})) == {"confusion", "by_label"}


def test_many_labels_are_drawn_as_others() -> None:
    """As large as with one label more than are named."""
    sizes = [imread(BytesIO(plots({**bare, **labels([f"l{n:03}" for n in range(many)])})["confusion"])).shape
             for many in (LABELS + 1, 400)]  # fmt: skip
    assert sizes[0] == sizes[1]
