"""Pictures: the right cell in the right colour, text that stays text, and files that are well formed."""

import logging
import warnings
import xml.etree.ElementTree as ET
from dataclasses import replace
from io import BytesIO

import matplotlib
import numpy as np
import pytest
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.colors import to_hex
from matplotlib.text import Text
from PIL import Image
from test_attention_map import dot, hostile, in_picture, map_of

from regard.errors import RegardError
from regard.look import heatmap
from regard.look.attention_map import AttentionMap
from regard.regions import Box, Token

svg = "{http://www.w3.org/2000/svg}"


def tokens(text: str) -> tuple[Token, ...]:
    return tuple(map(Token, text))


def texts_of(picture: bytes) -> list[str]:
    return ["".join(element.itertext()).strip() for element in ET.fromstring(picture).iter(f"{svg}text")]


def test_rows_go_down_and_columns_to_the_right() -> None:
    """One weight of four: its quarter of the picture is dark, the others white."""
    attention_map = AttentionMap(np.array([[0.0, 1.0], [0.0, 0.0]]), tokens("ab"), tokens("cd"))
    figure = heatmap.draw(attention_map)
    image = np.asarray(Image.open(BytesIO(heatmap.render(attention_map, "png"))).convert("L"))
    place = figure.axes[0].get_position()
    high, wide = image.shape

    def at(row: float, column: float) -> int:
        x = place.x0 + (column + 0.3) / 2 * place.width
        y = 1 - place.y1 + (row + 0.3) / 2 * place.height
        return int(image[int(y * high), int(x * wide)])

    assert at(0, 1) < 60
    assert min(at(0, 0), at(1, 0), at(1, 1)) > 240


def test_labels_scale_and_links() -> None:
    attention_map = map_of(("a", "b"), ("long", "words", "here"), title="title", links=((1, 2), (0, 0)))
    figure = heatmap.draw(attention_map)
    axes, scale = figure.axes
    assert [t.get_text() for t in axes.get_xticklabels()] == ["long", "words", "here"]
    assert [t.get_text() for t in axes.get_yticklabels()] == ["a", "b"]
    assert [t.get_text() for t in scale.get_yticklabels()] == ["0", f"{attention_map.top:.2g}"]
    (frames,) = [c for c in axes.collections if isinstance(c, PatchCollection)]
    centres = [tuple(path.get_extents().get_points().mean(0).round(3).tolist()) for path in frames.get_paths()]
    assert centres == [(2.0, 1.0), (0.0, 0.0)]


def test_tokens_that_were_not_chosen_are_grey_and_in_brackets() -> None:
    attention_map = map_of(
        ("a", "b"), ("c", "d", "$x$"), row_selected=(True, False), column_selected=(False, True, False)
    )
    axes = heatmap.draw(attention_map).axes[0]
    assert [(t.get_text(), t.get_color()) for t in axes.get_yticklabels()] == [
        ("a", heatmap.ink),
        ("(b)", heatmap.grey),
    ]
    shown = [("(c)", heatmap.grey), ("d", heatmap.ink), ("($x$)", heatmap.grey)]
    assert [(t.get_text(), t.get_color()) for t in axes.get_xticklabels()] == shown
    note = next(t for t in axes.figure.findobj(Text) if t.get_text() == "(word) was not selected")
    extent = note.get_window_extent(axes.figure.canvas.get_renderer())
    assert 0 <= extent.y0 < extent.y1 <= axes.get_window_extent().y0  # below the cells
    assert "(word) was not selected" in texts_of(heatmap.render(attention_map, "svg"))
    assert "(word) was not selected" not in texts_of(
        heatmap.render(map_of(("a",), ("b",), row_selected=(True,)), "svg")
    )


def test_of_thinned_labels_the_right_ones_are_grey() -> None:
    names = tuple(f"w{i}" for i in range(300))
    attention_map = map_of(names, names, column_selected=tuple(i % 4 != 0 for i in range(300)))
    axes = heatmap.draw(attention_map).axes[0]
    for place, label in zip(axes.get_xticks(), axes.get_xticklabels(), strict=True):
        left_out = place % 4 == 0
        assert (label.get_text(), label.get_color()) == (
            (f"(w{place})", heatmap.grey) if left_out else (f"w{place}", heatmap.ink)
        )


