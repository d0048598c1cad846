"""What separates fields: found from the lines, and the usual one in doubt."""

import pytest

from regard.data.separator import found, name_of, named
from regard.errors import RegardError


@pytest.mark.parametrize(
    ("lines", "form", "separator"),
    [
        (["text;label", "a fine, fine film;good", "bad;bad"], "csv", ";"),
        (["text\tlabel", "a fine, fine film\tgood", "bad\tbad"], "csv", "\t"),
        (["a|b", "c, d|e"], "tsv", "|"),
        (["text,label", "a; b,c"], "csv", ","),
        (["a, b\tc", "d, e\tf"], "tsv", "\t"),  # both would do
        (["text,label", '"a, b; c",x', '"d; e",y'], "csv", ","),
        (["a b", "c d"], "tsv", "\t"),
        (["a\tb", "c"], "tsv", "\t"),  # too uneven to tell
        (['"never closed;a', "b;c"], "csv", ","),
        ([], "csv", ","),
    ],
)
def test_found(lines: list[str], form: str, separator: str) -> None:
    assert found(lines, form, 2) == separator
    assert found(lines, form, 1) == {"csv": ",", "tsv": "\t"}[form]


def test_named() -> None:
    assert [named(one) for one in ("tab", "semicolon", ";", "\\t", "^")] == ["\t", ";", ";", "\t", "^"]
    assert [name_of(one) for one in ("\t", ";", "^")] == ["tab", "semicolon", "'^'"]
    for wrong in ("", "semi", '"', "\n", ";;"):
        with pytest.raises(
            RegardError, match="expected auto, tab, comma, semicolon, pipe, space or one character, or ::"
        ):
            named(wrong)
