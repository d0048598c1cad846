"""An attention map keeps what it was given exactly, refuses what cannot be shown, and writes files whole."""

import json
import os
import unicodedata
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import RegardError
from regard.look.attention_map import AttentionMap, visible
from regard.look.picture import to_url
from regard.regions import Box, Entry, Interval, Item, Token
from tiers import tries

hostile = (
    *("$x^2$", "[/b]", "[bold red]", "<script>alert(1)</script>", "</script>", '"onmouseover=alert(1) x="', "&amp;"),
    *("👨‍👩‍👧", "مرحبا", "e\u0301", "\u0301", "\u202e", "\0", "\x1b[31m", "\n", "\t", "", "x" * 10_000),
    *("\x9b31m", "\u2028", "\ufeff", "\ud800", "\uffff", "日本", " ", "a" + "\u0301" * 99),
)


def map_of(rows: tuple[str, ...], columns: tuple[str, ...], heads: int = 0, **more: object) -> AttentionMap:
    shape = (heads, len(rows), len(columns)) if heads else (len(rows), len(columns))
    weights = np.random.default_rng(0).dirichlet(np.ones(len(columns)), shape[:-1]) if columns else np.zeros(shape)
    return AttentionMap(weights, tuple(map(Token, rows)), tuple(map(Token, columns)), **more)


def test_hostile_tokens_survive_json_exactly() -> None:
    attention_map = map_of(hostile, hostile, title="".join(hostile), links=((0, 1), (2, 2)))
    text = attention_map.to_json()
    assert AttentionMap.from_json(text) == attention_map
    assert text.isprintable()  # no terminal that shows the file obeys a character of it
    assert json.loads(text)["rows"][11] == {"kind": "token", "text": "\u202e", "start": -1, "end": -1}
    text.encode()


@given(
    st.lists(st.text(st.characters(codec="utf-8"), max_size=4), max_size=3),
    st.lists(st.floats(0, 1e300), min_size=18, max_size=18),
    st.sampled_from([0, 1, 2]),
)
@settings(max_examples=tries(50), deadline=None)
def test_json_roundtrip(texts: list[str], numbers: list[float], heads: int) -> None:
    n = len(texts)
    shape = (heads, n, n) if heads else (n, n)
    tokens = tuple(Token(text, i, i + 1) for i, text in enumerate(texts))
    attention_map = AttentionMap(np.resize(numbers, shape), tokens, tokens, links=((0, 0),) if n else ())
    again = AttentionMap.from_json(attention_map.to_json())
    assert again == attention_map
    assert again.weights.shape == shape
    assert hash(again) == hash(attention_map)


marked = {
    "head_names": ("forward", "</script>\x1b"),
    "row_selected": (True, False),
    "column_selected": (False, True, True),
    "breaks": (1, 2),
}


def test_what_is_known_of_tokens_survives_json_and_counts() -> None:
    attention_map = map_of(("a", "b"), ("c", "d", "e"), heads=2, **marked)
    again = AttentionMap.from_json(attention_map.to_json())
    assert again == attention_map
    assert hash(again) == hash(attention_map)
    assert {name: getattr(again, name) for name in marked} == marked
    for name in marked:
        other = replace(attention_map, **{name: ()})
        assert other != attention_map
        assert hash(other) != hash(attention_map)
        assert AttentionMap.from_json(other.to_json()) == other


quarters = tuple(Box(x, y, x + 0.5, y + 0.5) for y in (0.0, 0.5) for x in (0.0, 0.5))  # from left to right, then down
dot = to_url(np.array([[0, 255], [255, 0]], dtype=np.uint8))  # a picture of 2 × 2 pixels


def in_picture(rows: tuple[str, ...] = ("cat",), heads: int = 0, **more: object) -> AttentionMap:
    shape = (heads, len(rows), 4) if heads else (len(rows), 4)
    weights = np.resize([0.0, 0.25, 0.5, 1.0], shape)
    return AttentionMap(weights, tuple(map(Token, rows)), quarters, **{"source": dot, **more})


def test_every_kind_of_region_survives_json() -> None:
    regions = (Token("a", 0, 1), Box(0.0, 0.25, 0.5, 1.0), Interval(0.0, 1.5), Item("id7", 3), Entry("name", "<b>"))
    attention_map = AttentionMap(np.ones((5, 5)), regions, regions)
    assert not attention_map.in_picture  # a mixture is shown as labels
    assert AttentionMap.from_json(attention_map.to_json()) == attention_map
    pictured = in_picture(panels="rows")
    assert pictured.in_picture
    again = AttentionMap.from_json(pictured.to_json())
    assert (again, again.source, again.panels) == (pictured, dot, "rows")


