"""What a saved page of one model takes: ours beside BertViz's, for the same weights.

    pip install --no-deps --target bertviz bertviz && pip install ipython
    PYTHONPATH=src:bertviz python benchmarks/beside_bertviz.py

Both get 12 layers × 12 heads × 128 tokens of random weights. For each view it records the bytes of the HTML and the
addresses that the page fetches scripts from when it is opened.
"""

import re
import tempfile
from pathlib import Path
from typing import Any

import torch
from bertviz import head_view, model_view
from record import record

from regard.look.models import AttentionPart, ModelLook
from regard.regions import Token

LAYERS, HEADS, TOKENS = 12, 12, 128


def measured(html: str) -> dict[str, Any]:
    """Scripts come by `src=` or from the paths of require.js."""
    fetched = re.findall(r"""(?:src=|d3: |jquery: |"d3": |"jquery": )\s*["']((?:https?:)?//[^"']+)""", html)
    return {"megabytes": round(len(html.encode()) / 1e6, 2), "fetches": sorted(set(fetched))}


def main() -> None:
    weights = torch.randn(LAYERS, HEADS, TOKENS, TOKENS, generator=torch.Generator().manual_seed(0)).mul(2).softmax(-1)
    words = [f"word{number}" for number in range(TOKENS)]
    attention = [layer.unsqueeze(0) for layer in weights]
    figures: dict[str, Any] = {"layers": LAYERS, "heads": HEADS, "tokens": TOKENS}
    for name, view in (("model_view", model_view), ("head_view", head_view)):
        figures[name] = measured(view(attention=attention, tokens=words, html_action="return").data)
    tokens = tuple(map(Token, words))
    numbers = tuple(range(1, LAYERS + 1))
    part = AttentionPart("encoder", weights.numpy(), tokens, tokens, ("token", "token"), (False,) * TOKENS, numbers)
    with tempfile.TemporaryDirectory() as folder:
        path = ModelLook("random weights", (part,)).save(Path(folder) / "look.html")
        figures["regard"] = measured(path.read_text(encoding="utf-8"))
    print(figures)
    print(f"kept in {record('bertviz', figures).name}")


if __name__ == "__main__":
    main()
