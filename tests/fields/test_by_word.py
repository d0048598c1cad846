"""Words read as subwords: which pieces are whose, and rows without some words."""

import json

import pytest

from regard.errors import RegardError
from regard.fields._by_word import WordRow, spoken, together, words_of
from regard.regions import Token
from regard.text.pretrained import Framed
from small_encoders import tokenizer


def test_pieces_belong_to_the_word_they_stand_in() -> None:
    text = Framed(json.loads(tokenizer().to_str()))
    said = " dogs,\tsleeping  a"
    assert spoken(said) == [Token("dogs,", 1, 6), Token("sleeping", 7, 15), Token("a", 17, 18)]
    (row,) = words_of(text, [said], ["a.tsv:1"], "text")
    assert row.words == (-1, 0, 0, 0, 1, 1, 2, -1)  # [CLS] dog ##s , sleep ##ing a [SEP]
    assert row.starts == [1, 4, 6]
    with pytest.raises(RegardError, match=r"a\.tsv:2: an empty text"):
        words_of(text, [" "], ["a.tsv:2"], "text")


def test_without_some_words_by_hand() -> None:
    row = WordRow((2, 8, 12, 11, 5, 3), (-1, 0, 0, 1, 2, -1), 3)
    assert row.without([0]) == WordRow((2, 11, 5, 3), (-1, 0, 1, -1), 2)
    with pytest.raises(RegardError, match="no token would be left"):
        row.without([0, 1, 2])
    both = together([row, row.without([0, 2])])
    assert both.values.tolist() == [[2, 8, 12, 11, 5, 3], [2, 11, 3, 0, 0, 0]]
    assert both.words is not None
    assert both.words.values.tolist() == [[1, 3, 4], [1, 0, 0]]
