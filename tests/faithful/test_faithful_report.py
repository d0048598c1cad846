"""What was found, as a table, as Markdown and as a picture."""

import math
from dataclasses import asdict

import pytest
from matplotlib.text import Text

from regard.faithful.measures import Case, summary
from regard.faithful.report import draw, lines, markdown, picture
from regard.files import finite


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


def test_no_two_texts_of_the_picture_meet() -> None:
    """With the largest numbers that could stand there, and the highest bars under the legend."""
    many = report([Case(0, "", "text", None, "y", 2, 0.3, 0.1, 0.5, 0.1, 0.5, 0.2, 0.6, 0.0)] * 50)
    for one in many["summary"]["shuffled"]["by_largest"]:  # type: ignore[index]
        one["cases"] = 1_234_567
    figure = draw(many)
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    texts = [text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()]
    boxes = {text.get_text(): text.get_window_extent(renderer) for text in texts}
    roomy = {text: box.padded(1) for text, box in boxes.items()}
    met = [(a, b) for a, one in roomy.items() for b, other in roomy.items() if a < b and one.overlaps(other)]
    assert met == []
    named = [part for axes in figure.axes for part in (axes.title, axes.xaxis.label, axes.yaxis.label)]
    inside = [figure.bbox.containsx(x) for part in named for x in part.get_window_extent(renderer).intervalx]
    assert all(inside)
    legend = figure.axes[0].get_legend()
    assert legend is not None
    under = [patch.get_window_extent(renderer) for patch in figure.axes[0].patches]
    assert not any(patch.height > 1 and patch.overlaps(legend.get_window_extent(renderer)) for patch in under)
