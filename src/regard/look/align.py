"""Word alignment from attention weights, and its evaluation against gold links.

Words are separated by white space. The weights of a source word's tokens are summed, the rows of a target word's
tokens are averaged (Koehn & Knowles 2017, "Six Challenges for Neural Machine Translation", section 3.5); weight on
white space or the end token belongs to no word. A link is a pair (source word, target word), from 0.

    argmax      A = {(i, j) : i = argmax_i w_ji}       threshold   A = {(i, j) : w_ji ≥ θ}

Two directions are symmetrised by intersection, union, or grow-diag-final-and (Koehn, Och & Marcu 2003, "Statistical
Phrase-Based Translation"): start with the intersection, add neighbours in the union that link an unlinked word, then
links between two unlinked words. Against gold links, S sure and P ⊇ S possible (Och & Ney 2003, "A Systematic
Comparison of Various Statistical Alignment Models"):

    AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|),   precision = |A ∩ P| / |A|,   recall = |A ∩ S| / |S|

    links = choose(by_word(weights, target_tokens, source_tokens, words(target), words(source)))
    to_pharaoh(links)  →  "0-0 2-1"
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from regard.errors import RegardError
from regard.regions import Token

__all__ = [
    *("Gold", "Join", "Links", "attended", "by_word", "choose", "from_pharaoh", "join", "off_by_one", "read_gold"),
    *("scores", "to_pharaoh", "swapped", "words"),
]

Links = frozenset[tuple[int, int]]  # (source word, target word)
Join = Literal["intersection", "union", "grow"]
neighbours = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


# --- weights → links -----------------------------------------------------------------------------------------


def words(text: str) -> tuple[Token, ...]:
    """The words of a text (separated by white space) and their positions."""
    return tuple(Token(found[0], found.start(), found.end()) for found in re.finditer(r"\S+", text))


def _members(tokens: Sequence[Token], words: Sequence[Token]) -> Float[np.ndarray, "token word"]:
    """1 for a token and a word that share a character."""
    starts, ends = (np.array([getattr(t, at) for t in tokens], dtype=np.int64)[:, None] for at in ("start", "end"))
    firsts, lasts = (np.array([getattr(w, at) for w in words], dtype=np.int64)[None] for at in ("start", "end"))
    return (np.maximum(starts, firsts) < np.minimum(ends, lasts)).astype(np.float64)


def by_word(
    weights: Float[np.ndarray, "target_token source_token"],
    target_tokens: Sequence[Token],
    source_tokens: Sequence[Token],
    target_words: Sequence[Token],
    source_words: Sequence[Token],
) -> Float[np.ndarray, "target_word source_word"]:
    """Weights between words; a row sums to 1 minus the weight outside words."""
    source, target = _members(source_tokens, source_words), _members(target_tokens, target_words)
    source /= np.maximum(source.sum(axis=1, keepdims=True), 1)  # a token across two words is shared between them
    target /= np.maximum(target.sum(axis=0, keepdims=True), 1)
    return np.asarray(target.T @ weights.astype(np.float64) @ source)


def choose(
    weights: Float[np.ndarray, "target source"],
    how: Literal["argmax", "threshold"] = "argmax",
    threshold: float = 0.3,
) -> Links:
    """Each target word's largest weight (the first of equals, none if all are 0), or all weights ≥ threshold."""
    if how == "threshold":
        if not 0 < threshold <= 1:
            raise RegardError(f"threshold={threshold:g}", expected="above 0 and at most 1")
        return frozenset((int(i), int(j)) for j, i in np.argwhere(weights >= threshold))
    return frozenset((int(row.argmax()), j) for j, row in enumerate(weights) if row.max(initial=0.0) > 0)


def swapped(links: Iterable[tuple[int, int]]) -> Links:
    """The same links with source and target swapped."""
    return frozenset((j, i) for i, j in links)


def join(forward: Links, backward: Links, how: Join = "grow") -> Links:
    """Symmetrises the links of two directions; both are (source, target)."""
    if how != "grow":
        return forward & backward if how == "intersection" else forward | backward
    links, union = set(forward & backward), forward | backward
    sources, targets = {i for i, _ in links}, {j for _, j in links}
    ordered = sorted(union, key=lambda link: link[::-1])  # target word by target word: the result depends on it

    def add(link: tuple[int, int]) -> None:
        links.add(link)
        sources.add(link[0])
        targets.add(link[1])

    size = -1
    while size != len(links):
        size = len(links)
        for i, j in ordered:
            if (i, j) in links:  # asked anew each time: what was just added grows in the same round
                for di, dj in neighbours:
                    near = i + di, j + dj
                    if near in union and near not in links and not (near[0] in sources and near[1] in targets):
                        add(near)
    for direction in (forward, backward):
        for link in (link for link in ordered if link in direction):
            if link[0] not in sources and link[1] not in targets:
                add(link)
    return frozenset(links)


# --- links as text -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gold:
    """Gold links of one pair: sure ones, and all possible ones."""

    sure: Links
    possible: Links  # the sure ones among them


def to_pharaoh(links: Iterable[tuple[int, int]]) -> str:
    """`i-j`, source first, from 0, in order."""
    return " ".join(f"{i}-{j}" for i, j in sorted(links))


def from_pharaoh(line: str, where: str = "") -> Links:
    """Links from a line in the Pharaoh format."""
    return frozenset((i, j) for _, i, j, _ in _pharaoh(line, where))


Found = tuple[str, int, int, bool]  # as written; first and second number; whether it is sure


