"""Progress says where training stands, on stderr, and nothing where quiet is wanted."""

import math
import sys

import pytest

from regard.train.progress import Progress, clock


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.0, "0:00"), (75.0, "1:15"), (59.9, "0:59"), (3600.0, "1:00:00"), (36_061.0, "10:01:01"), (-3.0, "0:00")],
)
def test_clock(seconds: float, shown: str) -> None:
    assert clock(seconds) == shown
    assert clock(math.inf) == clock(math.nan) == "?"


def test_plain_lines_come_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(lines_every=1000.0) as show:
        show.say("resuming at step 5 of 9")
        show.step(6, 9, "loss 1.25  [bold]", 75.0)
        show.step(7, 9, "loss 1.20", 50.0)  # too soon after the last
        show.say("step 9: loss 1.0, [red]bleu 3")
    out, err = capsys.readouterr()
    assert out == ""  # what the program answers is never mixed with how it is going
    assert err.splitlines() == [
        "resuming at step 5 of 9",
        "step 6/9  loss 1.25  [bold]  left 1:15",
        "step 9: loss 1.0, [red]bleu 3",
    ]


def test_each_step_where_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(lines_every=-1.0) as show:
        for step in range(3):
            show.step(step, 3, "", 0.0)
    assert len(capsys.readouterr().err.splitlines()) == 3


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(quiet=True, lines_every=-1.0) as show:
        show.step(1, 2, "loss 1", 3.0)
        show.say("something")
    assert capsys.readouterr() == ("", "")


def test_a_bar_in_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with Progress() as show:
        assert show.bar is not None
        show.step(1, 4, "loss 1 [bold]", 3.0)
        show.say("[red]said")
        [row] = show.bar.tasks
        assert (row.completed, row.total) == (0.25, 1.0)
        assert row.fields["line"] == "1/4  loss 1 [bold]  left 0:03"
    assert not show.bar.live.is_started
    assert "[red]said" in capsys.readouterr().err  # text is text, whatever brackets it has


def test_a_phase_that_ends_quickly_is_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress() as show:
        show.phase("reading", "the data")
        first = show.later
        show.phase("writing", "card.md")
        second = show.later
    assert first is not None
    assert second is not None
    assert first.finished.is_set()
    assert second.finished.is_set()
    assert capsys.readouterr().err == ""
