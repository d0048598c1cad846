"""What a `tokenizer.json` may hold, looked at before tokenizers reads it.

tokenizers takes the file at its word: a number of 10⁹ in a vocabulary costs it gigabytes, padding to 10⁹ tokens as
much at the first text, and a pattern may take for ever or replace a space by a book. So numbers are checked in every
tokenizer (`sound`), and one from a stranger must split and join texts just as one of regard's own kinds does (`own`).

    sound(table)            # RegardError says what it cannot be
    own("runs/downloaded", table)
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from regard.errors import RegardError

__all__ = ["own", "sound"]

SPLITTING = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
ABSENT = ("truncation", "padding", "added_tokens")


def sound(table: Any) -> None:
    """Raise where numbers of a vocabulary are not 0, 1, 2, …, or where texts would be filled up or cut off."""
    model = table.get("model") if isinstance(table, Mapping) else None
    words = model.get("vocab") if isinstance(model, Mapping) else None
    if not isinstance(words, Mapping):
        raise RegardError("a tokenizer without a vocabulary", expected="one that regard trained")
    for number, held in enumerate(sorted(n if isinstance(n, int) else -1 for n in words.values())):
        if held != number:
            raise RegardError("a vocabulary with missing or duplicate ids", expected=f"ids 0 to {len(words) - 1}")
    if there := next((key for key in ABSENT if table.get(key)), None):
        raise RegardError(f"a tokenizer with {there}", expected="one that regard trained")


def own(whose: object, table: Mapping[str, Any]) -> None:
    """Raise where texts would be split or joined in another way than by one of regard's own kinds."""
    if [table.get(key) for key in SPLITTING] not in _forms():
        raise RegardError(
            f"{whose} has a tokenizer that regard did not make",
            expected="one of regard's tokenizers",
            do="add --trust (trust=True in Python) if you trust it",
        )


@cache
def _forms() -> list[list[Any]]:
    """How each kind of text splits and joins, with all its options."""
    from regard.text.bpe import Bpe
    from regard.text.character import Character
    from regard.text.word import Word

    kinds = [
        kind
        for lower in (False, True)
        for kind in (Character(lower), Word(lower=lower), Word(lower=lower, split="punctuation"), Bpe(lower=lower))
    ]
    tables = [kind.train(["a a"]).to_dict() for kind in kinds]
    return [[table.get(key) for key in SPLITTING] for table in tables]
