from types import SimpleNamespace

import pytest
import torch

from regard.look.attention_map import AttentionMap
from regard.measure import Results
from regard.measure.alignment import Alignment
from regard.regions import Token
from regard.types import Example, Link, Prediction

# "the cat" → "kat de": kat (0–3) comes from cat (4–7), de (4–6) from the (0–3).
links = (Link(0, 3, 4, 7), Link(4, 6, 0, 3))
columns = (Token("the", 0, 3), Token("c", 4, 5), Token("at", 5, 7), Token("<end>"))
rows = (Token("kat", 0, 3), Token("de", 4, 6), Token("<end>"))
weights = torch.tensor([[0.1, 0.2, 0.6, 0.1], [0.3, 0.4, 0.2, 0.1], [0.0, 0.0, 0.0, 1.0]])


def measured(weights=weights, text="kat de", links=links, rows=rows):
    look = SimpleNamespace(weights=weights, rows=rows, columns=columns)
    return Alignment()(Results([Example(("the cat",), "kat de", links=links)], [Prediction(text, 0.0, look)]))


def test_by_hand():
    """kat looks most at "at" (right), with 0.2 + 0.6 inside; de looks most at "c" (wrong), with 0.3 inside.

    The end has no known source and does not count.
    """
    assert measured() == {"alignment": 0.5, "alignment_mass": pytest.approx((0.8 + 0.3) / 2)}


def test_an_attention_map_will_do():
    """What predictions really carry: its weights are read-only."""
    assert measured(AttentionMap(weights.numpy(), rows, columns).weights) == measured()


def test_heads_are_averaged():
    shifted = torch.tensor([0.0, -0.2, -0.1, 0.3]) + weights
    assert measured(torch.stack([weights, shifted]))["alignment_mass"] == pytest.approx(
        ((0.8 + 0.5) / 2 + (0.3 + 0.3) / 2) / 2
    )
    # Averaged, "de" looks most at "the" (0.3) and no longer at "c" (0.4 and 0.2: 0.3 − a little).
    lower = torch.tensor([0.0, -0.21, 0.0, 0.21]) + weights
    assert measured(torch.stack([weights, lower]))["alignment"] == 1.0


def test_a_token_across_two_links_may_look_at_either():
    whole = (Token("kat de", 0, 6),)
    assert measured(weights[1:2], rows=whole) == {"alignment": 1.0, "alignment_mass": pytest.approx(0.9)}


def test_neighbours_that_only_touch_do_not_overlap():
    touching = (Link(0, 3, 3, 4),)  # the space between "the" and "cat": no token has it
    assert measured(links=touching) == {"alignment": 0.0, "alignment_mass": 0.0}
    assert measured(links=(Link(3, 4, 0, 3),)) == {}


def test_what_cannot_be_used_is_left_out():
    assert measured(text="kat den") == {}
    assert measured(links=()) == {}
    assert measured(links=(Link(0, 3, 2, 2),)) == {}, "an empty source is not a known one"
    example, blind = Example(("the cat",), "kat de", links=links), Prediction("kat de", 0.0)
    assert Alignment()(Results([example], [blind])) == {}
    seen = Prediction("kat de", 0.0, SimpleNamespace(weights=weights, rows=rows, columns=columns))
    assert Alignment()(Results([example, example], [blind, seen])) == measured()
