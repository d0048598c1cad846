"""A number outside its range, a time that is none: one line on the command line, before anything is read or written."""

import importlib
import inspect
import math
from pathlib import Path
from typing import Any, get_args

import pytest
from command_line import Regard
from typer.models import OptionInfo

from regard.cli.main import commands
from regard.ranges import range_of


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        ("train.clip=-1", "a number from 0 to 1,000,000 (largest gradient norm (clipping); 0 turns clipping off)"),
        ("train.ema=2", "a number from 0 to below 1"),
        ("train.steps=-5", "a whole number from 0 to 1,000,000,000"),
        ("train.warmup=-5", "a whole number from 0 to 1,000,000,000"),
        ("train.patience=-1", "a whole number from 1 to 1,000,000,000"),
        ("train.validate_every=-3", "a whole number from 0 to 1,000,000,000"),
        ("train.lr=-1", "a number above 0 and at most 1,000"),
        ("train.lr=nan", "a number above 0 and at most 1,000"),
        ("train.lr=inf", "a number above 0 and at most 1,000"),
        ("train.seed=-1", "a whole number from 0 to 9,223,372,036,854,775,807"),
        ("train.seed=12345678901234567890", "a whole number from 0 to 9,223,372,036,854,775,807"),
    ],
)
@pytest.mark.parametrize("dry", [True, False])
def test_outside(regard: Regard, pair: str, expected: str, dry: bool) -> None:
    option, _, value = pair.partition("=")
    said = regard("train", "translate", pair, *(["--dry-run"] * dry))
    got, _, rest = said.line().removeprefix(f"{option}: got ").partition("; expected ")
    assert got in (value, f"{value}.0")
    assert rest.startswith(f"{expected}" if "(" in expected else f"{expected} (")


def test_a_number_of_thousands_of_digits(regard: Regard) -> None:
    line = regard("train", "translate", f"train.seed={'9' * 5000}", "--dry-run").line()
    assert line.startswith("train.seed: got '999")
    assert len(line) < 200


def test_sizes_within_their_ranges_that_no_machine_holds(regard: Regard, pairs: Path) -> None:
    """Each size may be; all of them together need more memory than there is, and none of it is taken."""
    sizes = ("encoder.hidden=65536", "encoder.layers=1000", "source.embed.dim=65536")
    line = regard("train", "translate", "--data", pairs, *sizes, "--dry-run").line()
    assert line.startswith(("the model needs more than ", "cannot build a model with these options"))


@pytest.mark.parametrize("time", ["-5m", "nan", "inf", "1e400s", "0s", "0h0m", f"{'9' * 400}h", "10001h", "5 m", "٣x"])
@pytest.mark.parametrize("how", ["--time={}", "train.time={}"])
def test_times(regard: Regard, time: str, how: str) -> None:
    line = regard("train", "translate", how.format(time), "--dry-run").line()
    assert line.startswith("time ")
    assert len(line) < 160


def numbers() -> list[Any]:
    """Every option of every verb that is a number: its flag, and its range."""
    found = []
    for verb in commands:
        for parameter in inspect.signature(importlib.import_module(f"regard.cli.{verb}").run).parameters.values():
            kind, *marks = get_args(parameter.annotation) or (None,)
            if {int, float} & {kind, *get_args(kind)}:
                flag = next(mark.default for mark in marks if isinstance(mark, OptionInfo))
                found.append(pytest.param(verb, flag, parameter, id=f"{verb}{flag}"))
    return found


needed = {
    "align": ("run", "--data", "x"),
    "compare": ("translate", "label_smoothing=0.1,0.2"),
    "judge": (),
    "look": ("run", "text"),
}


@pytest.mark.parametrize(("verb", "flag", "parameter"), numbers())
def test_every_number_of_a_verb_has_a_range(regard: Regard, verb: str, flag: str, parameter: inspect.Parameter) -> None:
    allowed = range_of(parameter.annotation)
    assert allowed is not None, f"{verb} {flag} has no range"
    assert parameter.default is None or parameter.default in allowed
    whole = float not in {(kind := get_args(parameter.annotation)[0]), *get_args(kind)}
    for value in (allowed.low - 1, allowed.high + 1, 10**20 if whole else math.nan):
        line = regard(verb, *needed.get(verb, ("run",)), f"{flag}={value}").line()
        number = "a whole number" if whole else "a number"
        assert line == f"{flag}: got {value if whole else float(value)}; expected {number} {allowed}"
