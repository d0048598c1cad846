"""The terminal's heat map: every cell in its column, whatever the tokens, and nothing left out."""

import io
import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from test_attention_map import hostile, in_picture, map_of

from regard.look.attention_map import AttentionMap
from regard.look.terminal import show
from regard.regions import Box, Token
from tiers import tries

ansi = re.compile(r"\x1b\[[0-9;]*m")


def tokens(text: str) -> tuple[Token, ...]:
    return tuple(map(Token, text))


def test_by_hand() -> None:
    weights = np.array([[1.0, 0.0, 0.5], [0.25, 0.75, 0.02]])
    assert show(AttentionMap(weights, tokens("5-"), tokens("a ä"), "t"), 80, False).splitlines() == [
        "t",
        "  a ␣ ä",
        "5 ██· ▒▒",
        "- ░░▓▓·",
        "0 · ░░▒▒▓▓██ 1",
    ]


def test_words_stand_over_their_columns() -> None:
    attention_map = AttentionMap(np.eye(2), (Token("the"), Token("cat")), (Token("die"), Token("Katze")))
    assert show(attention_map, 80, False).splitlines()[:3] == ["    die Katze", "the ███ ·", "cat ·   █████"]


def test_wide_and_composed_characters_keep_the_columns_aligned() -> None:
    columns = ("日", "é", "e\u0301", "👨‍👩‍👧", "x", "⚠️")
    lines = show(
        AttentionMap(np.eye(6), tuple(map(Token, columns)), tuple(map(Token, columns))), 80, False
    ).splitlines()
    at = cell_len(lines[1][: lines[1].index("█")])
    for i, line in enumerate(lines[1:7]):
        before = line[: line.index("█")]
        assert cell_len(before) == at + 2 * i
        assert cell_len(lines[0][: lines[0].index(columns[i])]) == at + 2 * i


@pytest.mark.parametrize("width", [24, 40, 80, 200])
@pytest.mark.parametrize("colour", [False, True])
def test_hostile_tokens_fit_and_do_nothing(width: int, colour: bool) -> None:
    out = show(map_of(hostile, hostile, title="".join(hostile)), width, colour)
    assert (ansi.search(out) is not None) == colour
    plain = ansi.sub("", out)
    assert "\x1b" not in plain
    assert plain.replace("\n", "").replace("\u200d", "").replace("\u200e", "").isprintable()
    assert max(cell_len(line) for line in plain.splitlines()) <= width
    out.encode()
    if width == 200:
        for shown in ("$x^2$", "[/b]", "[bold red]", "</script>", "&amp;", "␛[31m", "⟨U+202E⟩", "xxx…", "∅", "↵", "⇥"):
            assert shown in plain


@given(st.integers(1, 60), st.integers(24, 100), st.integers(1, 12), st.sets(st.integers(1, 59)))
@settings(max_examples=tries(60), deadline=None)
def test_every_column_is_shown_once(count: int, width: int, size: int, begins: set[int]) -> None:
    names = tuple(f"{i:0{max(size, 2)}d}" for i in range(count))
    breaks = tuple(sorted(i for i in begins if i < count))
    lines = show(map_of(("r",), names, breaks=breaks), width, False).splitlines()
    rows = [i for i, line in enumerate(lines) if line.startswith("r ")]
    shown = " ".join(lines[i - 1] for i in rows)
    if size <= width // 3 and size > 2:
        assert shown.split() == [word for i, name in enumerate(names) for word in ["│"] * (i in breaks) + [name]]
    for i in rows:  # bars stand under bars
        assert [n for n, c in enumerate(lines[i]) if c == "│"] == [n for n, c in enumerate(lines[i - 1]) if c == "│"]
    assert max(cell_len(line) for line in lines) <= width


def test_panels_are_even() -> None:
    lines = show(map_of(("r",), ("abcdefgh",) * 9), 80, False).splitlines()
    assert [line.count("abcdefgh") for line in lines if "abcd" in line] == [5, 4]  # 8 and 1 would fit as well


def test_many_letters_stand_closer_before_they_are_split() -> None:
    lines = show(map_of(("r",), tuple("a" * 70)), 80, False).splitlines()
    assert lines[0] == "  " + "a" * 70
    split = show(map_of(("r",), tuple("a" * 79)), 80, False).splitlines()
    assert [line.count("a") for line in split if " a " in line] == [27, 27, 25]


def test_choices_and_inputs_by_hand() -> None:
    words = (Token("a"), Token("man"), Token("runs"), Token("he"))
    attention_map = AttentionMap(
        np.eye(4)[:2],
        words[:2],
        words,
        row_selected=(False, True),
        column_selected=(True, False, True, True),
        breaks=(2,),
    )
    assert show(attention_map, 80, False).splitlines() == [
        "    a (man) │ runs he",
        "(a) █ ·     │ ·    ·",
        "man · █████ │ ·    ·",
        "0 · ░░▒▒▓▓██ 1",
        "(word) was not selected",
        "│ another input begins",
    ]
    coloured = show(attention_map, 80, True)
    assert "\x1b[2m(man)\x1b[0m" in coloured
    assert ansi.sub("", coloured) == show(attention_map, 80, False)
    all_chosen = AttentionMap(np.eye(2), words[:2], words[:2], row_selected=(True, True), column_selected=(True, True))
    assert show(all_chosen, 80, False) == show(AttentionMap(np.eye(2), words[:2], words[:2]), 80, False)


