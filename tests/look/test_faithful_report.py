"""What was found, as a table, as Markdown and as a picture."""

import math
from dataclasses import asdict

import pytest

from regard.files import finite
from regard.look.faithful import Case, summary
from regard.look.faithful_report import lines, markdown, picture


def report(cases: list[Case]) -> dict[str, object]:
    return {
        "summary": summary(cases, 2, 0.01, 100),
        "task": "classify",
        "seed": 0,
        "rows": finite([asdict(case) for case in cases]),
    }


rows = [
    Case(n, "x:1", "text", None, "$yes$", 3, largest, 0.25, 0.01, tau, 0.2, 0.4, 0.3, 0.0)
    for n, (largest, tau) in enumerate([(0.4, 0.5), (0.45, math.nan), (1.0, -0.5)])
]


def test_the_table_says_every_figure() -> None:
    said = lines(report(rows)["summary"])  # type: ignore[arg-type]
    assert said[0] == ("Kendall τ with gradients", "0.250", "± 0.000, p < .05 in 100%")
    assert said[1] == ("Kendall τ with leaving one out", "0.000", "± 0.500, p < .05 in 0%, undefined in 1")
    assert [row[0].strip() for row in said[3:5]] == ["largest weight in [0.25, 0.5)", "largest weight in [0.75, 1]"]
    assert said[-1][1:] == ("0.300", "at most 0.693; above half of that in 0%")


def test_what_is_not_defined_has_a_dash() -> None:
    none = [Case(0, "", "text", None, "y", 2, 0.5, math.nan, math.nan, math.nan, math.nan, 0.0, 0.6, 0.0)]
    assert lines(report(none)["summary"])[0][1:] == ("–", "± –, p < .05 in –, undefined in 1")  # type: ignore[arg-type]
    assert picture(report(none)).startswith(b"\x89PNG")


def test_the_page_has_verdict_table_and_picture() -> None:
    page = markdown(report(rows), "runs/x\x1b[1m")
    assert "\x1b" not in page
    assert page.count("| ") > 6
    assert "**mixed.**" in page
    assert "importance against, shuffled for, adversarial neither" in page
    assert "(faithful.png)" in page


def test_the_picture_is_the_same_twice() -> None:
    made = picture(report(rows))
    assert made.startswith(b"\x89PNG")
    assert made == picture(report(rows))


@pytest.mark.parametrize("largest", [0.0, 1.0])
def test_the_ends_belong_to_a_box(largest: float) -> None:
    one = Case(0, "", "text", None, "y", 2, largest, 0.1, 0.5, 0.1, 0.5, 0.2, 0.6, 0.0)
    assert picture(report([one])).startswith(b"\x89PNG")
    assert sum(each["cases"] for each in summary([one], 1, 0.01, 9)["shuffled"]["by_largest"]) == 1


def test_the_name_of_a_run_is_words_and_nothing_else() -> None:
    page = markdown(report(rows), "runs/<script>[x](y)`")
    assert page.startswith("# Is it an explanation? runs/\\<script\\>\\[x\\](y)\\`\n")
