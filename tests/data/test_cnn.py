"""CNN's questions: a file for each."""

from pathlib import Path

import pytest

from regard.data.cnn import is_cnn, read_cnn
from regard.data.readlog import ReadLog
from regard.errors import RegardError

ONE = """http://example.com/1

@entity1 met @entity2 in @entity3 .

@placeholder met him

@entity1

@entity1:Ada Lovelace
@entity2:Bo
"""


def test_a_folder_of_questions(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / f"{name}.question").write_text(ONE)
    assert is_cnn(str(tmp_path))
    first, second = read_cnn(str(tmp_path), "auto", ReadLog())
    assert first.inputs == ("@entity1 met @entity2 in @entity3 .", "@placeholder met him")
    assert (first.target, first.choices) == ("@entity1", ("@entity1", "@entity2"))
    assert first.where.endswith("a.question")
    assert second.inputs == first.inputs
    assert read_cnn(str(tmp_path / "a.question"), "auto", ReadLog()) == [first]


def test_a_file_of_another_form(tmp_path: Path) -> None:
    (tmp_path / "a.question").write_text("one\n\ntwo\n")
    with pytest.raises(RegardError, match=r"a\.question:1: 2 parts; expected address, document, question, answer"):
        read_cnn(str(tmp_path), "auto", ReadLog())
    assert not is_cnn(str(tmp_path / "other"))
    assert is_cnn("x.question")