def test_letters_of_two_inputs() -> None:
    wide = AttentionMap(np.eye(1, 4), tokens("x"), tokens("abcd"), breaks=(1, 3))
    assert show(wide, 80, False).splitlines()[:2] == ["  a │b c │d", "x ██│· · │·"]
    lines = show(AttentionMap(np.eye(1, 20), tokens("x"), tokens("abcdefghijklmnopqrst"), breaks=(4, 6)), 24, False)
    assert lines.splitlines()[:2] == ["  abcd│ef│ghijklmnopqrst", "x █···│··│··············"]  # dense, to the last cell
    lines = show(AttentionMap(np.eye(1, 10), tokens("x"), tokens("abcdefghij"), breaks=(2, 4, 6)), 24, False)
    assert lines.splitlines()[0] == "  ab│cd│ef│ghij"  # squares would fit, but not with three bars


def test_brackets_are_part_of_a_label_that_is_cut() -> None:
    lines = show(
        map_of(("a" * 30,), ("b" * 30,), row_selected=(False,), column_selected=(False,)), 80, False
    ).splitlines()
    assert lines[0].strip() == "(bbbbbbbbbbb…)"
    assert lines[1].startswith("(aaaaaaaaaaa…) █")


def test_an_input_that_begins_a_line_is_marked_there() -> None:
    attention_map = map_of(("r",), ("abcdefgh",) * 4, breaks=(2,))
    lines = show(attention_map, 24, False).splitlines()
    assert [line for line in lines if "abcd" in line] == ["  abcdefgh abcdefgh", "  │ abcdefgh abcdefgh"]


@pytest.mark.parametrize("width", [24, 40, 200])
def test_hostile_tokens_that_were_not_chosen_fit_and_do_nothing(width: int) -> None:
    none, breaks = (False,) * len(hostile), tuple(range(1, len(hostile)))
    attention_map = map_of(
        hostile, hostile, 1, head_names=("\x1b[31m[bold]",), row_selected=none, column_selected=none, breaks=breaks
    )
    plain = ansi.sub("", show(attention_map, width, True))
    assert plain.replace("\n", "").replace("\u200d", "").replace("\u200e", "").isprintable()
    assert max(cell_len(line) for line in plain.splitlines()) <= width
    assert "␛[31m[bold]" in plain
    if width == 200:
        for shown in ("($x^2$)", "([/b])", "(∅)", "(⟨U+202E⟩)", "│ "):
            assert shown in plain


def test_right_to_left_labels_do_not_drag_their_neighbours() -> None:
    header = show(map_of(("r",), ("قلم", "كتاب")), 80, False).splitlines()[0]
    assert header == "  \u200eقلم\u200e \u200eكتاب\u200e"


def test_heads_follow_one_another() -> None:
    out = show(map_of(("r",), ("a", "b"), heads=2), 80, False)
    assert "head 1" in out
    assert out.index("head 1") < out.index("head 2")
    named = show(map_of(("r",), ("a", "b"), heads=2, head_names=("forward", "backward")), 80, False).splitlines()
    assert (named[0], named[3], "head 1" in named) == ("forward", "backward", False)


@pytest.mark.parametrize(("rows", "columns"), [("", ""), ("ab", ""), ("", "ab")])
def test_nothing_to_see(rows: str, columns: str) -> None:
    attention_map = AttentionMap(np.zeros((len(rows), len(columns))), tokens(rows), tokens(columns))
    assert show(attention_map, 80, True)
    assert "█" in show(AttentionMap(np.zeros((1, 1)), tokens("a"), tokens("b")), 80, False).splitlines()[-1]


def test_colour_is_on_in_a_terminal_only(monkeypatch) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    attention_map = map_of(("r",), ("a",))
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert "\x1b" not in show(attention_map)
    monkeypatch.setattr(sys, "stdout", Screen())
    coloured = show(attention_map)
    assert "\x1b[38;5;" in coloured
    assert ansi.sub("", coloured) == show(attention_map, colour=False)  # colours add, they do not replace
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in show(attention_map)


def test_a_terminal_setting_does_not_change_a_plain_text(monkeypatch) -> None:
    attention_map = map_of(hostile, hostile)
    before = show(attention_map, 80, False)
    for name, value in (("FORCE_COLOR", "1"), ("TERM", "dumb"), ("COLUMNS", "30")):
        monkeypatch.setenv(name, value)
    assert show(attention_map, 80, False) == before
    assert "\x1b[38;5;" in show(attention_map, 80, True)


def test_weights_stand_where_their_boxes_are() -> None:
    """Quarters with 0, ¼, ½ and 1 of the largest weight, twice as large as boxes; pixels black, white, white, black."""
    assert show(in_picture(title="a dot"), 24, False).splitlines() == [
        "a dot",
        "picture   cat",
        "    ████  · · ░░░░",
        "    ████  · · ░░░░",
        "████      ▒▒▒▒████",
        "████      ▒▒▒▒████",
        "0 · ░░▒▒▓▓██ 1",
    ]


def test_what_has_no_room_beside_goes_below_and_gaps_stay_empty() -> None:
    corner = replace(
        in_picture(("cat", "dog", "a", "\x1b")), columns=(Box(0.0, 0.0, 0.25, 0.25),) * 3 + (Box(0.5, 0.5, 1.0, 1.0),)
    )
    lines = show(corner, 24, False).splitlines()
    assert [line.split() for line in lines if "cat" in line or "␛" in line] == [["pic…", "cat", "dog", "a"], ["␛"]]
    assert lines[-3:-1] == ["·", "  ██"]
