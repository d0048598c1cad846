"""One's own parts: the examples of docs/extending.md with --code, what is refused, and who may import what."""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.command_line import Regard, regard
from cli.command_line import tiny as small
from regard.api import Trained, load, train
from regard.errors import RegardError
from regard.find import find
from regard.own_code import class_names, code_flags, load_code

__all__ = ["regard"]

pytestmark = pytest.mark.usefixtures("one_thread")

page = (Path(__file__).resolve().parent.parent / "docs" / "extending.md").read_text(encoding="utf-8")
files = dict(re.findall(r"<!-- file: (\S+) -->\n```python\n(.*?)```", page, re.DOTALL))
films = "".join(
    f"a {word} film {n}\t{label}\n" for word, label in (("fine", "good"), ("dull", "bad")) for n in range(20)
)
tiny = ("input.tokenizer=word", "input.embed.dim=8", "train.steps=2", "train.validate_every=2", "train.device=cpu")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the files of the page; nothing of them is known before or after a test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr("regard.train.loop.draw", lambda folder: None)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "films.tsv").write_text(films)
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").parent == tmp_path:
            del sys.modules[name]


def refused(act: Callable[[], Any]) -> str:
    with pytest.raises(RegardError) as caught:
        act()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_examples_of_the_page(regard: Regard) -> None:
    """An encoder and a metric; the run is opened by every verb, and the commands it prints say how."""
    code = ["--code", "my_encoder.py", "--code", "my_metric.py"]
    own = ["encoder=my_encoder.Average", "encoder.hidden=8", "pool=attention", "metrics=accuracy,my_metric.Length"]
    said = regard("train", "classify", "--data", "films.tsv", "--out", "run", "--quiet", *code, *own, *tiny)
    assert said.code == 0, said.err
    assert re.search(r"\n  length +[34]", said.out)
    flags = "--code my_encoder.py --code my_metric.py"
    tries = said.out.split("Try next:\n")[1].splitlines()
    assert len(tries) == 3
    assert all(flags in line and "--trust" not in line for line in tries)
    config = Path("run/config.toml").read_text()
    assert 'name = "my_encoder.Average"' in config
    assert "my_encoder.py" not in config
    for words in (
        ["evaluate", "run"],
        ["info", "run"],
        ["look", "run", "a film"],
        ["train", "--out", "run", "--quiet"],
    ):
        assert regard(*words, *code).code == 0, words
    said = regard("train", "--out", "run", "--quiet", *code)
    assert f"to train longer: regard train classify --out run train.steps=4 {flags}" in said.out


def test_the_score_of_the_page(regard: Regard, folder: Path) -> None:
    (folder / "pairs.tsv").write_text("".join(f"{a}{b}\t{b}{a}\n" for a in "abcdef" for b in "ghijkl"))
    own = [one for one in small if not one.startswith("attention.score")]
    words = ["--data", "pairs.tsv", "--out", "run", "--quiet", "--code", "my_score.py", *own, "train.steps=2"]
    said = regard("train", "translate", *words, "attention.score=my_score.Distance")
    assert said.code == 0, said.err
    assert regard("predict", "run", "ab cd", "--code", "my_score.py").code == 0
    assert "score: Distance" in regard("train", "translate", *words[:-1], "--dry-run").out


def test_a_run_never_imports_its_parts_by_itself(regard: Regard, folder: Path) -> None:
    words = ["train", "classify", "--data", "films.tsv", "--out", "run", "--quiet", "encoder=my_encoder.Average", *tiny]
    assert "give its file with --code my_encoder.py" in regard(*words).line()
    assert regard(*words, "--code", "my_encoder.py").code == 0
    del sys.modules["my_encoder"]  # as in another process, where it could be imported by its name
    for other in (["predict", "run", "a film"], ["evaluate", "run"], ["info", "run"], ["train", "--out", "run"]):
        said = regard(*other).line()
        assert said.startswith(
            "run uses my_encoder.Average, which is not part of regard; add --code my_encoder.py, or "
        )
        said = regard(*other, "--code", "my_metric.py").line()  # another file is another matter
        assert said.startswith("run uses my_encoder.Average, which is not part of regard")
    assert "my_encoder" not in sys.modules
    assert regard("predict", "run", "a film", "--code", "my_encoder.py").code == 0


