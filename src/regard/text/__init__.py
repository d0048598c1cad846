"""Tokenizers: text to token ids and back, with the character offsets of every token.

A kind of text (`character`, `word`, `bpe`) is trained on texts and gives a `Tokenizer`; all three are
`tokenizers.Tokenizer`s inside, so one form of `tokenizer.json` serves them all.

The first four numbers mean the same in every kind: padding, an unknown piece, the start and the end.
In the vocabulary they are written with spaces inside (`< s >`), which no piece of text can be, so a
reader who types `<s>` is understood to have typed three characters. People are shown `<s>`.

    text = Bpe(size=4000).train(["a man sleeps", "a dog runs"])
    text.decode(text.encode("a man runs")) == "a man runs"
"""

import json
import re
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Protocol

from tokenizers import Encoding, normalizers
from tokenizers import Tokenizer as BackendTokenizer
from tokenizers.trainers import Trainer

from regard.errors import RegardError
from regard.regions import Token
from regard.text._forms import own, sound

__all__ = ["MASK", "TextKind", "Tokenizer", "own"]

MASK = "[MASK]"  # how people write and see a token that is masked

special = ("< pad >", "< unk >", "< s >", "< /s >")
masked = "< mask >"  # stands for a token that is to be predicted; only vocabularies of `pretrain` have it
mark = "▁"  # U+2581 stands for a space inside a vocabulary, as in SentencePiece
few = 64  # texts that are split without threads
surrogate = re.compile("[\ud800-\udfff]")


class TextKind(Protocol):
    """How text is split into tokens, before anything was learned: options, and texts → a tokenizer."""

    @abstractmethod
    def train(self, texts: Iterable[str]) -> "Tokenizer": ...


def clean(text: str) -> str:
    """Half a surrogate pair is no character: it becomes U+FFFD, of the same length, so that offsets hold."""
    return surrogate.sub("\ufffd", text)


def small_letters(wished: bool) -> normalizers.Normalizer:
    return normalizers.Sequence([normalizers.Lowercase()] if wished else [])


def learn(tokenizer: BackendTokenizer, trainer: Trainer, texts: Iterable[str]) -> "Tokenizer":
    """Train a vocabulary and put the four special numbers before it.

    The trainer is not told of them: tokenizers would then match them literally in everyone's text.
    """
    tokenizer.train_from_iterator(map(clean, texts), trainer)
    table = json.loads(tokenizer.to_str())
    model = table["model"]
    ranked = sorted(model["vocab"], key=model["vocab"].__getitem__)
    model["vocab"] = {piece: number for number, piece in enumerate([*special, *ranked])}
    model["unk_token"] = special[Tokenizer.unknown]
    return Tokenizer.from_dict(table)


