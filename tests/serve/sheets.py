"""A small sheet for all tests of this folder: three systems, four lines, of which the last is the same from all."""

from pathlib import Path

import pytest

from regard.serve.judge_sheet import Sheet, read_sheet

texts = {
    "source": ["Guten Tag.", "Wie geht es?", "صباح الخير", "Ja."],
    "alpha": ["Good day.", "How are you?", "<b>Morning</b>", "Yes."],
    "beta": ["Good day.", "How goes?", "Good morning", "Yes."],
    "gamma": ["Day.", "", "صباح النور", "Yes."],
    "reference": ["Hello.", "How are you?", "Good morning", "Yes."],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, lines in texts.items():
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def sheet(folder: Path) -> Sheet:
    return read_sheet([str(folder / f"{name}.txt") for name in ("alpha", "beta", "gamma")], str(folder / "source.txt"))
