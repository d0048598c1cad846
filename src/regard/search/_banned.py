r"""Words that an answer never contains, whatever tokens spell them.

A banned word counts where it stands as a word of its own: "cat" bans "cat", "a cat." and "(cat)", not "category" or
"concat". So "cat" spelled by the tokens ▁c + at is banned as well, and ▁cat may still begin ▁cat + egory: what is
forbidden is the token that would close the word (a space, a sign, the end), or the last letter where nothing but the
end of the word can follow. Case counts. In the terms of `re` the word is `(?<!\w)cat(?=\W)`; an edge that is no
letter or digit ("C++") has no such condition.

Each hypothesis has a state: as much of the end of its text as could still become a banned word (Aho & Corasick 1975,
"Efficient String Matching: An Aid to Bibliographic Search"). Which tokens a state forbids is worked out when a
hypothesis first gets there, and kept.

    banned = Banned(["cat"], text)
    state = banned.after(state, token);  banned.mask(state, last)     # which tokens may not come next
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from threading import Lock

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.text import Tokenizer

__all__ = ["Banned"]

State = tuple[str, bool]  # the end of the text, and whether a word that follows gets a space before it
letter = re.compile(r"\w")
CLOSED = "\n"  # what the end of an answer adds to its text; in no word
PARTED = "\0"  # between pieces; in none
MOST_ROWS = 2_000  # kept, each as long as the vocabulary


class Banned:
    """Words, and the tokenizer of the answers that must not contain them."""

    def __init__(self, words: Sequence[str], target: Tokenizer) -> None:
        self.words = words
        self._spaced = target.words  # whether a token is a word, with a space before the next
        left = [rf"(?<!\w){re.escape(word)}" if letter.match(word) else re.escape(word) for word in words]
        right = [r"(?=\W)" if letter.match(word[-1]) else "" for word in words]
        self._search = re.compile("|".join(map("".join, zip(left, right, strict=True)))).search
        self._rests: dict[str, list[str]] = {}  # of every beginning of a word, what is missing
        for word in words:
            for n in range(1, len(word) + 1):
                self._rests.setdefault(word[:n], []).append(word[n:])
        self._longest = max(map(len, words))
        held = set("".join(words))
        self._any_letter = next(c for c in map(chr, range(ord("a"), 0x110000)) if letter.match(c) and c not in held)
        # The text that each token adds, by whether the token before it was a word.
        self._pieces = {spaced: self._spelled(target, spaced) for spaced in (False, True)}
        ends = {spaced: not any(map(letter.match, pieces)) for spaced, pieces in self._pieces.items()}
        self._index = {  # the same, closed where nothing comes after the token or nothing can go on with a word
            (spaced, last): _Index([p + CLOSED * (last or ends[w]) for p, w in zip(pieces, target.words, strict=True)])
            for spaced, pieces in self._pieces.items()
            for last in (False, True)
        }
        self._lock = Lock()
        self._numbers: dict[State, int] = {("", False): 0}
        self._states: list[State] = [("", False)]
        self._rows: dict[tuple[State, bool], Tensor] = {}

    @staticmethod
    def _spelled(target: Tokenizer, spaced: bool) -> list[str]:
        special = {
            Tokenizer.pad: "",
            Tokenizer.unknown: "",
            Tokenizer.start: "",
            Tokenizer.end: CLOSED,
        }
        return [
            special.get(number, (" " if spaced and word else "") + piece)
            for number, (piece, word) in enumerate(zip(target.seen, target.words, strict=True))
        ]

    def breaks(self, tokens: Sequence[int]) -> bool:
        """Whether these tokens, with their end or without, write a banned word."""
        state = self._states[0]
        for token in tokens:
            if self._row(state, False)[token]:
                return True
            state = self._next(state, token)
        return False

    def after(self, state: Int[Tensor, "batch beam"], token: Int[Tensor, "batch beam"]) -> Int[Tensor, "batch beam"]:
        """The states one token further."""
        both = zip(state.flatten().tolist(), token.flatten().tolist(), strict=True)
        numbers = [self._number(self._next(self._states[before], added)) for before, added in both]
        return torch.tensor(numbers, device=state.device).reshape(state.shape)

    def mask(self, state: Int[Tensor, "batch beam"], last: Bool[Tensor, " batch"]) -> Bool[Tensor, "batch beam vocab"]:
        """Which tokens may not come next; `last` says where nothing may come after them."""
        asked = list(zip(state.flatten().tolist(), last.repeat_interleave(state.shape[1]).tolist(), strict=True))
        places = {one: place for place, one in enumerate(dict.fromkeys(asked))}
        rows = torch.stack([self._row(self._states[number], end) for number, end in places]).to(state.device)
        return rows[torch.tensor([places[one] for one in asked], device=state.device)].reshape(*state.shape, -1)

    def _number(self, state: State) -> int:
        with self._lock:  # several threads may search at once
            if state not in self._numbers:
                self._states.append(state)
                self._numbers[state] = len(self._states) - 1
            return self._numbers[state]

    def _next(self, state: State, token: int) -> State:
        tail, spaced = state
        text, spaced = tail + self._pieces[spaced][token], self._spaced[token]
        for n in range(min(self._longest, len(text)), 0, -1):
            if text[-n:] in self._rests:
                return self._class(text[:-n]) + text[-n:], spaced
        return self._class(text), spaced

    def _class(self, text: str) -> str:
        """All that counts of the character before a word: whether it is a letter."""
        return "" if not text else self._any_letter if letter.match(text[-1]) else CLOSED

    def _row(self, state: State, last: bool) -> Tensor:
        """Which tokens may not follow this state."""
        if (row := self._rows.get((state, last))) is not None:
            return row
        tail, spaced = state
        index, before = self._index[spaced, last], self._class(tail)
        if tail == before:
            row, near = torch.zeros(len(index.pieces), dtype=torch.bool), index.holding(self.words)
        else:
            row = self._row((before, spaced), last).clone()
            if self._search(tail + CLOSED):
                row |= index.closing
            missing = {rest for n in range(len(tail)) for rest in self._rests.get(tail[n:], ()) if rest}
            near = index.holding([PARTED + rest for rest in missing])
        found = [number for number in near if self._search(tail + index.pieces[number])]
        row[found] = True
        if len(self._rows) >= MOST_ROWS:
            self._rows.clear()
        self._rows[state, last] = row
        return row


class _Index:
    """Pieces of text, and quickly which of them hold a word: among 30,000 pieces only a few do."""

    def __init__(self, pieces: list[str]) -> None:
        self.pieces = pieces
        self.closing = torch.tensor([not letter.match(piece) for piece in pieces])  # end a word that came before
        self._all = PARTED + PARTED.join(pieces) + PARTED
        self._starts = [0, *accumulate(len(piece) + 1 for piece in pieces)]

    def holding(self, words: Iterable[str]) -> set[int]:
        found = set()
        for word in words:
            at = self._all.find(word)
            while at >= 0:
                found.add(bisect_right(self._starts, at) - 1)
                at = self._all.find(word, at + 1)
        return found