def _pharaoh(line: str, where: str) -> Iterator[Found]:
    for field in line.split():
        if not (link := re.fullmatch(r"(\d{1,9})([-p?])(\d{1,9})", field, re.ASCII)):
            raise RegardError(
                f"{where}: {field!r}".removeprefix(": "), expected="i-j for a sure link, ipj or i?j for a possible one"
            )
        yield field, int(link[1]), int(link[3]), link[2] == "-"


def _triple(line: str, where: str) -> tuple[int, Found]:
    """A sentence number, from 1, and one of its links."""
    form = r"\s*(\d{1,9})\s+(\d{1,9})\s+(\d{1,9})(?:\s+([SP]))?\s*"
    if not (found := re.fullmatch(form, line, re.ASCII)):
        raise RegardError(f"{where}: {line.strip()[:40]!r}", expected="sentence, source word, target word, S or P")
    return int(found[1]), (f"{found[2]} {found[3]}", int(found[2]), int(found[3]), found[4] != "P")


def read_gold(
    lines: Sequence[str], name: str, sizes: Sequence[tuple[int, int]], base: int | None = None, turn: bool = False
) -> list[Gold]:
    """Gold links from the lines of a file; `sizes` has the numbers of words of each pair.

    A line is either a pair, `0-0 1p1`, with words from 0, or one link, `sentence source target [S|P]`, with words from
    1 (as in the NAACL 2003 shared task; sentences are always from 1). `base` sets another first word, and `turn` says
    that the target comes first.
    """
    first = next((line for line in lines if line.strip()), "")
    single = bool(re.match(r"\s*\d+\s", first, re.ASCII))
    start = base if base is not None else int(single)
    sure, possible = ([set[tuple[int, int]]() for _ in sizes] for _ in range(2))
    for row, where, (field, *pair, is_sure) in _found(lines, name, len(sizes), single):
        link = (pair[1] - start, pair[0] - start) if turn else (pair[0] - start, pair[1] - start)
        if not all(0 <= word < size for word, size in zip(link, sizes[row], strict=True)):
            raise RegardError(
                f"{where}: link {field} for {sizes[row][0]} source and {sizes[row][1]} target words",
                expected=f"words from {start} to the last",
                do=f"fix the link; if words count from {1 - start}, use --gold-base {1 - start}; if the target comes "
                + ("last, remove --gold-reversed" if turn else "first, add --gold-reversed"),
            )
        possible[row].add(link)
        if is_sure:
            sure[row].add(link)
    return [Gold(frozenset(s), frozenset(p)) for s, p in zip(sure, possible, strict=True)]


def _found(lines: Sequence[str], name: str, count: int, single: bool) -> Iterator[tuple[int, str, Found]]:
    """Every link with the number of its pair, from 0, and its line in the file."""
    if not single and (len(lines) < count or any(line.strip() for line in lines[count:])):
        raise RegardError(
            f"{name}: {len(lines):,} lines", expected=f"{count:,}, one per pair; empty lines for pairs without links"
        )
    for number, line in enumerate(lines if single else lines[:count], 1):
        where = f"{name}:{number}"
        if not single:
            yield from ((number - 1, where, found) for found in _pharaoh(line, where))
        elif line.strip():
            sentence, found = _triple(line, where)
            if not 1 <= sentence <= count:
                raise RegardError(f"{where}: sentence {sentence:,}", expected=f"1 to {count:,}")
            yield sentence - 1, where, found


# --- figures -------------------------------------------------------------------------------------------------


def scores(found: Sequence[Links], gold: Sequence[Gold]) -> dict[str, float]:
    """Alignment error rate, precision, recall and F1 over all pairs."""
    pairs = list(zip(found, gold, strict=True))
    A, S = sum(len(a) for a in found), sum(len(g.sure) for g in gold)
    if not S:
        raise RegardError("gold alignments without a sure link", expected="at least one")
    in_S, in_P = sum(len(a & g.sure) for a, g in pairs), sum(len(a & g.possible) for a, g in pairs)
    precision, recall = in_P / A if A else 0.0, in_S / S
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {"aer": 1 - (in_S + in_P) / (A + S), "precision": precision, "recall": recall, "f1": f1}


def off_by_one(found: Sequence[Links], other: Sequence[Links]) -> dict[str, float]:
    """The share of our links that the others have, and the share they have one source word to the left or right.

    The second shows attention that learned to look next to the word it needs (Koehn & Knowles 2017, section 3.5).
    """
    matched = beside = 0
    for ours, theirs in zip(found, other, strict=True):
        matched += len(ours & theirs)
        beside += sum((i - 1, j) in theirs or (i + 1, j) in theirs for i, j in ours - theirs)
    count = sum(map(len, found)) or 1
    return {"matched": matched / count, "off_by_one": beside / count}


def attended(weights: Sequence[Float[np.ndarray, "_ _"]], other: Sequence[Links]) -> dict[str, float]:
    """Koehn & Knowles's two figures (section 3.5): means over the target words that the others link.

    `attention_match`: whether the n source words a target word is linked to have the n highest weights;
    `attention_mass`: the total weight on them.
    """
    match, mass = [], []
    for rows, links in zip(weights, other, strict=True):
        for j, row in enumerate(rows):
            linked = [i for i, target in links if target == j]
            if linked:
                most = np.argsort(-row, kind="stable")[: len(linked)]
                match.append(set(linked) == set(most.tolist()))
                mass.append(float(row[linked].sum()))
    count = len(match) or 1
    return {"attention_match": sum(match) / count, "attention_mass": sum(mass) / count}
