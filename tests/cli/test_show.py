"""What verbs print: aligned, escaped, and JSON that is JSON."""

import json
import math

import numpy as np
import pytest

from regard.cli.show import answered, figure, figures, labels, likely, looked, plain, setting, table, to_json
from regard.errors import counted
from regard.look.attention_map import AttentionMap
from regard.regions import Token
from regard.types import Prediction


def test_plain_is_one_line_that_no_screen_obeys() -> None:
    assert plain("[b]März\n\x1b[1m\u202e") == "[b]März\\n\\x1b[1m\\u202e"


def test_table() -> None:
    assert table([("a", "1"), ("bbb", "22")]) == "  a    1\n  bbb  22"
    assert figures({"exact_match": 0.5, "sig": "x|y"}) == "  exact_match  0.5\n  sig          x|y"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.97123, "0.9712"),
        (98.1, "98.1"),
        (12345.6, "12,346"),
        (7, "7"),
        (4000, "4,000"),
        (math.inf, "inf"),
        ("a\tb", "a\\tb"),
    ],
)
def test_figure(value: float | int | str, shown: str) -> None:
    assert figure(value) == shown


def test_count() -> None:
    assert [counted(n, "example") for n in (0, 1, 2000)] == ["0 examples", "1 example", "2,000 examples"]


def test_setting_is_what_one_would_write() -> None:
    assert [setting(v) for v in (None, True, "gru", ("a", 1), 2e-3)] == ["none", "true", "gru", '["a", 1]', "0.002"]


def test_json_has_no_word_for_infinity() -> None:
    assert json.loads(to_json({"a": math.inf, "b": (1.5, math.nan), "c": "ü"})) == {
        "a": None,
        "b": [1.5, None],
        "c": "ü",
    }


def test_likely() -> None:
    """p = 1/2 and 1/4; many tokens go on in further lines."""
    tokens = ((Token("y\x1b"), math.log(0.5)), (Token("</s>"), math.log(0.25)))
    assert likely(Prediction("y", math.log(0.125), tokens=tokens, log_prob_per_token=math.log(0.125) / 2)) == [
        "log_prob = -2.079, log_prob_per_token = -1.04; probability of each token:\n  y␛ 0.50  </s> 0.25"
    ]
    assert likely(Prediction("y", -1.0)) == []
    [many] = likely(Prediction("y", -1.0, tokens=tokens[1:] * 20))
    assert [line.count("</s>") for line in many.split("\n")] == [0, 7, 7, 6]
    assert all(len(line) < 80 for line in many.split("\n"))
    assert " 0.00" in likely(Prediction("y", -math.inf, tokens=((Token("y"), -math.inf),)))[0]


def test_looked() -> None:
    attention_map = AttentionMap(np.array([[1.0, 0.0]]), (Token("y"),), (Token("a"), Token("b")), title="ab")
    shown = looked(Prediction("y", -1.0, attention_map, "ab"), ["ab"], true="z")
    first, empty, header, row, *_ = shown.split("\n")
    assert (first, empty, header.split(), row.split()) == ("ab → y (true: z)", "", ["a", "b"], ["y", "██·"])
    assert looked(Prediction("y", -1.0, None, "ab"), ["ab"], true="y") == "ab → y"


def test_only_a_title_that_repeats_the_inputs_is_left_out() -> None:
    attention_map = AttentionMap(np.array([[1.0]]), (Token("y"),), (Token("a"),), title="a | b")
    assert "a | b\n" not in looked(Prediction("y", -1.0, attention_map), ["a", "b"])
    assert "\n\na | b\n" in looked(Prediction("y", -1.0, attention_map), ["a", "c"])


def test_a_label_has_its_probability() -> None:
    said = Prediction("no", math.log(0.75), others=(Prediction("yes\n", math.log(0.25)),))
    assert answered(said, ["a", "b\t"], searched=False) == "a | b\\t → no (p = 0.75)"
    assert answered(said, ["a"], searched=False, true="yes") == "a → no (p = 0.75, true: yes)"
    assert answered(said, ["a"], searched=False, true="no") == "a → no (p = 0.75)"
    assert answered(said, ["a"], searched=True) == "a → no"  # others of a search are no labels
    assert labels(said, searched=False) == [("no", pytest.approx(0.75)), ("yes\n", pytest.approx(0.25))]
    assert labels(Prediction("3.5", -0.5), searched=False) == []


def test_a_mean_is_none_of_its_labels() -> None:
    steps = tuple(Prediction(text, math.log(p)) for text, p in (("3", 0.5), ("4", 0.3), ("5", 0.2)))
    mean = Prediction("3.7000", None, others=steps)
    assert labels(mean, searched=False) == [
        ("3", pytest.approx(0.5)),
        ("4", pytest.approx(0.3)),
        ("5", pytest.approx(0.2)),
    ]
    assert answered(mean, ["a", "b"], searched=False, true="4") == "a | b → 3.7000 (true: 4)"
    # Of a thousand labels that are all alike, the answer is still one.
    alike = [Prediction(str(n), -math.log(1000)) for n in range(1000)]
    assert len(labels(Prediction("0", alike[0].log_prob, others=tuple(alike[1:])), searched=False)) == 1000


def test_an_item_is_shown_with_its_title_and_known_by_its_id() -> None:
    found = Prediction("50", None, title="Star Wars (1977)")
    assert answered(found, ["1 2"], true="50") == "1 2 → 50 Star Wars (1977)"
    assert answered(found, ["1 2"], true="51").endswith("(true: 51)")
