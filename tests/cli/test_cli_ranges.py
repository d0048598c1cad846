"""A number outside its range, a time that is none: one line on the command line, before anything is read or written."""

import pytest
from command_line import Regard


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        ("train.clip=-1", "a number from 0 to 1,000,000"),
        ("train.average=2", "a number from 0 to below 1"),
        ("train.steps=-5", "a whole number from 0 to 1,000,000,000"),
        ("train.warmup=-5", "a whole number from 0 to 1,000,000,000"),
        ("train.patience=-1", "a whole number from 1 to 1,000,000,000"),
        ("train.every=-3", "a whole number from 0 to 1,000,000,000"),
        ("train.rate=-1", "a number above 0 and at most 1,000"),
        ("train.rate=nan", "a number above 0 and at most 1,000"),
        ("train.rate=inf", "a number above 0 and at most 1,000"),
        ("train.seed=-1", "a whole number from 0 to 9,223,372,036,854,775,807"),
        ("train.seed=12345678901234567890", "a whole number from 0 to 9,223,372,036,854,775,807"),
    ],
)
@pytest.mark.parametrize("dry", [True, False])
def test_outside(regard: Regard, pair: str, expected: str, dry: bool) -> None:
    option, _, value = pair.partition("=")
    said = regard("train", "translate", pair, *(["--dry-run"] * dry))
    assert said.line().removeprefix(f"{option}: got ").removesuffix(f"; expected {expected}") in (value, f"{value}.0")


@pytest.mark.parametrize("time", ["-5m", "nan", "inf", "1e400s", "0s", "0h0m", f"{'9' * 400}h", "10001h", "5 m", "٣x"])
@pytest.mark.parametrize("how", ["--time={}", "train.time={}"])
def test_times(regard: Regard, time: str, how: str) -> None:
    line = regard("train", "translate", how.format(time), "--dry-run").line()
    assert line.startswith("time ")
    assert len(line) < 160
