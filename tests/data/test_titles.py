"""Titles: MovieLens' files, tables with a header and without one."""

from pathlib import Path

import pytest

from regard.data.titles import read_titles
from regard.errors import RegardError


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("u.item", "1|Toy Story (1995)|01-Jan-1995||http://x\n100|Fargo (1996)|14-Feb-1997||http://y\n"),
        ("movies.dat", "1::Toy Story (1995)::Animation\n100::Fargo (1996)::Crime\n"),
        ("movies.csv", 'movieId,title,genres\n1,Toy Story (1995),Animation\n100,"Fargo (1996)",Crime\n'),
        ("names.tsv", "item\tprice\tname\n1\t3\tToy Story (1995)\n100\t4\tFargo  (1996)\n"),
        ("plain.tsv", "1\tToy Story (1995)\n100\tFargo (1996)\n200\t\n"),
    ],
)
def test_files(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert read_titles(str(tmp_path / name)) == {"1": "Toy Story (1995)", "100": "Fargo (1996)"}


def test_letters_of_windows(tmp_path: Path) -> None:
    (tmp_path / "u.item").write_bytes("1|Misérables, Les (1995)|x\n2|Amélie (2001)|y\n".encode("cp1252"))
    assert read_titles(str(tmp_path / "u.item"))["1"] == "Misérables, Les (1995)"


def test_a_title_that_never_ends(tmp_path: Path) -> None:
    (tmp_path / "ids.csv").write_text('1,a\n2,"' + 150_000 * "z" + "\n")
    with pytest.raises(RegardError, match=r"ids\.csv:2: not CSV \(field larger than field limit"):
        read_titles(str(tmp_path / "ids.csv"))


def test_no_titles(tmp_path: Path) -> None:
    (tmp_path / "ids.tsv").write_text("1\n2\n")
    with pytest.raises(RegardError, match=r"no titles in 2 lines; expected an id and a title"):
        read_titles(str(tmp_path / "ids.tsv"))
    with pytest.raises(RegardError, match="no such file"):
        read_titles(str(tmp_path / "none.tsv"))