@pytest.mark.parametrize(
    "source",
    [
        *("cat.png", "http://example.org/cat.png", "file:///etc/passwd", "data:text/html;base64,AAAA"),
        *(
            "data:image/svg+xml;base64,AAAA",
            "data:image/png,AAAA",
            "data:image/png;base64,",
            "data:image/png;base64,<b>",
        ),
        *(
            'data:image/png;base64,AAAA" onerror="alert(1)',
            "data:image/png;base64,AAAA\n",
            " data:image/png;base64,AAAA",
        ),
    ],
)
def test_only_a_picture_in_itself_is_a_source(source: str) -> None:
    for columns in (quarters, (Token("a"),) * 4):
        with pytest.raises(RegardError, match=r"^source .*; expected a PNG, .* as a data URL"):
            AttentionMap(np.ones((1, 4)), (Token("a"),), columns, source=source)


def test_boxes_need_a_picture_and_panels_a_known_name() -> None:
    with pytest.raises(RegardError, match="boxes, but no picture as source"):
        AttentionMap(np.ones((1, 4)), (Token("a"),), quarters)
    given = SimpleNamespace(
        panels="sides", head_names=()
    )  # not through the constructor, whose types are checked in tests
    with pytest.raises(RegardError, match="panels 'sides'; expected one of heads, features"):
        AttentionMap._check_marks(given, 0)


def test_lines_are_named_by_what_tells_them_apart() -> None:
    assert [name for name, _ in in_picture(("cat", "dog")).lines()] == ["cat", "dog"]
    assert [name for name, _ in in_picture(heads=2).lines()] == ["head 1", "head 2"]
    both = in_picture(("cat", "dog"), 2, head_names=("a", "b")).lines()
    assert [name for name, _ in both] == ["a: cat", "a: dog", "b: cat", "b: dog"]
    assert both[3][1].tolist() == [0.0, 0.25, 0.5, 1.0]


def test_of_features_the_first_panel_is_the_mean() -> None:
    weights = np.array([[[0.2, 0.8]], [[0.6, 0.4]]])
    attention_map = AttentionMap(weights, (Token("a"),), (Token("b"), Token("c")), panels="features")
    assert attention_map.mean().weights.tolist() == [[0.2, 0.8]]
    assert attention_map.mean().panels == "heads"


def test_who_was_left_out() -> None:
    attention_map = map_of(("a", "b"), ("c", "d", "e"), row_selected=(True, False))
    assert attention_map.left_out == ((False, True), (False, False, False))
    assert map_of(("a",), ("b",)).names == ("head 1",)
    assert map_of(("a", "b"), ("c", "d", "e"), heads=2, **marked).names == marked["head_names"]


def test_single_precision_is_kept_to_the_last_bit() -> None:
    weights = np.array([[0.1, 1 / 3]], dtype=np.float32)
    again = AttentionMap.from_json(AttentionMap(weights, (Token("a"),), (Token("b"), Token("c"))).to_json())
    assert (again.weights.astype(np.float32) == weights).all()


def test_heads_averaged_by_hand() -> None:
    attention_map = AttentionMap(np.array([[[0.2, 0.8]], [[0.6, 0.4]]]), (Token("a"),), (Token("b"), Token("c")))
    np.testing.assert_allclose(attention_map.mean().weights, [[0.4, 0.6]])
    assert attention_map.mean().mean() == attention_map.mean()
    assert (attention_map.largest, attention_map.top) == (0.8, 1.0)
    assert attention_map.heads.shape == (2, 1, 2)
    assert attention_map.mean().heads.shape == (1, 1, 2)
    named = replace(attention_map, head_names=("forward", "backward"), breaks=(1,))
    assert named.mean() == replace(attention_map.mean(), breaks=(1,))  # what was averaged has no name of its own


