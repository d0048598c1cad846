"""Checks what is in a `tokenizer.json` before tokenizers reads it.

tokenizers takes the file at its word: a number of 10⁹ in a vocabulary costs it gigabytes, padding to 10⁹ tokens as
much at the first text, and a pattern may take for ever or replace a space by a book. So numbers are checked in every
tokenizer (`sound`), and one from a stranger must split and join texts just as one of regard's own kinds does (`own`),
or, where it is a pre-trained encoder's, have only well-known parts that hold no pattern (`foreign`).

    sound(table)            # RegardError says what it cannot be
    own("runs/downloaded", table)
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from regard.errors import RegardError, brief

__all__ = ["foreign", "own", "sound"]

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


MOST_IDS = 2**22
# Parts of a tokenizer that hold no pattern and cost little, whatever their options.
KNOWN = {
    *("BertNormalizer", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "StripAccents", "Strip", "Nmt", "Precompiled"),
    *("BertPreTokenizer", "ByteLevel", "Metaspace", "Whitespace", "WhitespaceSplit", "Punctuation", "Digits"),
    *("TemplateProcessing", "BertProcessing", "RobertaProcessing", "WordPiece", "BPEDecoder", "Fuse", "Sequence"),
}
SPACES = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}  # XLM-R's: the one pattern that is let in
MODELS = {"WordPiece", "BPE", "Unigram", "WordLevel"}
CHARSMAP = 2**20


def foreign(table: Any) -> dict[str, Any]:
    """The tokenizer of somebody's pre-trained model, without its truncation and padding, which are ours to decide.

    Raises where its numbers are out of all proportion, or where it holds a pattern, which may take for ever.
    """
    model = table.get("model") if isinstance(table, Mapping) else None
    words = model.get("vocab") if isinstance(model, Mapping) else None
    if isinstance(words, Mapping):
        ids = list(words.values())
    elif isinstance(words, list):  # of a Unigram model, where the place is the number
        ids = list(range(len(words)))
    else:
        raise RegardError("a tokenizer without a vocabulary", expected="a tokenizer.json")
    added = table.get("added_tokens") or []
    if not isinstance(added, list) or not all(isinstance(one, Mapping) for one in added):
        raise RegardError("added_tokens that are not a list of tokens", expected="a tokenizer.json")
    given = [*ids, *(one.get("id") for one in added)]
    if wrong := next((one for one in given if type(one) is not int or not 0 <= one < MOST_IDS), None):
        raise RegardError(f"a token id of {brief(wrong)}", expected=f"from 0 to {MOST_IDS - 1:,}")
    if len(set(ids)) < len(ids):
        raise RegardError("a vocabulary with duplicate ids", expected="one id for each token")
    for key in SPLITTING:
        _known(table.get(key), key)
    kind = model.get("type", "BPE") if isinstance(model, Mapping) else ""
    if kind not in MODELS:
        raise RegardError(f"a tokenizer of the kind {brief(kind)}", expected=f"one of {', '.join(sorted(MODELS))}")
    return {**table, "truncation": None, "padding": None}


def _known(part: Any, key: str, depth: int = 0) -> None:
    """Raises where a part, or one inside it, is of a kind that is not let in."""
    if part is None or part == SPACES:
        return
    kind = part.get("type") if isinstance(part, Mapping) else part
    if not isinstance(kind, str) or kind not in KNOWN or depth > 4:
        expected = "the parts of BERT's, RoBERTa's or XLM-R's tokenizer, which hold no patterns"
        raise RegardError(f"its {key.replace('_', ' ')} is {brief(kind)}", expected=expected)
    if len(str(part.get("precompiled_charsmap") or "")) > CHARSMAP:
        raise RegardError(f"a table of characters over {CHARSMAP:,} bytes", expected="a smaller one")
    for inside in ("normalizers", "pretokenizers", "processors", "decoders"):
        for one in part.get(inside) or ():
            _known(one, key, depth + 1)


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
