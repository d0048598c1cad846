"""Constraints in the user's own text: the same in Python, on the command line and in the service.

    model.predict(texts, allowed=["yes", "no"])
    model.predict(texts, prefix="20", banned=["unknown"], min_length=3, no_repeat_ngram=3)

`Constraints` hold texts and numbers as they were given; `compiled` makes the `Limits` of a search from them. The same
constraints are compiled once: a list of 20,000 allowed answers costs a tokenization and a prefix tree at first, and
is only compared after that.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

from regard.errors import RegardError, brief
from regard.ranges import FewOrNone, LengthOrNone, within
from regard.search._banned import Banned
from regard.search._limits import Limits
from regard.search._tree import tree_of
from regard.text import Tokenizer

__all__ = ["Constraints", "compiled"]

LONGEST_BANNED = 200  # characters: every beginning of a banned word is kept


@dataclass(frozen=True)
class Constraints:
    """Texts and numbers as the user gave them; what is None or empty asks for nothing."""

    allowed: tuple[str, ...] | None = None  # the only answers that may come out
    prefix: str = ""  # what every answer begins with
    banned: tuple[str, ...] = ()  # words that no answer contains
    min_length: int | None = None  # fewest tokens of an answer
    no_repeat_ngram: int | None = None  # no n-gram of this many tokens comes twice

    @staticmethod
    def read(given: Mapping[str, Any]) -> "Constraints":
        """From arguments of which nothing is known yet."""
        made: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        for name in ("allowed", "banned"):
            texts = made.get(name, ())
            if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
                raise RegardError(f"{name}={brief(texts)}", expected="a list of texts")
            if name in made:
                made[name] = tuple(texts)
        if not isinstance(made.get("prefix", ""), str):
            raise RegardError(f"prefix={brief(made['prefix'])}", expected="a text")
        if made.get("allowed") == ():
            raise RegardError("allowed: no answers", expected="at least one")
        if not all(word.strip() for word in made.get("banned", ())):
            raise RegardError("banned: an empty word", expected="at least one character")
        if (size := max(map(len, made.get("banned", ())), default=0)) > LONGEST_BANNED:
            raise RegardError(f"banned: a word of {size:,} characters", expected=f"at most {LONGEST_BANNED}")
        for name, kind in (("min_length", LengthOrNone), ("no_repeat_ngram", FewOrNone)):
            if type(made.get(name, 0)) is not int:
                raise RegardError(f"{name}={brief(made[name])}", expected="a whole number")
            within(name, made.get(name, 0), kind)
        return Constraints(**made)

    @staticmethod
    def taken_from(options: Mapping[str, Any]) -> "tuple[Constraints | None, dict[str, Any]]":
        """The constraints among the options of a prediction, if there are any, and the other options."""
        names = {field.name for field in fields(Constraints)}
        given = {name: value for name, value in options.items() if name in names}
        rest = {name: value for name, value in options.items() if name not in names}
        return Constraints.read(given) if given else None, rest


@lru_cache(maxsize=8)
def compiled(constraints: Constraints, target: Tokenizer, base: Limits) -> Limits:
    """The limits of a search whose answers are of this vocabulary; what is not constrained stays as in `base`."""
    numbers = {"min_length": constraints.min_length, "no_repeat_ngram": constraints.no_repeat_ngram}
    made: dict[str, Any] = {name: number for name, number in numbers.items() if number is not None}
    words = dict.fromkeys(_spelled(word, target) for word in constraints.banned)
    banned = Banned(tuple(words), target) if words else None
    if constraints.allowed is not None:
        made["allowed"] = _allowed(constraints, target, banned, replace(base, **made))
    else:
        made["banned"] = banned
        if constraints.prefix:
            made["prefix"] = tuple(_known(target, f"prefix {constraints.prefix!r}", constraints.prefix)[:-1])
            if banned is not None and banned.breaks(made["prefix"]):
                raise RegardError(f"prefix {constraints.prefix!r} contains a banned word", do="change one of them")
    return replace(base, **made)


def _allowed(constraints: Constraints, target: Tokenizer, banned: Banned | None, limits: Limits) -> Any:
    """The tree of the answers that begin with the prefix and contain no banned word."""
    assert constraints.allowed is not None
    texts = [text for text in constraints.allowed if text.startswith(constraints.prefix)]
    if not texts:
        raise RegardError(
            f"prefix {constraints.prefix!r}: no allowed answer begins with it", do="change the prefix or the answers"
        )
    answers = target.encode_all(texts)
    for text, ids in zip(texts, answers, strict=True):
        if Tokenizer.unknown in ids:
            _known(target, f"allowed answer {brief(text)}", text)
    if banned is not None:
        answers = [ids for ids in answers if not banned.breaks(ids)]
        if not answers:
            words = ", ".join(map(repr, banned.words[:3])) + ", …" * (len(banned.words) > 3)
            raise RegardError(f"every allowed answer contains a banned word ({words})", do="ban fewer words")
    return tree_of(tuple(map(tuple, answers)), Tokenizer.end, (), limits.min_length, limits.no_repeat_ngram)


def _spelled(word: str, target: Tokenizer) -> str:
    """A word as answers would write it: in lower case, where all of them are."""
    word = " ".join(word.split())
    ids = target.encode(word)
    return word if Tokenizer.unknown in ids else target.decode(ids)  # a word that cannot be written never comes anyway


def _known(target: Tokenizer, what: str, text: str) -> list[int]:
    """The tokens of a text, its end included; all of them must be in the vocabulary."""
    ids = target.encode(text)
    if Tokenizer.unknown in ids:
        piece = target.tokens(text)[ids.index(Tokenizer.unknown)].text
        raise RegardError(f"{what}: {piece!r} is not in the target vocabulary", do="use other words")
    return ids
