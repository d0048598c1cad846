"""`regard train --dry-run` in detail: parts with their sizes, and nothing hidden by a strange token."""

from pathlib import Path

import pytest
from command_line import tiny
from torch import nn

from regard.cli.dry import show
from regard.cli.options import asked


def test_what_is_shown(pairs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    show("translate", asked("translate", None, tiny, str(pairs)))
    said = capsys.readouterr().out
    vocabulary = 4 + 6
    gru = sum(p.numel() for p in nn.GRU(16, 16, bidirectional=True).parameters())
    assert f"├── embed: Words {16 * vocabulary:,}\n" in said
    assert f"rnn: GRU {gru:,}\n" in said
    assert "  train  " in said
    assert "\nfirst batch (" in said
    assert said.endswith("\nnothing was written\n")


def test_tokens_are_shown_as_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "odd.tsv"
    path.write_text("".join(f"[b]\x1b {i}\t{i}\n" for i in range(9)), encoding="utf-8")
    show("translate", asked("translate", None, tiny, str(path)))
    said = capsys.readouterr().out
    assert "  source  [ b ] ␛ ␣ " in said
    assert "\x1b" not in said
