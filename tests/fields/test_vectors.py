"""Pre-trained vectors: the three kinds of file, what is read of them, and what is said of a bad one."""

import gzip
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import RegardError
from regard.fields._vectors import Vectors, bare, read_vectors, side_by_side

GLOVE = b"the 0.5 -1\n, 1 2\ncat 3e-1 4\nthe 9 9\nParis 5 6\n"
FORMS = {
    "glove": GLOVE,
    "word2vec": b"5 2\n" + GLOVE,
    "fasttext": b"5 2\n" + GLOVE.replace(b"\n", b" \n"),  # a space at the end of every line
    "windows": b"\xef\xbb\xbf" + GLOVE.replace(b"\n", b"\r\n"),
    "unended": GLOVE.removesuffix(b"\n"),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vectors.txt"


def written(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    return str(path)


def table(vectors: Vectors) -> dict[str, list[float]]:
    return dict(zip(vectors.words, vectors.matrix.tolist(), strict=True))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_by_hand(path: Path, form: str, packed: bool) -> None:
    place = path.with_suffix(".gz") if packed else path
    vectors = read_vectors(written(place, gzip.compress(FORMS[form], mtime=0) if packed else FORMS[form]), None, 0)
    assert vectors.words == ("the", ",", "cat", "Paris")
    assert vectors.matrix.dtype == torch.float32
    expected = torch.tensor([[0.5, -1], [1, 2], [0.3, 4], [5, 6]])  # "the" came twice: the first
    torch.testing.assert_close(vectors.matrix, expected, rtol=0, atol=0)
    assert vectors.width == 2
    assert [vectors.row(piece) for piece in (",▁", "▁,", "cat", "dog", "▁▁")] == [1, 1, 2, None, None]


def test_only_what_is_wanted_and_the_first(path: Path) -> None:
    place = written(path, GLOVE)
    assert read_vectors(place, {"Paris", "dog"}, 0).words == ("Paris",)
    assert read_vectors(place, {"Paris", "the"}, 2).words == ("the", ",", "Paris")
    assert read_vectors(place, [], 3).words == ("the", ",", "cat")
    assert read_vectors(place, ["Paris"], 99).words == ("the", ",", "cat", "Paris")
    assert read_vectors(place, {"dog"}, 0).matrix.shape == (0, 2)
    assert read_vectors(place, [], 0).matrix.shape == (0, 2)


def test_signs_may_carry_their_spaces(path: Path) -> None:
    for sign in (",▁", "▁,", ", ", " , ", ","):
        assert read_vectors(written(path, GLOVE), {sign}, 0).words == (",",)
    assert read_vectors(written(path, GLOVE), {"▁▁", " ", ""}, 0).words == ()
    assert bare("▁(") == "("


def test_lower_case_stands_in(path: Path) -> None:
    """Only for a word that is not there itself; what lends its vector is not among the words unless asked for."""
    place = written(path, "paris 1\ncat 2\nParis 3\nÉTÉ 4\nété 5\ni\u0307 6\n".encode())
    assert table(read_vectors(place, {"Paris", "Cat", "CAT"}, 0)) == {"Paris": [3], "CAT": [2], "Cat": [2]}
    assert table(read_vectors(place, {"Cat", "cat"}, 0)) == {"cat": [2], "Cat": [2]}
    assert table(read_vectors(place, {"Cat"}, 2)) == {"paris": [1], "cat": [2], "Cat": [2]}
    assert table(read_vectors(place, {"Été", "İ", "été"}, 0)) == {"été": [5], "Été": [5], "İ": [6]}
    assert table(read_vectors(place, {"PARIS"}, 0)) == {"PARIS": [1]}
    assert table(read_vectors(written(path, b"CAT 1\n"), {"cat", "Cat"}, 0)) == {}


def test_words_with_spaces_inside(path: Path) -> None:
    place = written(path, b". 1 2\n. . . 3 4\nat name@domain.com 5 6\nat 7 8\n")
    assert table(read_vectors(place, {".", "at"}, 0)) == {".": [1, 2], "at": [7, 8]}
    assert table(read_vectors(place, {". . ."}, 0)) == {". . .": [3, 4]}
    assert table(read_vectors(place, None, 0))["at name@domain.com"] == [5, 6]


def test_only_a_line_feed_ends_a_line_and_only_a_space_parts(path: Path) -> None:
    content = "a\u2028b 1 2\n\x85 3 4\n\u3000 5 6\na\u00a0b 7 8\n\n 9 9\nc 9 10\n"
    assert read_vectors(written(path, content.encode()), None, 0).words == (
        ("a\u2028b", "\x85", "\u3000", "a\u00a0b", "c")  # an empty word is none
    )


@given(
    words=st.lists(st.text(st.characters(exclude_characters="\n\r \ufeff", exclude_categories=["Cs"]), min_size=1)),
    header=st.booleans(),
    most=st.integers(0, 5),
    data=st.data(),
)
def test_what_was_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], header: bool, most: int, data: st.DataObject
) -> None:
    words = ["first", *words]
    numbers = np.random.default_rng(len(words)).normal(size=(len(words), 3)).astype(np.float32)
    lines = [f"{len(words)} 3"] * header + [
        " ".join([word, *map(repr, row.tolist())]) for word, row in zip(words, numbers, strict=True)
    ]
    place = tmp_path_factory.mktemp("vectors") / "some.vec"
    place.write_bytes("\n".join(lines).encode())
    wanted = set(data.draw(st.lists(st.sampled_from(words)))) if words else set()
    firsts = {word: words.index(word) for word in words}
    expected = {
        word: numbers[at].tolist() for word, at in firsts.items() if at < most or word in {bare(w) for w in wanted}
    }
    found = table(read_vectors(str(place), wanted, most))
    assert {word: found[word] for word in expected} == expected
    assert all(bare(word) in {bare(w) for w in wanted} for word in found.keys() - expected.keys())  # stood in for
    assert list(read_vectors(str(place), None, 0).words) == list(firsts)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "no vectors in the file"),
        (b"\n\n", "no vectors in the file"),
        (b"3 2\n", "no vectors in the file"),
        (b"3 0\na 1\n", ":2: no numbers"),
        (b"the\n", ":1: no numbers; expected a word"),
        (b"the\t1\t2\n", ":1: no numbers; expected a word"),
        (b"the 1 2\ncat 1\n", ":2: 1 fields after the word; expected 2, as in the first line"),
        (b"the 1 2\ncat\n", ":2: 0 fields after the word; expected 2"),
        (b"the 1 2\ncat 1 2 3\n", ":2: 3 fields after the word; expected 2"),
        (b"9 3\nthe 1 2\n", ":2: 2 fields after the word; expected 3"),
        (b"9 3\nthe 1 2 3\n\ncat 1 2\n", ":4: 2 fields after the word; expected 3"),
        (b"the 1 2\ncat 1 x\n", ":2: 'x' is not a finite number"),
        (b"the 1 2\ncat 1  2\n", ":2: 3 fields after the word; expected 2"),
        (b"the 1 2\ncat  2\n", ":2: '' is not a finite number"),
        (b"the 1 2\ncat nan 2\n", ":2: 'nan' is not a finite number"),
        (b"the 1 2\ncat 1 -inf\n", ":2: '-inf' is not a finite number"),
        (b"the 1 2\ncat 1 1e60\n", ":2: '1e60' is not a finite number"),
        (b"the 1 2\ncat 1 2\xff\n", ":2: byte 8 of the line is 0xff; expected UTF-8"),
        (b"the 1 2\ncat \xff 1 2\n", ":2: byte 5 of the line is 0xff; expected UTF-8"),
        ("the 1 2\n".encode("utf-16"), ":1: byte 1 of the line is 0xff; expected UTF-8"),
        (b"3 2\n</s> \x00\x80\x00\x00\xff\xff\x00\x00", ":2: byte"),  # word2vec's binary form
        (b"PK\3\4glove", "a zip file"),
        (gzip.compress(GLOVE, mtime=0)[:-12], "broken gzip"),
        (b"\x1f\x8b no gzip", "broken gzip"),
    ],
)
def test_bad_files_are_said_in_one_line(path: Path, content: bytes, complaint: str) -> None:
    with pytest.raises(RegardError) as raised:
        read_vectors(written(path, content), {"cat"}, 0)
    assert str(raised.value).startswith(str(path))
    assert complaint in str(raised.value)
    assert "\n" not in str(raised.value)


