"""`regard predict --stream`: a one-way tagger answers each line before the next is there."""

import subprocess
import sys
from pathlib import Path
from threading import Timer
from types import SimpleNamespace

import pytest
from command_line import Regard

from regard.api import load
from regard.cli.main import answer

small = [
    *("encoder.hidden=8", "input.embed.dim=8", "dropout=0.0", "train.device=cpu"),
    *("train.steps=12", "train.validate_every=6", "train.batch_size=8", "train.lr=0.03", "train.warmup=2"),
]
sentences = ["the red dog runs", "dog runs", "old boats", "the old car stands there"]


def trained(folder: Path, task: str, lines: list[str], *options: str) -> Path:
    out = folder / f"{task}-{len(list(folder.iterdir()))}"
    path = out.with_suffix(".tsv")
    path.write_text("".join(f"{line}\n" for line in lines * 6))
    assert answer(["train", task, "--data", str(path), "--out", str(out), "--quiet", *small, *options]) == 0
    return out


def labelled(sentence: str) -> str:
    """A label that hangs on the word before, so that an answer shows whether it was remembered."""
    words = sentence.split()
    return " ".join(before[0].upper() for before in ["^", *words[:-1]])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stream")


@pytest.fixture(scope="module")
def tagger(folder: Path) -> Path:
    return trained(folder, "tag", [f"{one}\t{labelled(one)}" for one in sentences], "encoder=lstm")


def test_the_labels_are_those_of_the_whole_sentence(regard: Regard, tagger: Path) -> None:
    whole = [prediction.text for prediction in load(tagger).predict(sentences, look=False)]
    assert len(set(" ".join(whole).split())) > 2
    said = regard("predict", tagger, "--stream", stdin="\n\n".join(s.replace(" ", "\n") for s in sentences).encode())
    assert (said.code, said.err) == (0, "")
    assert said.out == "\n\n".join(one.replace(" ", "\n") for one in whole) + "\n"
    assert (
        regard("predict", tagger, "--stream", stdin="\n \n".join(sentences).encode()).out == "\n\n".join(whole) + "\n"
    )


def test_a_sentence_goes_on_until_an_empty_line(regard: Regard, tagger: Path) -> None:
    run = load(tagger)
    first, second = sentences[:2]
    joined = run(f"{first} {second}").text
    alone = f"{run(first).text} {run(second).text}"
    assert joined != alone
    words = len(first.split())
    said = regard("predict", tagger, "--stream", stdin=f"{first}\n{second}\n".encode()).out
    assert said == " ".join(joined.split()[:words]) + "\n" + " ".join(joined.split()[words:]) + "\n"
    said = regard("predict", tagger, "--stream", stdin=f"{first}\r\n\r\n{second}\r\n".encode()).out
    assert " ".join(said.split()) == alone


def test_each_line_is_answered_before_the_next_is_read(
    tagger: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces, seen = [b"the\nre", b"d", b"\n", b"\n", b"dog", b""], []

    def read1(size: int) -> bytes:
        seen.append(capsys.readouterr().out.count("\n"))
        return pieces[len(seen) - 1]

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=SimpleNamespace(read1=read1, read=None)))
    assert answer(["predict", str(tagger), "--stream"]) == 0
    assert seen == [0, 1, 0, 1, 1, 0]
    assert capsys.readouterr().out.count("\n") == 1


@pytest.mark.sweep
def test_through_a_pipe(tagger: Path) -> None:
    """Whoever waits for a label before the next token is written does not wait for ever."""
    words = [sys.executable, "-m", "regard", "predict", str(tagger), "--stream", "--device", "cpu"]
    whole = load(tagger)(sentences[0]).text.split()
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        late = Timer(60, running.kill)
        late.start()
        for word, label in zip(sentences[0].split(), whole, strict=True):
            running.stdin.write(f"{word}\n")
            assert running.stdout.readline() == f"{label}\n"
        running.stdin.close()
        late.cancel()
    assert running.returncode == 0


def test_of_characters_a_space_is_one_too(regard: Regard, folder: Path) -> None:
    lines = [f"{one}\t{' '.join('S' if c == ' ' else 'L' for c in one)}" for one in sentences]
    run = trained(folder, "tag", lines, "encoder=lstm", "input.tokenizer=character", "train.batch_size=4")
    [whole] = load(run).predict(["a dog"], look=False)
    said = regard("predict", run, "--stream", stdin=b"a\n \ndo\ng\n").out
    assert [line.count(" ") for line in said.splitlines()] == [0, 0, 1, 0]
    assert " ".join(said.split()) == whole.text


def test_a_file_is_read_too(regard: Regard, tagger: Path, tmp_path: Path) -> None:
    path = tmp_path / "tokens.txt"
    path.write_text("the\ndog\n\nruns")
    assert regard("predict", tagger, path, "--stream").out.count("\n") == 4
    path.write_bytes(b"the\n\xff\n")
    said = regard("predict", tagger, path, "--stream")
    assert (said.code, said.out.count("\n"), said.err.count("\n")) == (3, 2, 2)
    said = regard("predict", tagger, path, "--stream", "--strict")
    assert (said.code, said.out.count("\n"), said.err.count("\n")) == (2, 1, 1)
    assert f"{path}:2: byte 1 of the line is 0xff" in said.err


def test_models_that_cannot(regard: Regard, run: Path, folder: Path, tagger: Path) -> None:
    both = trained(folder, "tag", [f"{one}\t{labelled(one)}" for one in sentences], "encoder=bigru")
    assert regard("predict", both, "--stream", stdin=b"the\n").line() == (
        f"--stream: {both} has an encoder that needs the whole sentence; "
        "expected a unidirectional encoder, to tag a stream; "
        "train with encoder=lstm, or encoder=recurrent encoder.bidirectional=false"
    )
    said = regard("predict", run, "--stream", stdin=b"the\n").line()
    assert said == f"--stream: {run} is a run of task translate; expected a run of task tag"
    assert "--stream and --json; expected only one of them" in regard("predict", tagger, "--stream", "--json").line()
    assert "tag has no search" in regard("predict", tagger, "--stream", "--beam", "3").line()
    assert "tag has no search" in regard("predict", tagger, "--stream", "--min-length", "3").line()
