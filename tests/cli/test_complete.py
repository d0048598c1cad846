"""Completion in the shell: what may follow, as bash and zsh ask for it, and that asking costs little."""

import subprocess
import sys

import pytest
from command_line import Regard

from regard.cli import main
from regard.cli.complete import FOLDERS, VARIABLE, names, parts, tasks
from regard.find import names as found


def test_the_names_are_those_that_are_found() -> None:
    assert tasks("transl") == ["translate"]
    for folder in FOLDERS.values():
        assert names(folder) == found(folder.replace("/", ".")), folder


def test_what_may_follow() -> None:
    assert parts("enc") == ["encoder="]
    assert parts("encoder=bi") == ["encoder=bigru", "encoder=bilstm"]
    assert parts("metrics=bleu,ch") == ["metrics=bleu,chosen", "metrics=bleu,chrf"]
    assert parts("attention.score=scaled") == ["attention.score=scaled_dot"]
    assert parts("train.lr=") == parts("nothing") == []


@pytest.mark.parametrize(
    ("shell", "words", "place", "said"),
    [
        ("bash", ["regard", "tra"], 1, ["train"]),
        ("bash", ["regard", "train", "transl"], 2, ["translate"]),
        ("bash", ["regard", "train", "classify", "encoder", "=", "bi"], 5, ["bigru", "bilstm"]),
        ("bash", ["regard", "train", "classify", "match", "="], 4, names("predict/match")),
        ("fish", ["regard", "train", "classify", "encoder=bi"], 0, ["encoder=bigru", "encoder=bilstm"]),
        ("zsh", ["regard", "compare", "cl"], 0, ["classify"]),
    ],
)
def test_the_shell_is_answered(
    shell: str,
    words: list[str],
    place: int,
    said: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(VARIABLE, f"complete_{shell}")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    monkeypatch.setenv("COMP_WORDS", "\n".join(words))
    monkeypatch.setenv("COMP_CWORD", str(place))
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", " ".join(words))
    main.main()
    answered = capsys.readouterr().out
    found = answered.replace("_arguments '*: :((", "").replace("))'", "").split()
    assert [one.split("\t")[0].strip('"').split('":"')[0] for one in found if one.strip('"')][: len(said)] == said


def test_the_script_is_shown(regard: Regard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("typer.completion._get_shell_name", lambda: "bash")
    said = regard("--show-completion")
    assert said.code == 0
    assert "complete -o default -F _regard_completion regard" in said.out
    assert {"--install-completion", "--show-completion"} <= set(regard("--help").out.split())


def test_completing_imports_nothing_heavy() -> None:
    code = f"""
import os, sys
os.environ.update({{"{VARIABLE}": "complete_bash", "COMP_WORDS": "regard\\ntrain\\ntransl", "COMP_CWORD": "2"}})
from regard.cli.main import main
main()
assert not {{"torch", "numpy", "tokenizers", "matplotlib"}} & set(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout.split()) == (0, ["translate"]), done.stderr
