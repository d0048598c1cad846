"""The sheet: what belongs together, what is the same, what is drawn."""

from collections import Counter
from pathlib import Path

import pytest

from regard.errors import RegardError
from regard.serve.judge_sheet import Sheet, order, read_sheet, sample


def systems(folder: Path, *names: str) -> list[str]:
    return [str(folder / f"{name}.txt") for name in names]


def test_systems_are_what_they_wrote(folder: Path, sheet: Sheet) -> None:
    """Not where their files are, nor in which order they came."""
    (folder / "there").mkdir()
    for name in ("gamma", "alpha", "beta"):
        (folder / f"{name}.txt").rename(folder / "there" / f"{name}.txt")
    moved = read_sheet(systems(folder / "there", "gamma", "alpha", "beta"), str(folder / "source.txt"))
    assert moved == sheet
    assert set(sheet.names) == {"alpha", "beta", "gamma"}
    assert sheet.outputs[sheet.names.index("gamma")][0] == "Day."


def test_names_tell_apart(folder: Path) -> None:
    (folder / "sub").mkdir()
    paths = [folder / "alpha.txt", folder / "alpha.out", folder / "sub" / "alpha.txt"]
    for number, path in enumerate(paths):
        path.write_text(f"{number}\n" * 4)
    source = str(folder / "source.txt")
    assert set(read_sheet([str(paths[0]), str(paths[1])], source).names) == {"alpha.txt", "alpha.out"}
    assert set(read_sheet([str(paths[0]), str(paths[2])], source).names) == {str(paths[0]), str(paths[2])}


def test_what_is_the_same_stands_together(sheet: Sheet) -> None:
    alpha, beta, gamma = (sheet.names.index(name) for name in ("alpha", "beta", "gamma"))
    assert sorted(sheet.groups(1)) == sorted([sorted([alpha, beta]), [gamma]])
    assert len(sheet.groups(2)) == 3
    assert sheet.groups(4) == [[0, 1, 2]]


def test_digests_tell_what_differs(folder: Path, sheet: Sheet) -> None:
    paths = systems(folder, "alpha", "beta", "gamma")
    known = read_sheet(paths, str(folder / "source.txt"), str(folder / "reference.txt"))
    assert {key for key in sheet.digests if sheet.digests[key] != known.digests[key]} == {"reference"}
    (folder / "alpha.txt").write_bytes((folder / "alpha.txt").read_bytes().replace(b"\n", b"\r\n"))
    assert read_sheet(paths, str(folder / "source.txt")).digests == sheet.digests
    (folder / "alpha.txt").write_text("a\nb\nc\nd\n")
    other = read_sheet(paths, str(folder / "source.txt"))
    assert {key for key in sheet.digests if sheet.digests[key] != other.digests[key]} == {"outputs"}


def test_the_order_is_drawn_from_seed_judge_and_line() -> None:
    groups = [[0], [1], [2]]
    drawn = {
        (seed, judge, line): order(groups, seed, judge, line) for seed in (0, 1) for judge in "ab" for line in (1, 2)
    }
    assert drawn == {of: order(groups[::-1], *of) for of in drawn}
    assert len({str(one) for one in drawn.values()}) > 2
    for one, two in (((0, "ana"), (0, "ben")), ((0, "ana"), (1, "ana"))):
        assert 60 < sum(order(groups, *one, line) == order(groups, *two, line) for line in range(600)) < 140  # of 100
    often = Counter(str(order(groups, 0, "ana", line)) for line in range(1, 601))
    assert len(often) == 6
    assert min(often.values()) > 70  # of 100 expected, with a deviation of 9


def test_a_larger_count_takes_more_of_the_same() -> None:
    assert sample(5, 0) == [1, 2, 3, 4, 5]
    few, many = sample(1000, 0, 20), sample(1000, 0, 40)
    assert (len(few), len(many)) == (20, 40)
    assert set(few) < set(many)
    assert few == sorted(few)
    assert few != sample(1000, 1, 20)
    assert sample(3, 0, 10) == [1, 2, 3]


def test_what_cannot_be_judged(folder: Path) -> None:
    source = str(folder / "source.txt")
    alpha, beta = systems(folder, "alpha", "beta")

    def wrong(outputs: list[str], source: str = source, reference: str | None = None) -> str:
        with pytest.raises(RegardError) as error:
            read_sheet(outputs, source, reference)
        return str(error.value).replace(f"{folder}/", "")

    assert wrong([alpha]) == "1 output file; expected 2 to 9"
    assert wrong([alpha] * 10).startswith("10 output files")
    assert wrong([alpha, alpha]) == "alpha.txt: given twice; expected one file per system"
    assert wrong([alpha, str(folder / "betta.txt")]).startswith("betta.txt: no such file; did you mean")
    (folder / "short.txt").write_text("one\ntwo\n")
    assert wrong([alpha, str(folder / "short.txt")]).startswith(
        "short.txt: 2 lines; expected 4, as in source.txt; give"
    )
    assert wrong([alpha, beta], source, str(folder / "short.txt")).startswith("short.txt: 2 lines; expected 4")
    (folder / "empty.txt").write_text("")
    assert wrong([alpha, str(folder / "empty.txt")]).startswith("empty.txt: the file is empty")
    (folder / "latin.txt").write_bytes("für\n".encode("latin-1") * 4)
    assert wrong([alpha, str(folder / "latin.txt")]).startswith(
        "latin.txt:1: byte 2 of the line is 0xfc; expected UTF-8"
    )
    (folder / "blank.txt").write_text("\n\n\n \n")
    said = wrong([alpha, beta], str(folder / "blank.txt"))
    assert said == "blank.txt: only blank lines; expected one source per line"