def _bare(written: str, start: int) -> Token:
    """A piece without the spaces around it, where anything else is left."""
    bare = written.strip(" ")
    if not bare:
        return Token(written, start, start + len(written))
    start += written.index(bare)
    return Token(bare, start, start + len(bare))


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The same characters without spaces at either end, unless there are only spaces."""
    if start < end and (text[start] == " " or text[end - 1] == " ") and (bare := text[start:end].strip(" ")):
        start += text[start:end].index(bare)
        end = start + len(bare)
    return start, end


# The same pieces of a vocabulary often stand in the same places, and to make a token costs more than to find it.
_kept = lru_cache(2**16)(_bare)
_named = lru_cache(2**12)(Token)


class Tokenizer:
    """A trained tokenizer."""

    pad, unknown, start, end = 0, 1, 2, 3
    framed = False  # whether rows come with special tokens of their own around them, and without our end

    def __init__(self, tokenizer: BackendTokenizer) -> None:
        self.tokenizer = tokenizer
        self.vocabulary = [tokenizer.id_to_token(number) or "" for number in range(tokenizer.get_vocab_size())]
        if tuple(self.vocabulary[:4]) != special:
            raise RegardError(
                f"a tokenizer whose first tokens are {self.vocabulary[:4]}",
                expected=f"{list(special)}",
                do="use one that regard trained",
            )
        unknown = getattr(tokenizer.model, "unk_token", special[self.unknown])  # some models have a number for it
        if unknown != special[self.unknown]:
            said = f"a tokenizer whose unknown token is {unknown!r:.50}"
            raise RegardError(said, expected=f"{special[self.unknown]!r}", do="use one that regard trained")
        kind = (json.loads(tokenizer.to_str())["decoder"] or {}).get("type")
        self.first_marked = kind == "Metaspace"  # a mark stands before the first word too
        spaces_marked = kind in ("Metaspace", "Sequence")
        seen = [piece.replace(mark, " ") if spaces_marked else piece for piece in self.vocabulary]
        self.seen = [name.replace(" ", "") for name in special] + seen[4:]  # pieces as people see them
        self.mask = self.vocabulary.index(masked) if masked in self.vocabulary else None
        if self.mask is not None:
            self.seen[self.mask] = MASK
        # Between two words a space is understood. Without a decoder all pieces are words; else it knows.
        self.words = [kind is None or kind == "Sequence"] * len(seen)
        if kind == "Sequence":
            self.words[4:] = [tokenizer.decoder.decode(["a", piece]) == "a " + piece for piece in self.vocabulary[4:]]

    def __len__(self) -> int:
        return len(self.vocabulary)

    @property
    def around(self) -> tuple[int, int]:
        """How many special tokens stand before and after the text of a row."""
        return 0, 1

    def encode(self, text: str) -> list[int]:
        """Token numbers, with the end and without a start: inputs and targets have the same form."""
        return [*self.tokenizer.encode(clean(text), add_special_tokens=False).ids, self.end]

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """The same for many texts at once, on every core."""
        rows: list[list[int]] = []
        for first in range(0, len(texts), 8192):  # what tokenizers notes of each text is large: not all at once
            some = [clean(text) for text in texts[first : first + 8192]]
            rows.extend([*row.ids, self.end] for row in self._split(some, offsets=False))
        return rows

    def spans_all(self, texts: Sequence[str]) -> list[tuple[list[int], list[tuple[int, int]]]]:
        """For each text its token numbers, without an end, and the characters that each covers: without the spaces
        around it, where anything else is left. What `tokens_all` says, at a fraction of its memory."""
        rows: list[tuple[list[int], list[tuple[int, int]]]] = []
        for first in range(0, len(texts), 8192):
            some = texts[first : first + 8192]
            for text, done in zip(some, self._split([*map(clean, some)], offsets=True), strict=True):
                rows.append((done.ids, [_trimmed(text, *span) for span in done.offsets]))
        return rows

    def _split(self, texts: list[str], offsets: bool) -> list[Encoding]:
        """Few texts one after the other: on a busy machine a thread of the tokenizer is waited for longer than it
        works."""
        if len(texts) <= few:
            return [self.tokenizer.encode(text, add_special_tokens=False) for text in texts]
        batch = self.tokenizer.encode_batch if offsets else self.tokenizer.encode_batch_fast
        return batch(texts, add_special_tokens=False)

    def tokens(self, text: str) -> tuple[Token, ...]:
        """One for each number of `encode(text)`: the reader's own characters, and where they stand.

        Spaces around a word may belong to its piece but not to what is shown. The end stands after the text.
        """
        return self._seen(text, self.tokenizer.encode(clean(text), add_special_tokens=False))

    def tokens_all(self, texts: Sequence[str]) -> list[tuple[Token, ...]]:
        """The same for many texts at once, on every core."""
        return self.read_all(texts)[1]

    def read_all(self, texts: Sequence[str]) -> tuple[list[list[int]], list[tuple[Token, ...]]]:
        """`encode_all` and `tokens_all` of the same texts, which are split once."""
        numbers: list[list[int]] = []
        rows: list[tuple[Token, ...]] = []
        for first in range(0, len(texts), 8192):
            some = texts[first : first + 8192]
            for text, done in zip(some, self._split([*map(clean, some)], offsets=True), strict=True):
                numbers.append([*done.ids, self.end])
                rows.append(self._seen(text, done))
        return numbers, rows

    def _seen(self, text: str, encoding: Encoding) -> tuple[Token, ...]:
        spans = encoding.offsets
        result = [_kept(text[start:end], start) for start, end in spans]
        if self.first_marked and spans and self.vocabulary[encoding.ids[0]] == mark:
            result[0] = _kept("", spans[0][0])  # the mark put before the text covers none of it
        return (*result, _named(self.seen[self.end], len(text), len(text)))

    def decode(self, ids: Sequence[int]) -> str:
        """The text up to the end; padding and start say nothing, an unknown piece says `<unk>`."""
        return self.written(ids)[0]

    def pieces(self, ids: Sequence[int]) -> tuple[Token, ...]:
        """One for each number, standing in `decode(ids)`; what says nothing there is shown by name, of no width."""
        return tuple(self.written(ids)[1])

    def written(self, ids: Sequence[int]) -> tuple[str, list[Token]]:
        """`decode` and `pieces` of the same ids."""
        parts: list[str] = []
        tokens: list[Token] = []
        place, over, after_word = 0, False, False
        for number in ids:
            if not 0 <= number < len(self.seen):
                raise RegardError(f"token id {number}", expected=f"0 to {len(self.seen) - 1}")
            shown = self.seen[number]
            over = over or number == self.end
            if over or number in (self.pad, self.start):
                tokens.append(_named(shown, place, place))
                continue
            if self.first_marked and not parts:
                shown = shown.removeprefix(" ")
            if after_word and self.words[number]:
                parts.append(" ")
                place += 1
            parts.append(shown)
            tokens.append(_kept(shown, place))
            place += len(shown)
            after_word = self.words[number]
        return "".join(parts), tokens

    def extend(self, words: Sequence[str]) -> "Tokenizer":
        """The same with these words at the end of the vocabulary, in order, none twice: words that have vectors, say.

        Only where a piece is a whole word. A word that the splitting never gives is held, but never met.
        """
        table = self.to_dict()
        model, decoder = table["model"], table["decoder"] or {}
        if model["type"] != "WordLevel" or decoder.get("type") == "Fuse":  # fused pieces are characters
            raise RegardError("cannot add words to a vocabulary of characters or subwords", do="use tokenizer=word")
        if "" in words:
            raise RegardError("an empty word in a vocabulary", expected="at least one character")
        held = dict.fromkeys([*self.vocabulary, *map(clean, words)])
        model["vocab"] = {piece: number for number, piece in enumerate(held)}
        return Tokenizer.from_dict(table)

    def with_mask(self) -> "Tokenizer":
        """The same with a token for what is masked at the end of the vocabulary; no text is ever split into it."""
        if self.mask is not None:
            return self
        table = self.to_dict()
        table["model"]["vocab"][masked] = len(self)
        return Tokenizer.from_dict(table)

    def to_dict(self) -> dict[str, Any]:
        """What `tokenizer.json` holds."""
        return json.loads(self.tokenizer.to_str())  # type: ignore[no-any-return]

    @staticmethod
    def from_dict(table: Any) -> "Tokenizer":
        if isinstance(table, dict) and "pretrained" in table:
            from regard.text.pretrained import Framed

            return Framed.restored(table)
        sound(table)
        try:
            tokenizer = BackendTokenizer.from_str(json.dumps(table))
        except Exception as error:  # tokenizers raises Exception itself
            raise RegardError(f"cannot read the tokenizer ({error})", expected="a tokenizer.json") from None
        return Tokenizer(tokenizer)
