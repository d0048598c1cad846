"""`regard.show`: weights from anywhere become an attention map; what cannot be shown is told in a line."""

from base64 import b64decode
from pathlib import Path

import numpy as np
import pytest
import torch

import regard
from regard.errors import RegardError
from regard.look.picture import to_picture
from regard.look.sound import spectrogram
from regard.regions import Box, Interval, Token

rows, columns = ["a", "b"], ["x", "y", "z"]


@pytest.mark.parametrize(
    "weights",
    [
        [[0.5, 0.25, 0.25], [0.0, 1.0, 0.0]],
        np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0]], dtype=np.float32),
        torch.tensor([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0]], requires_grad=True),
        torch.tensor([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0]], dtype=torch.bfloat16),
    ],
)
def test_arrays_tensors_and_lists(weights: object) -> None:
    shown = regard.show(weights, rows, columns, title="two by three")
    assert shown.weights.tolist() == [[0.5, 0.25, 0.25], [0.0, 1.0, 0.0]]
    assert [token.text for token in shown.columns] == columns
    assert "two by three" in str(shown)
    assert "<" in shown._repr_html_()


def test_heads_and_a_batch_of_one() -> None:
    """As Hugging Face gives them: [1, heads, query, key]."""
    weights = torch.softmax(torch.randn(1, 4, 2, 3), -1)
    shown = regard.show(weights, rows, columns, head_names=["one", "two", "three", "four"])
    assert shown.weights.shape == (4, 2, 3)
    assert shown.names == ("one", "two", "three", "four")


def test_places_in_a_text_are_kept() -> None:
    assert regard.show([[1.0]], [Token("a", 0, 1)], ["x"]).rows == (Token("a", 0, 1),)


@pytest.mark.parametrize(
    ("weights", "named", "said"),
    [
        (torch.rand(2, 4, 2, 3), rows, "weights of shape [2, 4, 2, 3]; expected [row, column] or [head, row, column]"),
        ([[0.1, 0.2], [0.3]], rows, "cannot read the weights"),
        ([[0.5, 0.5, 0.0]], rows, "weights of shape [1, 3]"),
        ([[0.5, 0.5, 0.0]], "a", "rows='a'; expected a list"),
        ([[0.5, 0.5, 0.0]], [1], "rows with 1; expected strings or regions"),
        ([[-0.5, 0.5, 1.0]], ["a"], "weights below 0"),
    ],
)
def test_what_cannot_be_shown(weights: object, named: object, said: str) -> None:
    with pytest.raises(RegardError) as caught:
        regard.show(weights, named, columns)  # type: ignore[arg-type]
    assert said in str(caught.value)


def test_boxes_with_their_picture() -> None:
    boxes = [Box(0.0, 0.0, 0.5, 1.0), Box(0.5, 0.0, 1.0, 1.0)]
    shown = regard.show([[0.25, 0.75]], ["cat"], boxes, source=np.array([[0, 255]], dtype=np.uint8))
    assert np.asarray(to_picture(shown.source))[..., 0].tolist() == [[0, 255]]
    assert regard.show([[0.25, 0.75]], ["cat"], boxes, source=shown.source) == shown
    with pytest.raises(RegardError, match="boxes, but no picture; give it as source"):
        regard.show([[0.25, 0.75]], ["cat"], boxes)


def test_other_regions_are_labels() -> None:
    assert "0.00–0.50 s" in str(regard.show([[1.0]], ["oh"], [Interval(0.0, 0.5)]))


def test_intervals_may_have_their_recording(tmp_path: Path) -> None:
    """As a path, a data URL, or samples and their rate."""
    seconds = [Interval(0.0, 0.5), Interval(0.5, 1.0)]
    samples = np.sin(np.arange(8_000)).astype(np.float32)
    shown = regard.show([[0.2, 0.8]], ["a"], seconds, source=(samples, 8_000))
    assert shown.source.startswith("data:audio/wav;base64,")
    (tmp_path / "a.wav").write_bytes(b64decode(shown.source.partition(",")[2]))
    for source in (str(tmp_path / "a.wav"), tmp_path / "a.wav", shown.source):
        again = regard.show([[0.2, 0.8]], ["a"], seconds, source=source)
        assert spectrogram(again.source).shape == spectrogram(shown.source).shape
    with pytest.raises(RegardError, match=r"^a recording of type int; expected a path, or a pair"):
        regard.show([[0.2, 0.8]], ["a"], seconds, source=3)
    with pytest.raises(RegardError, match=r"[Nn]o such file"):
        regard.show([[0.2, 0.8]], ["a"], seconds, source=str(tmp_path / "b.wav"))