def test_bad_lines_that_nobody_wants_are_passed_over(path: Path) -> None:
    place = written(path, b"the 1 2\nd\xffg 3 4\ndog 5\ncow 6 x\ncat 7 8\n")
    assert table(read_vectors(place, {"cat"}, 2)) == {"the": [1, 2], "cat": [7, 8]}
    with pytest.raises(RegardError, match=":3: 1 fields"):
        read_vectors(place, {"cat"}, 3)
    with pytest.raises(RegardError, match=":4: 'x' is not a finite number"):
        read_vectors(place, {"Cow"}, 0)
    assert read_vectors(written(path, b"a 1\nb\xff 2\nc 3\n"), None, 0).words == ("a", "c")


def test_the_first_line_is_always_tried(path: Path) -> None:
    for words in ([], ["cat"]):
        with pytest.raises(RegardError, match=":1: 'b' is not a finite number"):
            read_vectors(written(path, b"a b c\ncat 1 2\n"), words, 0)


def test_a_width_that_differs(path: Path) -> None:
    assert read_vectors(written(path, GLOVE), None, 0, width=2).width == 2
    with pytest.raises(RegardError, match=r"embed\.dim=200 but the file has 2; set embed\.dim=2"):
        read_vectors(written(path, GLOVE), None, 0, width=200)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for place, complaint in (
        (tmp_path / "none", "no such file"),
        (tmp_path, "a folder; expected a file"),
        ("a\0", "cannot be"),
    ):
        with pytest.raises(RegardError, match=complaint):
            read_vectors(str(place), None, 0)


def test_two_files_side_by_side() -> None:
    one = Vectors(("a", "b"), torch.tensor([[1.0], [2.0]]))
    other = Vectors(("b", "c"), torch.tensor([[3.0, 4.0], [5.0, 6.0]]))
    both = side_by_side([one, other])
    assert both.words == ("a", "b", "c")
    assert both.matrix.tolist() == [[1, 0, 0], [2, 3, 4], [0, 5, 6]]
    assert side_by_side([one]).matrix.tolist() == one.matrix.tolist()


def test_a_bomb_and_an_endless_line_are_no_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "vectors.txt.gz"
    path.write_bytes(gzip.compress(b"cat 0.1 0.2\n" * 400_000))
    with pytest.raises(RegardError, match="decompresses to more than"):
        read_vectors(str(path), {"dog"}, 10)
    monkeypatch.setattr("regard.fields._vectors.longest", 10)
    path.write_bytes(b"cat 0.1\n" + b"0" * 100)
    with pytest.raises(RegardError, match=r"vectors\.txt\.gz:2: line longer than"):
        read_vectors(str(path), {"dog"}, 10)
