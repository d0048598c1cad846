"""Text in a stream: what is held out, several files, what is read in another way, and how little memory it takes."""

import gzip
import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import pytest

import regard.data.corpus
from regard.data.corpus import Corpus, read_corpus
from regard.data.splits import Splits, place
from regard.errors import RegardError


def file(path: Path, lines: list[str]) -> Path:
    text = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def read(spec: object, **options: object) -> Splits:
    found = read_corpus(str(spec), **options)  # type: ignore[arg-type]
    assert found is not None
    assert isinstance(found.train, Corpus)
    return found


LINES = [f"line {number}" for number in range(300)]


def test_every_line_is_in_one_split(tmp_path: Path) -> None:
    found = read(file(tmp_path / "a.txt", [*LINES, "", "  ", *LINES[:40]]))
    train, valid, test = ([one.source for one in some] for some in (found.train, found.valid, found.test))
    assert sorted([*train, *valid, *test]) == sorted([*LINES, *LINES[:40]])
    assert not set(train) & {*valid, *test}
    assert not set(valid) & set(test)
    assert len(train) == len(found.train)
    assert 10 <= len(valid) <= 30 >= len(test) >= 10
    highest = [max(place((line,), 0) for line in some) for some in (test, valid)]
    assert highest[0] < min(place((line,), 0) for line in valid) <= highest[1] < min(place((t,), 0) for t in train)


def test_order_and_places(tmp_path: Path) -> None:
    one, two = file(tmp_path / "a.txt", LINES[:4]), file(tmp_path / "b.txt.gz", LINES[4:8])
    found = read(f"{one}, {two}", valid=False, test=False)
    assert [(e.source, e.where) for e in found.train] == [
        *((line, f"{one}:{n}") for n, line in enumerate(LINES[:4], 1)),
        *((line, f"{two}:{n}") for n, line in enumerate(LINES[4:8], 1)),
    ]
    assert [e.source for e in found.train[2:7:2]] == LINES[2:7:2]
    assert (found.train[5].source, found.train[-1].source) == (LINES[5], LINES[7])
    with pytest.raises(IndexError):
        found.train[8]
    assert [e.source for e in read(tmp_path, valid=False, test=False).train] == LINES[:8]


def test_what_is_wanted(tmp_path: Path) -> None:
    path = file(tmp_path / "a.txt", LINES)
    for valid in (True, False):
        for test in (True, False):
            found = read(path, valid=valid, test=test)
            assert (bool(found.valid), bool(found.test)) == (valid, test)
    small = read(file(tmp_path / "b.txt", LINES[:3]))
    assert (len(small.train), len(small.valid), len(small.test)) == (1, 1, 1)


def test_at_most_so_many_are_held_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However few candidates are kept while reading, they are those with the lowest hashes."""
    path = file(tmp_path / "a.txt", LINES)
    monkeypatch.setattr(regard.data.corpus, "MOST", 3)
    monkeypatch.setattr(regard.data.corpus, "KEPT", 7)
    found = read(path)
    lowest = sorted(LINES, key=lambda line: place((line,), 0))
    assert {e.source for e in found.test} == set(lowest[:3])
    assert {e.source for e in found.valid} == set(lowest[3:6])


def test_what_is_read_in_another_way(tmp_path: Path) -> None:
    for name in ("a.tsv", "a.csv.gz", "a.jsonl"):
        assert read_corpus(str(file(tmp_path / name, LINES))) is None
    parts = tmp_path / "parts"
    parts.mkdir()
    file(parts / "train.txt", LINES)
    assert read_corpus(str(parts)) is None
    with pytest.raises(RegardError, match=r"nowhere.txt does not exist; expected text files, with commas between"):
        read_corpus(f"{parts / 'train.txt'},{tmp_path / 'nowhere.txt'}")


def test_a_line_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\ntw\xff\nthree\nfour\n")
    with pytest.raises(RegardError, match=r"a.txt:2: byte 3 of the line is 0xff"):
        read(path, encoding="utf-8")
    found = read(path, encoding="utf-8", skip=True, valid=False, test=False)
    for _ in range(2):
        assert [e.source for e in found.train] == ["one", "three", "four"]
    assert len(found.notes) == 1


def test_the_digest_is_of_lines_in_order(tmp_path: Path) -> None:
    options = {"valid": False, "test": False}
    digests = [read(file(tmp_path / f"{n}.txt", lines), **options).train.digest  # type: ignore[attr-defined]
               for n, lines in enumerate([LINES, LINES, LINES[::-1], ["a b"], ["a", "b"]])]  # fmt: skip
    assert digests[0] == digests[1]
    assert len(set(digests)) == 4


class Rows(list[str]):
    column_names = ("text",)

    def __getitem__(self, some: slice) -> dict[str, list[str]]:  # type: ignore[override]
        return {"text": super().__getitem__(some)}


def test_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regard.data.corpus, "loaded", lambda name: {"train": Rows(["a\nb", "", "c"])})
    monkeypatch.setattr(regard.data.corpus, "ROWS", 2)
    found = read("hf:some", valid=False, test=False)
    assert [(e.source, e.where) for e in found.train] == [
        ("a", "hf:some:train:1"), ("b", "hf:some:train:1"), ("c", "hf:some:train:3")
    ]  # fmt: skip
    monkeypatch.setattr(regard.data.corpus, "loaded", lambda name: {"train": SimpleNamespace(column_names=["de"])})
    with pytest.raises(RegardError, match="hf:some: no column 'text' in a split 'train'; it has de"):
        read("hf:some")


def test_the_text_is_never_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice as much text takes no more memory, where few lines are held out."""
    monkeypatch.setattr(regard.data.corpus, "MOST", 20)
    monkeypatch.setattr(regard.data.corpus, "KEPT", 20)
    peaks = []
    for times in (1, 2):
        path = file(tmp_path / f"{times}.txt", [f"{n} {'word ' * 1000}" for n in range(300 * times)])
        tracemalloc.start()
        found = read(path)
        assert sum(1 for _ in found.train) == len(found.train) > 250 * times
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]
