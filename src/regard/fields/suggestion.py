"""Replies: what was answered, and the set of those that may be suggested.

A model learns to write the replies of the set, to tell for each message whether one of them answers it (`suggest`), and
which reply goes with which message (`said`, for which any reply will do). A message that got no reply has an empty one.

    field = Suggestion();  field.fit(["Sure!", "No, sorry.", ""]);  field.allowed[0].intent      # "accept"
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal

import torch
from jaxtyping import Bool
from torch import Tensor
from torch.utils._pytree import register_dataclass

from regard.errors import RegardError
from regard.fields import Where
from regard.fields.tokens import Tokens
from regard.find import PLAIN, In, Of, Spec, build, call, table
from regard.messages.allowed import AllowedReply, made
from regard.messages.clean import Cleaning
from regard.messages.normal import key
from regard.ranges import Length, ranged
from regard.types import Sequences

__all__ = ["ReplyBatch", "ReplyRow", "Suggestion"]

WORDS: Spec = {"name": "word", "split": "punctuation", "vocab_size": 4_000}


@dataclass(frozen=True)
class ReplyRow:
    """An encoded reply: the tokens that the decoder learns, if any; whether it may be suggested; and the tokens that
    are matched with those of the message, none where nothing was replied."""

    tokens: tuple[int, ...]
    suggest: bool
    said: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.tokens)


@dataclass(frozen=True)
class ReplyBatch(Sequences):
    """Tokens of the replies to write side by side, which of them may be suggested, and the tokens to match."""

    suggest: Bool[Tensor, " batch"]
    said: Sequences

    def to(self, device: torch.device | str) -> "ReplyBatch":
        moved = {name: getattr(self, name).to(device, non_blocking=True) for name in ("values", "mask", "suggest")}
        return replace(self, **moved, said=self.said.to(device))


register_dataclass(ReplyBatch)


class Suggestion(Tokens):
    """A reply, and those replies that may be suggested."""

    kind: ClassVar[str] = "suggestion"
    headers: ClassVar[tuple[str, ...]] = ("reply", "response", "answer", "target", "output")
    optional: ClassVar[bool] = True

    @ranged
    def __init__(
        self,
        tokenizer: Annotated[Spec, In("text"), "how replies are split into tokens"] = WORDS,
        max_length: Annotated[Length, "longest reply that is learned, in tokens"] = 20,
        learn: Annotated[
            Literal["allowed", "all"],
            "replies that the decoder learns: those that may be suggested, or all up to max_length; the others only "
            "teach the trigger",
        ] = "allowed",
        allowed: Annotated[
            Spec, Of("messages.allowed.made"), "how the set of replies that may be suggested is made of the data"
        ] = PLAIN,
        clean: Annotated[Spec, Of("messages.clean.Cleaning"), "steps of cleaning, each of which can be off"] = PLAIN,
    ) -> None:
        super().__init__(tokenizer, max_length)
        self.making, self.clean, self.learn = table(allowed), call(Cleaning, table(clean)), learn
        self.cleaned = lru_cache(100_000)(self.clean)
        self.allowed: list[AllowedReply] = []
        self.numbers: dict[str, int] = {}
        self.log_frequency = torch.zeros(0)  # of each reply that may be suggested
        self.notes: list[str] = []

    def fit(self, values: Sequence[str]) -> None:
        replies = [text for text in map(self.cleaned, values) if key(text)]
        if not replies:
            raise RegardError("no replies in the data", expected="messages and what was replied to them")
        found = call(made, self.making, replies=replies)
        if not found:
            raise RegardError("no reply that could be suggested", do="lower reply.allowed.min_count")
        self.allow(found)
        learned = [one for one in map(key, replies) if one in self.numbers or self.learn == "all"]
        self.text = build("text", self.tokenizer).train([one for one in learned if len(one.split()) <= self.max_length])
        self.allow(self.known(found))
        covered = sum(key(text) in self.numbers for text in replies)
        intents = len({one.intent for one in self.allowed})
        self.notes = [
            f"{len(self.allowed):,} replies may be suggested, of {intents:,} intents; "
            f"{covered:,} of {len(replies):,} replies in the data are among them"
        ]

    def known(self, replies: Sequence[AllowedReply]) -> list[AllowedReply]:
        """Those whose words the tokenizer knows; of several that it splits alike the first."""
        rows = [tuple(row) for row in self.text.encode_all([one.key for one in replies])]
        first = dict(zip(reversed(rows), reversed(replies), strict=True))
        return [
            one for one, row in zip(replies, rows, strict=True) if self.text.unknown not in row and first[row] is one
        ]

    def strange(self, reply: AllowedReply) -> bool:
        """Whether a reply has a word that the tokenizer does not know."""
        return self.text.unknown in self.text.encode(reply.key)

    def allow(self, replies: Sequence[AllowedReply]) -> None:
        """Suggest these from now on."""
        self.allowed = [*replies]
        self.numbers = {one.key: number for number, one in enumerate(self.allowed)}
        counts = torch.tensor([float(one.count) for one in self.allowed])
        self.log_frequency = (counts / counts.sum()).log()

    def spoken(self, value: str) -> str:
        """A reply as the model writes it."""
        return key(str(self.cleaned(value)))

    def place(self, value: str) -> int | None:
        """The number of a reply among those that may be suggested; None where it is none of them."""
        return self.numbers.get(self.spoken(value))

    def tokens(self) -> list[list[int]]:
        """The tokens of each reply that may be suggested."""
        return self.text.encode_all([one.key for one in self.allowed])

    def state(self) -> dict[str, Any]:
        return {**super().state(), "allowed": [list(vars(one).values()) for one in self.allowed]}

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore(state)
        self.allow([AllowedReply(*row) for row in state["allowed"]])

    def encode(self, values: Sequence[str], where: Where, role: str = "reply") -> list[Any]:
        keys = [self.spoken(value) for value in values]
        rows = self.text.encode_all(keys)
        return [
            ReplyRow(
                tuple(row) if self._learns(one, row) else (),
                one in self.numbers,
                tuple(row) if one else (),
            )
            for one, row in zip(keys, rows, strict=True)
        ]

    def _learns(self, reply: str, row: Sequence[int]) -> bool:
        """Whether the decoder learns to write a reply."""
        return bool(reply) and len(row) <= self.max_length and (self.learn == "all" or reply in self.numbers)

    def matched(self, rows: Sequence[Sequence[int]]) -> Sequences:
        """The tokens of replies as they are matched with messages."""
        return _padded([row[: self.max_length] for row in rows])

    def collate(self, rows: Sequence[Any]) -> ReplyBatch:
        written, said = _padded([row.tokens for row in rows]), self.matched([row.said for row in rows])
        suggest = torch.tensor([row.suggest for row in rows], dtype=torch.bool)
        return ReplyBatch(written.values, written.mask, written.lengths, suggest, said)


def _padded(rows: Sequence[Sequence[int]]) -> Sequences:
    """With at least one place, for a batch may hold no reply."""
    lengths = torch.tensor([len(row) for row in rows], dtype=torch.long)
    values = Sequences.pad([row or (0,) for row in rows]).values
    return Sequences(values, torch.arange(values.shape[1])[None, :] < lengths[:, None], lengths)
