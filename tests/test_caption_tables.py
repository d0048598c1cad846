"""Tables of captions and glimpses: what was measured as rows, and what was not said so."""

import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))

import caption_tables as tables


def test_what_is_not_measured_is_said() -> None:
    assert {make({}) for make in tables.tables.values()} == {"*Not measured yet.*"}


def test_models_are_rows() -> None:
    each = [{"bleu1": 66.0, "bleu4": 19.0, "pointing": 0.5}, {"bleu1": 67.0, "pointing": 0.6}, {"failed": "it did"}]
    results: Any = {"figures": {"cores": 2, "soft": {"each": each, "seconds": 480.2}}}
    [_, _, row] = tables.captions({"caption_flickr8k": results}).splitlines()
    assert row == "| soft attention | 66.5 (66.0–67.0) | 19.0 | – | – | – | – | 67.0 / 19.5 / 18.9 | 480 s |"
    assert "| 55.0% (50.0%–60.0%) |" in tables.scenes({"caption_scenes": results})


def test_speed_and_glimpses() -> None:
    figures = {"images_per_second": {"plain": 1_234.4, "regard": 5_000.0}, "times": 4.05}
    assert tables.speed({"caption_speed": {"figures": figures}}).endswith("| 1,234 | 5,000 | 4.05× |")
    seen = {"6": {"error": [1.2, 1.4], "published": 1.29}, "8": {"error": [], "published": None}}
    [_, _, row] = tables.glimpses("mnist", {"glimpse_mnist": {"figures": seen}}).splitlines()
    assert row == "| 6 | **1.30 %** | 1.20, 1.40 | 1.29 % |"
