"""The table of a comparison by hand, what is noted under it, and its picture."""

import json
from typing import Any

import pytest

from regard.compare.conclusions import Row
from regard.compare.table import as_json, markdown, picture

head = "| model | parameters | epochs | s/epoch | test s | peak MiB | train accuracy | test accuracy |"


def row(name: str, test: list[float], **options: Any) -> Row:
    given = {"parameters": 2_345_678, "epoch_seconds": 61.04, "test_seconds": 1.239, "memory_mib": 1234.5, **options}
    seeds = len(test)
    lists = {"train": [0.9] * seeds, "valid": test, "epochs": [3.04] * seeds, "tested": [100] * seeds}
    return Row(name, "accuracy", **{**lists, "chosen": [], "measures": [], "held": 100, **given}, test=test)


def test_by_hand() -> None:
    """Of 0.8, 0.9 the mean is 0.85 and the interval 12.7 · 0.05; one seed has none."""
    assert markdown([row("a", [0.8, 0.9]), row("b|c", [0.5, 0.5])]).split("\n") == [
        head,
        "|---|---|---|---|---|---|---|---|",
        "| a | 2.35m | 3.04 | 61.0 | 1.24 | 1,234 | 0.9 ± 0 | 0.85 ± 0.64 |",
        "| b\\|c | 2.35m | 3.04 | 61.0 | 1.24 | 1,234 | 0.9 ± 0 | 0.5 ± 0 |",
        "",
        "±: 95 % interval of the mean over 2 seeds (Student's t).",
        "",
        "- The difference between a and b\\|c is within the noise of 2 seeds: difference 0.35 "
        "(95 % interval -0.29 to 0.99).",
    ]


def test_tokens_chosen_and_one_seed() -> None:
    lines = markdown([row("a", [0.8]), row("b", [0.5], chosen=[0.25])]).split("\n")
    assert lines[0] == f"{head} tokens chosen |"
    assert [line.split("|")[-2].strip() for line in lines[2:4]] == ["", "0.25"]
    assert lines[5] == "One seed: no intervals."


def test_what_was_not_measured() -> None:
    none = {"epoch_seconds": None, "test_seconds": None, "memory_mib": None}
    assert "| – | – | – |" in markdown([row("a", [0.8]), row("b", [0.5], **none)])
    assert "s/epoch" not in markdown([row("a", [0.8], **none), row("b", [0.5], **none)])


def test_a_test_that_was_cut_is_noted() -> None:
    assert "Tested on 40 to 100 of 100 examples" in markdown([row("a", [0.8]), row("b", [0.5], tested=[40])])
    assert "Tested on" not in markdown([row("a", [0.8]), row("b", [0.5])])


def test_json_has_intervals_and_conclusions() -> None:
    each = ("accuracy", [[1.0, 0.0, 1.0, 1.0]] * 2)
    found = json.loads(json.dumps(as_json([row("a", [0.8, 0.9], each=each), row("b", [0.5, 0.5], each=each)])))
    assert found["rows"][0]["intervals"]["test"] == {
        "mean": pytest.approx(0.85), "low": pytest.approx(0.2147, abs=1e-4), "high": pytest.approx(1.4853, abs=1e-4)
    }  # fmt: skip
    assert "each" not in found["rows"][0]
    [one] = found["conclusions"]
    assert (one["verdict"], one["best"], one["other"], one["metric"]) == ("noise", "a", "b", "accuracy")
    assert one["examples"] == {"mean": 0, "low": 0, "high": 0}


def test_the_picture() -> None:
    """Names are not markup; there is no second plot where nothing was timed."""
    from io import BytesIO

    from matplotlib.image import imread

    none = {"epoch_seconds": None, "test_seconds": None, "memory_mib": None}
    wide = imread(BytesIO(picture([row("encoder=$x_1$", [0.5]), row("dropout=0.5", [0.1, 0.2])])))
    narrow = imread(BytesIO(picture([row("a", [0.5], **none), row("b", [0.5], **none)])))
    assert wide.shape[1] > 1.4 * narrow.shape[1]
