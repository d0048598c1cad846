"""Pretrained: the tokenizer of a pre-trained model, from its `tokenizer.json`, with its own special tokens.

Any `tokenizer.json` of Hugging Face Tokenizers without patterns of its own: WordPiece (BERT), byte-level BPE (RoBERTa),
SentencePiece (XLM-R). Nothing is learned from the texts. Its truncation and padding are left out: `max_length` and
`truncate` of the field say how long a text may be.

The model's template says which special tokens stand before, between and after one or two texts (`[CLS] a man [SEP]`),
and which segment each token belongs to. It is read off the tokenizer once, and rows are then framed, joined and taken
apart as plain lists. In a user's text the special tokens are characters like all others.

    text = Pretrained(from_="all-MiniLM-L6-v2").train([])
    text.join(text.encode("a man"), text.encode("a dog"))           # ids, segments
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tokenizers import Encoding
from tokenizers import Tokenizer as BackendTokenizer

from regard.errors import RegardError
from regard.pretrained.architecture import Architecture
from regard.pretrained.source import CONFIG, TOKENIZER, located, read_json
from regard.regions import Token
from regard.text import Tokenizer, clean
from regard.text._forms import foreign

__all__ = ["Framed", "Pretrained", "Template"]


class Pretrained:
    """The tokenizer of a pre-trained model, unchanged."""

    def __init__(
        self,
        from_: Annotated[str, "folder of the pre-trained model, or a tokenizer.json, or hf:NAME on the hub"] = "",
    ) -> None:
        self.name = from_

    def train(self, texts: Iterable[str]) -> Tokenizer:
        path = Path(os.path.expanduser(self.name))
        if self.name.endswith(".json"):
            return self._read(path, None)
        folder = located(self.name)
        config = folder / "config.json"
        if not (folder / "tokenizer.json").is_file():
            raise RegardError(
                f"{folder} has no tokenizer.json",
                do='write one: python -c "from transformers import AutoTokenizer; '
                "AutoTokenizer.from_pretrained('IN').save_pretrained('OUT')\"",
            )
        of = Architecture.of(read_json(config, CONFIG), config) if os.path.lexists(config) else None
        return self._read(folder / "tokenizer.json", of)

    def _read(self, path: Path, of: Architecture | None) -> Tokenizer:
        table = read_json(path, TOKENIZER)
        try:
            return Framed(table, of)
        except RegardError as error:
            raise RegardError(f"{path}: {error}") from None


@dataclass(frozen=True)
class Template:
    """Special tokens before, between and after texts, and the segments of each part in their order."""

    before: tuple[int, ...]
    between: tuple[int, ...]
    after: tuple[int, ...]
    segments: tuple[int, ...]

    @staticmethod
    def of(encoding: Encoding, texts: int) -> "Template":
        """From the encoding of one text or two, of at least a token each."""
        whose = encoding.sequence_ids
        first = whose.index(0)
        if texts == 1:
            last = len(whose) - whose[::-1].index(0)
            parts, middle = (slice(0, first), slice(first, last), slice(last, None)), slice(0, 0)
        else:
            end, second = len(whose) - whose[::-1].index(0), whose.index(1)
            last = len(whose) - whose[::-1].index(1)
            parts, middle = (slice(0, first), slice(first, end), slice(last, None)), slice(end, second)
        ids, kinds = encoding.ids, encoding.type_ids
        segment = [kinds[first], kinds[whose.index(1)] if texts == 2 else kinds[first]]
        groups = (kinds[parts[0]][:1] or segment[:1], segment[:1], kinds[middle][:1] or segment[:1], segment[1:])
        around = (*(one[0] for one in groups), (kinds[parts[2]][:1] or segment[1:])[0])
        return Template(tuple(ids[parts[0]]), tuple(ids[middle]), tuple(ids[parts[2]]), around)


class Framed(Tokenizer):
    """A tokenizer of a pre-trained model; `architecture` is the model's, where it was found beside it."""

    framed = True

    def __init__(self, table: Mapping[str, Any], architecture: Architecture | None = None) -> None:
        kept = foreign(table)
        try:
            tokenizer = BackendTokenizer.from_str(json.dumps(kept))
            tokenizer.encode_special_tokens = True  # in a text they are characters
            tokenizer.encode("☃")  # some vocabularies lack the token for what they do not know
            letters = _letters(tokenizer)
            one, two = tokenizer.encode(letters), tokenizer.encode(letters, letters)
            self.single, self.pair = Template.of(one, 1), Template.of(two, 2)
        except (KeyboardInterrupt, SystemExit, MemoryError):
            raise
        except BaseException as error:  # tokenizers raises Exception itself, or panics, which is no Exception
            why = str(error).split("\n")[0]
            raise RegardError(f"cannot read the tokenizer ({why:.200})", expected="a tokenizer.json") from None
        self.tokenizer, self.table, self.architecture = tokenizer, kept, architecture
        size = max(tokenizer.get_vocab(with_added_tokens=True).values(), default=-1) + 1
        if architecture is not None and size > architecture.vocab:
            raise RegardError(
                f"a tokenizer with ids up to {size - 1:,} for an embedding of {architecture.vocab:,} rows",
                expected="the tokenizer that the model was trained with",
            )
        self.vocabulary = [tokenizer.id_to_token(number) or "" for number in range(size)]
        self.seen = self.vocabulary
        self.words = [False] * size
        self.first_marked = False

    def __len__(self) -> int:
        return len(self.vocabulary) if self.architecture is None else self.architecture.vocab

    def encode(self, text: str) -> list[int]:
        return [*self.single.before, *self._split([clean(text)], False)[0].ids, *self.single.after]

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        return self.read_all(texts, shown=False)[0]

    def tokens(self, text: str) -> tuple[Token, ...]:
        return self.read_all([text])[1][0]

    def read_all(self, texts: Sequence[str], shown: bool = True) -> tuple[list[list[int]], list[tuple[Token, ...]]]:
        numbers: list[list[int]] = []
        rows: list[tuple[Token, ...]] = []
        for first in range(0, len(texts), 8192):
            some = texts[first : first + 8192]
            for text, done in zip(some, self._split([*map(clean, some)], offsets=shown), strict=True):
                numbers.append([*self.single.before, *done.ids, *self.single.after])
                if shown:
                    rows.append((*self._named(self.single.before, 0), *_tokens(text, done), *self._end(text)))
        return numbers, rows

    def _named(self, ids: Sequence[int], place: int) -> list[Token]:
        return [Token(self.vocabulary[number], place, place) for number in ids]

    def _end(self, text: str) -> list[Token]:
        return self._named(self.single.after, len(text))

    @property
    def around(self) -> tuple[int, int]:
        return len(self.single.before), len(self.single.after)

    def inner(self, row: Sequence[Any]) -> list[Any]:
        """A framed row, of ids or of regions, without its special tokens."""
        return list(row[len(self.single.before) : len(row) - len(self.single.after)])

    def join(self, one: Sequence[int], other: Sequence[int]) -> tuple[list[int], list[int]]:
        """Two framed rows as one: `[CLS] a [SEP] b [SEP]`, and the segment of each position."""
        parts = (self.pair.before, self.inner(one), self.pair.between, self.inner(other), self.pair.after)
        ids = [number for part in parts for number in part]
        counted = zip(self.pair.segments, parts, strict=True)
        return ids, [segment for segment, part in counted for _ in part]

    def joined_tokens(self, one: Sequence[Any], other: Sequence[Any]) -> tuple[list[Any], int]:
        """The regions of two framed rows as `join` puts them, and where the second text begins."""
        first = [*self._named(self.pair.before, 0), *self.inner(one)]
        first += self._named(self.pair.between, first[-1].end if first else 0)
        second = self.inner(other)
        return [*first, *second, *self._named(self.pair.after, second[-1].end if second else 0)], len(first)

    def decode(self, ids: Sequence[int]) -> str:
        return self.tokenizer.decode(list(ids), skip_special_tokens=True)

    def extend(self, words: Sequence[str]) -> "Tokenizer":
        raise RegardError("cannot add words to a pre-trained tokenizer", do="use tokenizer=word for a file of vectors")

    def to_dict(self) -> dict[str, Any]:
        model = None if self.architecture is None else self.architecture.to_dict()
        return {"pretrained": dict(self.table), "architecture": model}

    @staticmethod
    def restored(table: Mapping[str, Any]) -> "Framed":
        """From what `to_dict` gave."""
        model = table.get("architecture")
        return Framed(table["pretrained"], None if model is None else Architecture.from_dict(model))


def _letters(tokenizer: BackendTokenizer) -> str:
    """Some text that is at least one token."""
    for text in ("a", "A", "the", "."):
        if tokenizer.encode(text, add_special_tokens=False).ids:
            return text
    raise RegardError("it has no token for any letter")


def _tokens(text: str, encoding: Encoding) -> list[Token]:
    """The reader's own characters; spaces around a word may belong to its piece, but not to what is shown."""
    found = []
    for start, end in encoding.offsets:
        written = text[start:end]
        word = written.strip() or written
        at = start + written.index(word)
        found.append(Token(word, at, at + len(word)))
    return found
