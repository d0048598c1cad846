"""Attention shown to people: in the terminal, as a picture, as a page, as JSON.

`regard.look.of(model, tokenizer, text)` shows what any Hugging Face model attends to (see `regard.look.models`).
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.look.models import ModelLook

__all__ = ["of"]


def of(
    model: Any, tokenizer: Any, text: str, pair: str = "", target: str = "", words: bool = False, title: str = ""
) -> "ModelLook":
    """What a Hugging Face model attends to in a text: every layer and head, their mean and rollout, on one page.

        regard.look.of(model, tokenizer, "The cat sat on the mat.").save("look.html")

    `pair` is a second text, read with the first. An encoder–decoder reads `target`, or writes one first. With `words`
    subwords are joined to words.
    """
    from regard.look.models import of as looked

    return looked(model, tokenizer, text, pair, target, words, title)
