"""After the last step: how to train longer, and a test that keeps to the time."""

import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from regard.measure import Results
from regard.train import ending
from regard.train.budget import Budget
from regard.train.ending import longer
from regard.train.loop import Outcome
from regard.train.progress import Progress
from regard.types import Example


@pytest.mark.parametrize(
    ("plan", "ended", "words"),
    [
        ({"time": "5m"}, "time", "--time 10m"),
        ({"time": "45s", "steps": 9}, "time", "--time 90s"),
        ({"steps": 9, "epochs": 30}, "steps", "train.steps=18"),
        ({"steps": 3, "epochs": 30}, "steps", "train.steps=18"),  # nine are done
        ({"steps": 0, "epochs": 30, "time": "5m"}, "steps", "train.epochs=60"),
        ({"steps": 9, "patience": 10}, "patience", "train.patience=20"),
    ],
)
def test_how_to_train_longer(plan: dict[str, Any], ended: Any, words: str) -> None:
    run = SimpleNamespace(folder=Path("my runs/a"), config={"task": "translate", "train": plan})
    outcome = Outcome(step=9, best=0.5, stopped=None, seconds=1.0, per_second=1.0, ended=ended)
    assert longer.__wrapped__(run, outcome) == f"regard train translate --out 'my runs/a' {words}"  # type: ignore[attr-defined]


def test_a_test_that_does_not_fit_into_the_time_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    """A second an example, a hundred examples, 20 s left of a minute: all but the 2.5 s for what is written."""

    class Slow:
        now, asked = 40.0, list[int]()

        def answer(self, some: Sequence[Any]) -> Results:
            self.now += len(some)
            self.asked.append(len(some))
            return Results(some, ())

    def after(count: int, limit: float) -> tuple[int, float]:
        slow = Slow()
        examples = [Example((str(number),), "") for number in range(count)]
        with Progress() as show:
            found = ending.tested(slow.answer, examples, Budget(limit, 0.0, lambda: slow.now), show)
        return len(found.examples), slow.now

    assert after(100, 60.0) == (18, 59.0)  # one of the seconds went into finding out
    assert (
        "testing on 18 of 100 examples: all of them would take 1:40, but only 0:19 is left" in capsys.readouterr().err
    )
    assert after(100, 41.0) == (10, 51.0)  # at least ten, whatever the time
    assert after(10, 60.0)[0] == 10
    assert capsys.readouterr().err.count("of 10 examples") == 0
    assert after(100, math.inf) == (100, 140.0)


@pytest.mark.parametrize(
    ("ended", "epochs", "do"),
    [
        ("time", 0.4, "train longer: regard train --out x"),
        ("time", 50.0, "train longer: regard train --out x, or check the data and try a smaller model"),
        ("patience", 5.0, "it stopped improving: check the data, or try a lower train.lr or a smaller model"),
    ],
)
def test_what_to_do_about_a_doubt(ended: Any, epochs: float, do: str) -> None:
    outcome = Outcome(step=9, best=0.5, stopped=None, seconds=1.0, per_second=1.0, ended=ended, epochs=epochs)
    said = ending.advised(["all alike", "no better"], "regard train --out x", outcome)
    assert said == ("all alike", "no better", do)
    assert ending.advised([], "regard train --out x", outcome) == ()