def test_a_line_stands_where_another_input_begins() -> None:
    axes = heatmap.draw(map_of(("a",), ("b", "c", "d"), breaks=(2,))).axes[0]
    strong = [c for c in axes.collections if isinstance(c, LineCollection) and max(c.get_linewidths()) > 1]
    assert [c.get_segments()[0][0][0] for c in strong] == [1.5, 1.5]
    assert [to_hex(c.get_color()[0]) for c in strong] == ["#ffffff", heatmap.ink]  # white, and over it the line
    assert max(c.get_linewidths()[0] for c in strong) == 4 * strong[1].get_linewidths()[0]
    plain = heatmap.draw(map_of(("a",), ("b", "c", "d"))).axes[0]
    assert not any(c.get_segments() for c in plain.collections if isinstance(c, LineCollection) and c.get_lw()[0] > 1)


def test_every_label_lies_inside_the_figure() -> None:
    none, names = (False,) * len(hostile), ("forward" * 9, "\x1b")
    for attention_map in (
        map_of(hostile, hostile, title="t"),
        map_of(("a" * 30,), ("b" * 30,) * 3, heads=3, title="t " * 60),
        map_of(hostile, hostile, 2, head_names=names, row_selected=none, column_selected=none, breaks=(1, 5)),
        map_of(("a",), ("b",), column_selected=(False,)),
    ):
        figure = heatmap.draw(attention_map)
        box = figure.get_tightbbox(figure.canvas.get_renderer())
        width, height = figure.get_size_inches()
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= width
        assert box.y1 <= height


def test_hostile_tokens_make_a_png_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = heatmap.draw(map_of(hostile, hostile, title="$x^2$ \x1b[31m"))
        figure.canvas.draw()
    shown = [text for text in figure.findobj(Text) if text.get_text()]
    assert "$x^2$" in [text.get_text() for text in shown]
    assert not any(text.get_parse_math() or text.get_usetex() for text in shown)
    assert max(len(text.get_text()) for text in shown) <= 80


def test_dollars_are_no_formula_even_for_a_user_of_tex() -> None:
    with matplotlib.rc_context({"text.usetex": True}):
        assert heatmap.render(map_of(("$x^2$",), ("$\\frac{",)), "png").startswith(b"\x89PNG")
    assert texts_of(heatmap.render(map_of(("$x^2$",), ("$\\frac{",)), "svg"))[:2] == ["$\\frac{", "$x^2$"]


def test_svg_is_well_formed_and_inert_and_keeps_every_letter() -> None:
    picture = heatmap.render(map_of(hostile, hostile, title="</text><script>alert(1)</script>"), "svg")
    root = ET.fromstring(picture)
    assert not list(root.iter(f"{svg}script"))
    assert not [name for element in root.iter() for name in element.attrib if name.lower().startswith("on")]
    shown = texts_of(picture)
    for text in (
        "$x^2$",
        "[/b]",
        "</script>",
        "&amp;",
        "👨‍👩‍👧",
        "مرحبا",
        "日本",
        "e\u0301",
        "⟨U+202E⟩",
        "␛[31m",
        "␀",
        "∅",
    ):
        assert text in shown
    links = [value for element in root.iter() for name, value in element.attrib.items() if name.endswith("href")]
    assert all(link.startswith(("#", "data:image/png")) for link in links)  # nothing from outside


def test_letters_that_no_font_has_become_numbers_in_a_png(monkeypatch) -> None:
    monkeypatch.setattr(heatmap.font_manager.fontManager, "ttflist", [])
    attention_map = map_of(("\x1b", "日", "a"), ("b",))
    assert [t.get_text() for t in heatmap.draw(attention_map).axes[0].get_yticklabels()] == [
        "⟨U+001B⟩",
        "⟨U+65E5⟩",
        "a",
    ]
    assert "日" in texts_of(heatmap.render(attention_map, "svg"))


