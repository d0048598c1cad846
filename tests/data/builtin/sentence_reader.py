"""A reader of made sentences that knows only their words: text → claim, by regular expressions."""

import re
from collections.abc import Iterable

from regard.data.builtin import _sentences as s
from regard.data.builtin._sentences import Claim, Deed, Phrase

__all__ = ["read"]

HOW_MANY = {  # at least?, how many, not?
    **dict.fromkeys(("a", "an", "some", "at least one"), (True, 1, False)),
    **dict.fromkeys(("not every", "not all"), (True, 1, True)),
    **dict.fromkeys(("every", "each", "all"), (False, 1, True)),
    "no": (False, 1, False),
    **dict.fromkeys(("at least two", "more than one"), (True, 2, False)),
    **dict.fromkeys(("at least three", "more than two"), (True, 3, False)),
    **dict.fromkeys(("fewer than two", "at most one"), (False, 2, False)),
    **dict.fromkeys(("fewer than three", "at most two"), (False, 3, False)),
}
SINGULAR = {**{noun + "s": noun for noun in s.UP}, **{many: one for one, many in s.PLURALS.items()}}
ACTIVE = {done: verb for verb, done in s.PASSIVE.items()}


def any_of(words: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


def noun_phrase(name: str, nouns: list[str], adjectives: tuple[str, ...]) -> str:
    both = [*nouns, *(many for many, one in SINGULAR.items() if one in nouns)]
    return rf"((?P<{name}_adjective>{any_of(adjectives)}) )?(?P<{name}>{any_of(both)})"


def doing(name: str) -> str:
    thing = noun_phrase(f"{name}_thing", s.THINGS, s.LOOKS)
    return (
        rf"((?P<{name}_manner>{any_of(s.MANNERS)}) )?(?P<{name}_verb>{any_of(s.VERBS)})"
        rf"( an? {thing})?( (?P<{name}_place>{any_of(s.PLACES)}))?"
    )


quantifier = rf"(?P<many>{any_of(HOW_MANY)})"
doer = noun_phrase("doer", [*s.PEOPLE, *s.ANIMALS], s.ADJECTIVES)
PLAIN = re.compile(
    rf"{quantifier} {doer}( (who|that) (is|are) {doing('clause')})? (is|are)(?P<not> not)? {doing('deed')}"
)
THERE = re.compile(rf"there (is|are) {quantifier} {doer} (who|that) (is|are)(?P<not> not)? {doing('deed')}")
PASSIVE = re.compile(
    rf"{quantifier} {noun_phrase('deed_thing', s.THINGS, s.LOOKS)} (is|are) being "
    rf"((?P<deed_manner>{any_of(s.MANNERS)}) )?(?P<done>{any_of(ACTIVE)})( (?P<deed_place>{any_of(s.PLACES)}))?"
    rf" by an? {doer}"
)


def read(text: str) -> Claim:
    text = text[0].lower() + text[1:]
    found = [(way, match) for way in (PLAIN, THERE, PASSIVE) if (match := way.fullmatch(text))]
    assert len(found) == 1, text
    way, match = found[0]
    said = {key: value or "" for key, value in match.groupdict().items()}
    verb = said.get("deed_verb") or ACTIVE[said["done"]]
    least, number, negated = HOW_MANY[said["many"]]
    assert not (way is PASSIVE and (number > 1 or negated)), text  # nobody could tell who stands in whose scope
    assert not (said.get("not") and negated), text  # "every … not" has two readings

    def phrase(name: str) -> Phrase:
        return Phrase(SINGULAR.get(said[name], said[name]), said[f"{name}_adjective"])

    def deed(name: str, verb: str) -> Deed:
        thing = phrase(f"{name}_thing") if said[f"{name}_thing"] else None
        return Deed(verb, thing, said[f"{name}_manner"], said[f"{name}_place"])

    clause = deed("clause", said["clause_verb"]) if said.get("clause_verb") else None
    return Claim(
        least, number, negated or bool(said.get("not")), phrase("doer")._replace(deed=clause), deed("deed", verb)
    )