def test_config_files_name_parts_of_the_code(regard: Regard, folder: Path) -> None:
    (folder / "options.toml").write_text('encoder = "my_encoder.Average"\n')
    words = ["train", "classify", "--data", "films.tsv", "--config", "options.toml", "--dry-run", *tiny]
    assert "options.toml uses my_encoder.Average, which is not part of regard" in regard(*words).line()
    assert "encoder: Average" in regard(*words, "--code", "my_encoder.py").out


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("none.py", None, "none.py: no such file"),
        ("my-parts.py", "", "--code my-parts.py; expected a Python file with the name of a module"),
        ("parts.txt", "", "--code parts.txt; expected a Python file with the name of a module"),
        ("json.py", "", "--code json.py: there is another module called json; rename the file"),
        ("wrong_one.py", "x = 1\ny = x / 0\n", "wrong_one.py:2: ZeroDivisionError: division by zero"),
        ("wrong_two.py", "x = 1\ndef y(:\n", "wrong_two.py:2: SyntaxError: "),
        ("wrong_three.py", "import no_such_thing\n", "wrong_three.py:1: ModuleNotFoundError: No module named"),
    ],
)  # fmt: skip
def test_files_that_cannot_be_imported(regard: Regard, folder: Path, name: str, text: str | None, said: str) -> None:
    if text is not None:
        (folder / name).write_text(text)
    assert said in regard("info", "run", "--code", name).line()


def test_a_file_may_import_those_beside_it(folder: Path) -> None:
    (folder / "my_helper.py").write_text("WIDTH = 7\n")
    (folder / "my_user.py").write_text("from my_helper import WIDTH\n")
    load_code("my_user.py")
    load_code(str(folder / "my_user.py"))  # twice is once
    assert sys.modules["my_user"].WIDTH == 7


@pytest.mark.sweep
def test_other_processes_know_the_code(regard: Regard, folder: Path) -> None:
    """`compare` trains each model in a process of its own."""
    words = ["compare", "classify", "encoder=my_encoder.Average,identity", "--data", "films.tsv", "--seeds", "1"]
    said = regard(*words, "--code", "my_encoder.py", "--out", "several", "pool=max", *tiny)
    assert said.code == 0, said.err
    assert "my\\_encoder.Average" in said.out or "my_encoder.Average" in said.out


def test_classes_may_be_passed_in_python(folder: Path) -> None:
    load_code("my_encoder.py")
    average = find("encode", "my_encoder.Average")
    options = {"encoder": {"name": average, "hidden": 8}, "input": {"tokenizer": "word", "embed": {"dim": 8}}}
    trained: Trained = train(
        "classify", data="films.tsv", out="run", quiet=True, train={"steps": 2, "device": "cpu"}, **options
    )
    assert trained.model.config["encoder"] == {"name": "my_encoder.Average", "hidden": 8}
    assert code_flags(trained.model.config) == ["--code", "my_encoder.py"]
    del sys.modules["my_encoder"]
    assert "uses my_encoder.Average" in refused(lambda: load("run"))
    assert load("run", trust=["my_encoder.Average"]).predict("a film").text in ("good", "bad")
    bilstm = find("encode", "bilstm")
    assert class_names({"encoder": bilstm, "metrics": [average, "bleu"]}) == {
        "encoder": "bilstm",
        "metrics": ["my_encoder.Average", "bleu"],
    }

    class Inner: ...

    assert "expected a class defined at the top level of a module" in refused(lambda: class_names(Inner))