def test_fonts_are_added_for_what_the_first_lacks(monkeypatch) -> None:
    letters = {"DejaVu Sans": set(map(ord, "ab")), "Z Sans": {ord("日")}, "A Serif": {ord("日"), ord("本")}, "B": {1}}
    monkeypatch.setattr(heatmap, "_letters", lambda family: letters[family])
    fonts = [heatmap.font_manager.FontEntry(name=name, weight=400) for name in letters]
    fonts.append(heatmap.font_manager.FontEntry(name="Bold", weight=700))
    monkeypatch.setattr(heatmap.font_manager.fontManager, "ttflist", fonts)
    assert heatmap._fonts("ab") == (["DejaVu Sans", "sans-serif"], set())
    assert heatmap._fonts("a日") == (["DejaVu Sans", "Z Sans", "sans-serif"], set())
    assert heatmap._fonts("日本語") == (["DejaVu Sans", "Z Sans", "A Serif", "sans-serif"], {"語"})


def test_heads_are_small_multiples() -> None:
    figure = heatmap.draw(map_of(("a",), ("b", "c"), heads=6))
    assert len(figure.axes) == 7  # and the scale
    places = [axes.get_position() for axes in figure.axes[:6]]
    assert len({round(p.x0, 3) for p in places}) == 4
    assert len({round(p.y0, 3) for p in places}) == 2
    assert not any(p.overlaps(q) for i, p in enumerate(places) for q in places[:i])
    assert [axes.get_title("left") for axes in figure.axes[:2]] == ["head 1", "head 2"]
    named = heatmap.draw(map_of(("a",), ("b", "c"), heads=2, head_names=("forward", "$b$"))).axes
    assert [axes.get_title("left") for axes in named[:2]] == ["forward", "$b$"]
    assert heatmap.draw(map_of(("a",), ("b",), heads=1, head_names=("all",))).axes[0].get_title("left") == "all"


@pytest.mark.sweep
def test_a_large_matrix_thins_its_labels_and_stays_a_picture() -> None:
    names = tuple(f"w{i}" for i in range(500))
    attention_map = map_of(names, names)
    figure = heatmap.draw(attention_map)
    assert 50 < len(figure.axes[0].get_xticks()) <= 125
    assert max(figure.get_size_inches()) < 14
    assert len(heatmap.render(attention_map, "svg")) < 3_000_000


@pytest.mark.parametrize(("rows", "columns"), [("", ""), ("ab", ""), ("", "ab"), ("a", "b")])
def test_nothing_to_see(rows: str, columns: str) -> None:
    attention_map = AttentionMap(np.zeros((len(rows), len(columns))), tokens(rows), tokens(columns))
    for kind in ("png", "svg"):
        assert heatmap.render(attention_map, kind)


def test_matplotlib_is_left_as_it_was(tmp_path) -> None:
    before, log = dict(matplotlib.rcParams), logging.getLogger("matplotlib.font_manager")
    heatmap.save(map_of(("a",), ("b",)), tmp_path / "look.svg")
    assert dict(matplotlib.rcParams) == before
    assert not log.filters
    with pytest.raises(RegardError, match="png or svg"):
        heatmap.save(map_of(("a",), ("b",)), tmp_path / "look.pdf")


def test_matplotlib_says_nothing_of_the_weights_of_fonts(caplog: pytest.LogCaptureFixture) -> None:
    log = logging.getLogger("matplotlib.font_manager")
    with heatmap.contained():
        log.warning("findfont: Failed to find font weight %s, now using %s.", "black", "bold")
        log.warning("findfont: Font family %s not found.", "Other")
    assert [record.args for record in caplog.records] == [("Other",)]


