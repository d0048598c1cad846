"""Attention maps of many hypotheses: the same as of each alone, and as strict."""

import pytest
import torch
from PIL import Image

from regard.errors import RegardError
from regard.fields.image import to_data_url
from regard.regions import Box, Token
from regard.search import Hypothesis
from regard.tasks._maps import AttentionMaps, attention_map


@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 5)])
@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.float64])
def test_many_maps_are_as_each_alone(shape: tuple[int, ...], kind: torch.dtype) -> None:
    said, seen = tuple(Token(c, i, i + 1) for i, c in enumerate("xyz")), tuple(Token(c) for c in "abcd")  # 1 is padding
    head_names = ("layer 1 head 1", "layer 2 head 1")
    found = [Hypothesis((1, 2, 3), 0.0, 0.0, torch.rand(shape).to(kind)) for _ in range(3)]
    many = AttentionMaps(found, head_names)
    for one in found:
        made, alone = many(one, said, seen, "t"), attention_map(one, said, seen, "t", "", head_names)
        assert made is not None
        assert alone is not None
        assert made == alone
        assert vars(made).keys() == vars(alone).keys()
        assert made.weights.dtype == alone.weights.dtype
        assert not made.weights.flags.writeable
        assert made.weights.base is None  # its own: keeping it keeps nothing else
        assert (repr(made), hash(made), made.to_json()) == (repr(alone), hash(alone), alone.to_json())
    assert AttentionMaps([], ())(Hypothesis((1,), 0.0, 0.0), said, seen, "t") is None
    assert many(Hypothesis((1,), 0.0, 0.0, torch.zeros(3, 0)), said, seen, "t") is None


def test_many_maps_find_what_is_wrong() -> None:
    said, seen = tuple(Token(c) for c in "xyz"), tuple(Token(c) for c in "abcd")
    good = Hypothesis((1, 2, 3), 0.0, 0.0, torch.rand(3, 4))
    for wrong in (float("nan"), float("inf"), -0.5):
        bad = Hypothesis((1, 2, 3), 0.0, 0.0, torch.rand(3, 4).index_fill(1, torch.tensor([2]), wrong))
        many = AttentionMaps([good, bad], ())
        assert many(good, said, seen, "t") == attention_map(good, said, seen, "t", "", ())
        with pytest.raises(RegardError, match="not a number"):
            many(bad, said, seen, "t")
    with pytest.raises(RegardError, match="weights of shape"):
        AttentionMaps([good], ())(good, said[:2], seen, "t")
    heads = Hypothesis((1, 2, 3), 0.0, 0.0, torch.rand(2, 3, 4))
    with pytest.raises(RegardError, match="one name for each of 2 heads"):
        AttentionMaps([heads], ("one",))(heads, said, seen, "t")


def test_a_source_that_is_no_text_goes_along() -> None:
    """A picture to draw over is part of the map."""
    said, seen = (Token("x"),), (Box(0.0, 0.0, 0.5, 1.0), Box(0.5, 0.0, 1.0, 1.0))
    found = Hypothesis((1,), 0.0, 0.0, torch.tensor([[0.25, 0.75]]))
    source = to_data_url(Image.new("RGB", (2, 2)))
    shown = AttentionMaps([found], ())(found, said, seen, "t", source=source)
    assert shown == attention_map(found, said, seen, "t", source, ())
    assert shown is not None
    assert (shown.source, shown.weights.tolist()) == (source, [[0.25, 0.75]])