def test_an_attention_map_does_not_change_with_the_array_it_was_made_from() -> None:
    weights = np.array([[1.0]])
    attention_map = AttentionMap(weights, (Token("a"),), (Token("b"),))
    weights[0, 0] = 0.5
    assert attention_map.weights[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        attention_map.weights[0, 0] = 2


@pytest.mark.parametrize(
    ("weights", "links", "says"),
    [
        (np.zeros((2, 1)), (), r"\[2, 1\]; expected \[1, 2\]"),
        (np.zeros(2), (), r"\[2\]"),
        (np.zeros((1, 1, 1, 2)), (), r"\[1, 1, 1, 2\]"),
        (np.zeros((0, 1, 2)), (), r"\[0, 1, 2\]"),
        (np.array([[np.nan, 1]]), (), "not a number"),
        (np.array([[np.inf, 1]]), (), "infinite"),
        (np.array([[-0.1, 1]]), (), "below 0"),
        (np.zeros((1, 2)), ((0, 2),), r"link \(0, 2\)"),
        (np.zeros((1, 2)), ((-1, 0),), r"link \(-1, 0\)"),
    ],
)
def test_what_cannot_be_shown_is_refused(weights: np.ndarray, links: tuple, says: str) -> None:
    with pytest.raises(RegardError, match=says):
        AttentionMap(weights, (Token("a"),), (Token("b"), Token("c")), links=links)


@pytest.mark.parametrize(
    ("heads", "given", "says"),
    [
        (2, {"head_names": ("one",)}, "one name for each of 2 heads"),
        (0, {"head_names": ("one",)}, "one name for each of 0 heads"),
        (0, {"row_selected": (True, True)}, "row_selected of length 2; expected True or False for each of 1 tokens"),
        (0, {"column_selected": (True,)}, "column_selected of length 1; expected True or False for each of 3 tokens"),
        *((0, {"breaks": wrong}, "rising numbers between 0 and 3") for wrong in ((0,), (3,), (-1,), (2, 1), (1, 1))),
    ],
)
def test_marks_belong_to_what_is_there(heads: int, given: dict, says: str) -> None:
    with pytest.raises(RegardError, match=says):
        map_of(("a",), ("b", "c", "d"), heads=heads, **given)


def test_words_are_not_tokens() -> None:
    # Not through the constructor, whose types are checked before it in tests (and only there).
    given = SimpleNamespace(weights=np.ones((1, 1)), rows=("a",), columns=(Token("b"),), links=())
    with pytest.raises(RegardError, match="not regions"):
        AttentionMap.__post_init__(given)


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", "null", "[" * 100_000, '{"weights": [[NaN]]}'),
        *(
            json.dumps({**json.loads(map_of(("a",), ("b",)).to_json()), **wrong})
            for wrong in (
                {"rows": [{"text": 1, "start": 0, "end": 1}]},
                {"rows": [{"kind": "circle", "text": "a"}]},
                {"rows": ["a"]},
                {"shape": [1, 7]},
                {"title": 5},
                {"head_names": "ab"},
                {"head_names": [1]},
                {"row_selected": [1]},
                {"column_selected": None},
                {"breaks": [True]},
                {"source": 7},
                {"panels": "sides"},
            )
        ),
    ],
)
def test_other_json_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(RegardError, match="cannot read an attention map"):
        AttentionMap.from_json(text)


def test_nan_in_json_is_refused() -> None:
    with pytest.raises(RegardError, match="not a number"):
        AttentionMap.from_json(map_of(("a",), ("b",)).to_json().replace("[[1.0]]", "[[NaN]]"))


@pytest.mark.parametrize("suffix", [".png", ".svg", ".html", ".json", ".txt", ".PNG"])
def test_save_by_suffix(tmp_path, suffix: str) -> None:
    path = tmp_path / f"look{suffix}"
    path.write_text("old")
    attention_map = map_of(("2", "0"), ("a", "b"), title="date")
    assert attention_map.save(path) == path
    content = path.read_bytes()
    start = {".png": b"\x89PNG", ".svg": b"<?xml", ".html": b"<!DOCTYPE html>", ".json": b"{", ".txt": b"date\n"}
    assert content.startswith(start[suffix.lower()])
    assert os.listdir(tmp_path) == [path.name]  # nothing is left beside it
    attention_map.save(str(path))
    assert path.read_bytes() == content  # the same attention map gives the same file


def test_an_unknown_suffix_names_the_known(tmp_path) -> None:
    with pytest.raises(RegardError, match=r"look\.bmp.*\.png, \.svg, \.gif, \.html, \.json, \.txt"):
        map_of(("a",), ("b",)).save(tmp_path / "look.bmp")
    assert not os.listdir(tmp_path)


