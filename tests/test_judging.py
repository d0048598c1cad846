"""Between the command line and the page: who may judge, and what is told where the server is not installed."""

import builtins
import sys
from pathlib import Path
from typing import Any

import pytest

from regard import judging
from regard.errors import RegardError
from regard.serve.judge_sheet import Sheet
from regard.serve.judge_store import begin


@pytest.fixture
def files(tmp_path: Path) -> tuple[list[str], str]:
    for name in ("a", "b", "source"):
        (tmp_path / f"{name}.txt").write_text(f"{name}\n")
    return [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")], str(tmp_path / "source.txt")


@pytest.mark.parametrize("name", ["", "  ", "a\x00b", "\x1b[31m", "\udc80", "x" * 101])
def test_a_judge_has_a_name(
    files: tuple[list[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("regard.serve.judge_server.serve", lambda *given, **options: None)
    with pytest.raises(RegardError, match="judge name"):
        judging.judge(*files, None, tmp_path / "j.sqlite", name)
    assert not (tmp_path / "j.sqlite").exists()


def test_what_is_given_reaches_the_server(
    files: tuple[list[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from regard.serve import judge_server

    monkeypatch.setattr(judge_server, "serve", lambda *given, **options: (given, options))
    (sheet, out, name), options = judging.judge(*files, None, tmp_path / "j.sqlite", " Ana   Š ", port=5)
    assert (set(sheet.names), out, name, options) == ({"a", "b"}, tmp_path / "j.sqlite", "Ana Š", {"port": 5})


def test_without_fastapi(files: tuple[list[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any, **more: Any) -> Any:
        if name.split(".")[0] in ("fastapi", "uvicorn"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *rest, **more)

    for module in ("regard.serve.judge", "regard.serve.judge_server"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(RegardError, match=r"is not installed, .*; pip install 'regard\[serve\]'"):
        judging.judge(*files, None, tmp_path / "j.sqlite", "ana")
    assert not (tmp_path / "j.sqlite").exists()
    with pytest.raises(RegardError, match="no such file"):  # the report does without
        judging.results(tmp_path / "j.sqlite")


def test_judgements_that_do_not_fit_together(tmp_path: Path) -> None:
    """A mark of a line that was shown to nobody."""
    path = tmp_path / "j.sqlite"
    with begin(path, Sheet(("a", "b"), (("x",), ("y",)), ("z",))) as store:
        store.keep("ana", 1, [0], "fluency", 4)
    with pytest.raises(RegardError, match=r"j\.sqlite: judgements that do not fit together .*; the file is damaged"):
        judging.results(path)
