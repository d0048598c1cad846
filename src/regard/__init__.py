"""regard: sequence models built on attention, and a way to see where they looked.

    import regard
    regard.train("translate")
    regard.load("runs/translate")("Dienstag, 5. März 2024").text

Names are fetched when first used, so that importing regard costs nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.api import Model, load, train
    from regard.attend.attention import Attention
    from regard.errors import RegardError
    from regard.kernels.additive import additive_attention
    from regard.kernels.feature import feature_attention
    from regard.look.attention_map import AttentionMap
    from regard.look.show import show
    from regard.types import Look, Memory, Prediction

__version__ = "0.1.0"

_PLACES = {
    "Attention": "attend.attention",
    "AttentionMap": "look.attention_map",
    "Look": "types",
    "Memory": "types",
    "Model": "api",
    "Prediction": "types",
    "RegardError": "errors",
    "additive_attention": "kernels.additive",
    "feature_attention": "kernels.feature",
    "load": "api",
    "show": "look.show",
}
__all__ = [
    "Attention",
    "AttentionMap",
    "Look",
    "Memory",
    "Model",
    "Prediction",
    "RegardError",
    "additive_attention",
    "feature_attention",
    "load",
    "show",
    "train",
]


def __getattr__(name: str) -> Any:
    if name == "train":  # a room that can be called
        return importlib.import_module("regard.train")
    if name in _PLACES:
        return getattr(importlib.import_module(f"regard.{_PLACES[name]}"), name)
    raise AttributeError(f"module 'regard' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