def test_a_place_that_cannot_be_written_is_said_and_left_clean(tmp_path) -> None:
    attention_map = map_of(("a",), ("b",))
    (tmp_path / "taken.json").mkdir()
    for path in (tmp_path / "no" / "look.json", tmp_path / "taken.json", tmp_path / "nul\0.json"):
        with pytest.raises(RegardError, match="cannot write"):
            attention_map.save(path)
    assert os.listdir(tmp_path) == ["taken.json"]


def test_a_failure_while_writing_leaves_the_old_file(tmp_path, monkeypatch) -> None:
    path = tmp_path / "look.json"
    path.write_text("old")

    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full_disk)
    with pytest.raises(RegardError, match="No space left"):
        map_of(("a",), ("b",)).save(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["look.json"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        *(("März", "März"), ("", "∅"), (" ", "␣"), (" the ", "␣the␣"), ("New York", "New York"), ("\xa0", "␣")),
        *(("\n", "↵"), ("\t", "⇥"), ("\0", "␀"), ("\x1b[31m", "␛[31m"), ("\x7f", "␡"), ("\x9b", "⟨U+009B⟩")),
        *(("\u202e", "⟨U+202E⟩"), ("a\u2066b", "a⟨U+2066⟩b"), ("\u2028", "⟨U+2028⟩"), ("\ud800", "⟨U+D800⟩")),
        *(("👨‍👩‍👧", "👨‍👩‍👧"), ("\u200d", "⟨U+200D⟩"), ("می‌خواهم", "می‌خواهم"), ("a\u200d\u200db", "a\u200d⟨U+200D⟩b")),
        *(("\u0301", "◌\u0301"), ("e\u0301", "e\u0301"), ("\n \n", "↵␣↵"), ("a\nb", "a↵b")),
    ],
)
def test_visible(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text(st.characters(), max_size=20))
@settings(max_examples=tries(300), deadline=None)
def test_whatever_is_visible_obeys_nothing(text: str) -> None:
    shown = visible(text)
    assert shown
    for c in shown:
        assert c in "\u200c\u200d" or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
    assert shown == shown.strip()


def test_a_tower_of_marks_is_cut() -> None:
    assert visible("a" + "\u0301" * 99) == "a" + "\u0301" * 4 + "…"


def test_print_shows_the_heat_map() -> None:
    assert str(map_of(("2",), ("a",))).splitlines()[1].startswith("2 ██")


def test_one_that_is_known_to_be_sound_is_as_any_other() -> None:
    weights = np.full((2, 1, 2), 0.5, dtype=np.float32)
    given = (weights, (Token("x", 0, 1),), (Token("a", 0, 1), Token("b", 1, 2)), "title", ("one", "two"))
    known, made = AttentionMap.known(*given), AttentionMap(*given[:4], head_names=given[4])
    assert vars(known).keys() == vars(made).keys()
    for name, value in vars(made).items():
        assert np.array_equal(getattr(known, name), value)
    assert known.weights.dtype == made.weights.dtype
    assert not known.weights.flags.writeable
    weights[:] = 0
    assert known.weights.min() == 0.5


@pytest.mark.parametrize(
    ("weights", "top"),
    [
        ([[0.25] * 4], 0.5),  # an even row is half as dark as can be
        ([[0.7, 0.1, 0.1, 0.1]], 0.7),
        ([[0.25] * 4, [0.7, 0.1, 0.1, 0.1]], 0.7),
        ([[1.0]], 1.0),
        ([[0.5, 0.5]], 1.0),
        ([[3.0, 1.0, 1.0, 1.0]], 3.0),
        ([[0.0, 0.0]], 1.0),
    ],
)
def test_an_even_row_has_no_dark_cell(weights: list[list[float]], top: float) -> None:
    words = tuple(map(Token, "abcd"))
    assert AttentionMap(np.array(weights), words[: len(weights)], words[: len(weights[0])]).top == top


def test_axes_have_names(tmp_path: Path) -> None:
    named = map_of(("a",), ("b",), axes=("target", "source"))
    assert AttentionMap.from_json(named.to_json()).axes == ("target", "source")
    before = json.loads(named.to_json())
    del before["axes"]  # written by an earlier version
    assert AttentionMap.from_json(json.dumps(before)).axes == ("", "")
    for wrong in (["a"], ["a", 3], 3):
        with pytest.raises(RegardError, match="cannot read an attention map"):
            AttentionMap.from_json(json.dumps({**before, "axes": wrong}))


def test_a_link_may_end_in_any_column() -> None:
    assert AttentionMap(np.zeros((1, 2)), (Token("a"),), (Token("b"), Token("c")), links=((0, 1),)).links == ((0, 1),)
