"""The commands that `regard train` prints at its end work as they are printed."""

import shlex
from pathlib import Path

import numpy as np
import pytest
from command_line import Regard
from PIL import Image as Pillow

import regard as library
from regard.cli.train import _tries

tiny = ("train.steps=1", "train.device=cpu", "encoder.hidden=4")
words = ("input.tokenizer=word", "input.embed.dim=4")
data = {
    "translate": "".join(f"-{a}{b} c\t{b}{a}\n" for a in "abcdef" for b in "ghijkl"),
    "classify": "".join(f"lines.txt\t{label}\nword{n}\t{label}\n" for n, label in enumerate("ab" * 12)),
    "entail": "".join(f"a {n} man's\tit's {n}\t{label}\n" for n, label in enumerate("ab" * 12)),
    "language": "".join(f"{a} and {b} went home\n" for a in "abcdef" for b in "ghij"),
}
options = {
    "translate": (
        "target.max_length=8",
        "source.tokenizer=word",
        "target.tokenizer=word",
        "source.embed.dim=4",
        "decoder.hidden=4",
        *tiny,
    ),
    "classify": (*words, *tiny),
    "entail": (*words, *tiny),
    "language": ("text.tokenizer=word", "network.hidden=4", "train.steps=1", "window=9", "text.max_length=9"),
}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("regard.train.loop.draw", lambda folder: None)
    (tmp_path / "lines.txt").write_text("word1\n")


def tried(regard: Regard, out: str) -> list[str]:
    """Runs every line that is printed; returns their verbs."""
    lines = out.split("Try next:\n")[1].splitlines()
    for line in lines:
        first, *given = shlex.split(line)
        assert first == "regard"
        said = regard(*given)
        assert (said.code, said.err) == (0, ""), line
    return [shlex.split(line)[1] for line in lines]


@pytest.mark.parametrize("task", data)
def test_each_line_works(regard: Regard, tmp_path: Path, task: str) -> None:
    """Texts that begin with a dash, are the names of files, have one word, or quotes in them."""
    (tmp_path / "data.tsv").write_text(data[task])
    file = ("--data", "data.tsv") if task != "language" else ("--data", "data.tsv", "data.form=tsv")
    said = regard("train", task, *file, "--out", "a run", "--quiet", *options[task])
    assert said.code == 0, said.err
    assert tried(regard, said.out) in (["predict", "look", "evaluate"], ["predict", "evaluate"])


def test_pictures(regard: Regard, tmp_path: Path) -> None:
    for name, shade in (("dark", 10), ("light", 240)):
        (tmp_path / "photos" / name).mkdir(parents=True)
        for number in range(8):
            picture = np.full((8, 8), shade + number, dtype=np.uint8)
            Pillow.fromarray(picture).save(tmp_path / "photos" / name / f"{number}.png")
    given = ("--data", "photos", "input=image", "input.size=8", "--out", "run", "--quiet", "train.steps=1")
    said = regard("train", "classify", *given, "train.workers=0")
    assert said.code == 0, said.err
    assert "predict" in tried(regard, said.out)


def test_data_given_in_python_is_not_evaluated_by_a_command() -> None:
    rows = [(f"word{n} there", label) for n, label in enumerate("ab" * 12)]
    small = {"input": {"tokenizer": "word", "embed": {"dim": 4}}, "encoder": {"hidden": 4}, "quiet": True}
    trained = library.train("classify", data=rows, out="run", train={"steps": 1, "device": "cpu"}, **small)
    assert [words[0] for words in _tries(trained.model, ("word there",), True)] == ["predict", "look"]
    assert [words[0] for words in _tries(trained.model, ("data:image/png;base64,xx",), True)] == []