def test_weights_over_a_picture_by_hand() -> None:
    """Each box where it is, as opaque as its share of the largest weight; one panel a row."""
    attention_map = in_picture(("cat", "dog"), title="two", links=((1, 3),))
    figure = heatmap.draw(replace(attention_map, weights=attention_map.weights / 2))
    *panels, scale = figure.axes
    assert [axes.get_title("left") for axes in panels] == ["cat", "dog"]
    assert [label.get_text() for label in scale.get_yticklabels()] == ["0", "0.5"]
    boxes, links = panels[1].collections
    corners = [path.get_extents().get_points().tolist() for path in boxes.get_paths()]
    assert corners[1] == [[0.5, 0.0], [1.0, 0.5]]
    assert np.allclose(boxes.get_facecolor()[:, 3], [0, 0.2, 0.4, 0.8], atol=0.01)
    assert links.get_paths()[0].get_extents().get_points().tolist() == [[0.5, 0.5], [1.0, 1.0]]
    assert not panels[0].collections[1].get_paths()
    (picture,) = panels[0].images
    assert picture.get_array()[..., 0].tolist() == [[0, 255], [255, 0]]


def test_the_title_of_a_picture_lies_inside_the_figure() -> None:
    (title,) = heatmap.draw(in_picture(("cat", "dog"), title="two")).texts
    x, y = title.get_position()
    assert title.get_va() == "top"
    assert 0 < x < 0.2
    assert 0.9 < y < 1


def test_a_picture_of_very_many_rows_shows_the_first() -> None:
    many = tuple(str(number) for number in range(70))
    assert len(heatmap.draw(in_picture(("cat",) * 9, heads=8)).axes) == 9 + 1  # of too many heads the mean
    figure = heatmap.draw(in_picture(many, title="t"))
    assert len(figure.axes) == 64 + 1
    assert figure.texts[0].get_text() == "t (64 of 70 rows)"


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_a_picture_with_hostile_names(kind: str) -> None:
    assert heatmap.render(in_picture(hostile[:8], title="$x^2$ \x1b"), kind)


@pytest.mark.parametrize("heads", [0, 5])
def test_axes_and_answers_are_named(heads: int) -> None:
    attention_map = map_of(("yes",), ("a", "long word"), heads, title="a long", axes=("label", "input"))
    figure = heatmap.draw(attention_map, caption="a long\n→ yes $x$")
    named = [(axes.get_xlabel(), axes.get_ylabel()) for axes in figure.axes[:-1]]
    across = [("input", "label"), *[("input", "")] * 3, ("", "label")]
    assert named == across[: max(heads, 1)]
    assert figure.texts[0].get_text() == "a long\n→ yes $x$"  # the title once
    assert heatmap.draw(attention_map, caption="other").texts[0].get_text() == "other\na long"
    box = figure.get_tightbbox(figure.canvas.get_renderer())
    assert min(box.x0, box.y0) >= 0
    assert {"label", "input", "weight"} <= set(texts_of(heatmap.render(attention_map, "svg")))
    inside = [axes.get_tightbbox(figure.canvas.get_renderer()) for axes in figure.axes]
    assert not any(one.overlaps(other) for i, one in enumerate(inside) for other in inside[:i])


def test_a_picture_says_what_was_answered() -> None:
    figure = heatmap.draw(in_picture(title="cat.png"), caption="cat.png\n→ cat")
    assert figure.texts[0].get_text() == "cat.png\n→ cat"


def test_weights_over_a_picture_are_smooth_where_they_are_asked_to_be() -> None:
    panel = heatmap.draw(in_picture(links=((0, 3),)), smooth=True).axes[0]
    picture, weights = panel.images
    assert weights.get_interpolation() == "bicubic"
    assert weights.get_array().tolist() == [[0.0, 0.25], [0.5, 1.0]]
    assert list(weights.get_extent()) == [0, 1, 1, 0] == list(picture.get_extent())
    (links,) = panel.collections
    assert links.get_paths()[0].get_extents().get_points().tolist() == [[0.5, 0.5], [1.0, 1.0]]
    # A path of glimpses is no grid: its boxes stay as they are.
    boxes = (Box(0.0, 0.0, 0.5, 0.5), Box(0.2, 0.3, 0.7, 0.8))
    path = AttentionMap(np.eye(2), (Token("a"), Token("b")), boxes, source=dot)
    assert len(heatmap.draw(path, smooth=True).axes[0].images) == 1
