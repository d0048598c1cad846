"""Which replies mean alike: intents, so that three suggestions are not three ways to say yes.

Common intents are told by how a reply begins (intents.txt, first match): "Sure, I'd love to" accepts, "Sorry, I can't"
declines. The others are clustered by their words, in two steps that need no random start: from the most frequent reply
on, one that is unlike all leaders before it leads a new cluster; then k-means moves the centres (Hartigan 1975,
chapters 3 and 4). A reply is the sum of its words and word pairs, weighted by how rare they are (tf-idf) and hashed to
256 numbers (Weinberger et al. 2009). Replies of different polarity are never in one cluster. A cluster is called by its
most frequent reply.

    intents(["Yes, I can.", "Sure!", "No, sorry.", "It is on the table.", "On the table."])
    # ["accept", "accept", "decline", "it is on the table", "it is on the table"]
"""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from regard.messages.normal import key

__all__ = ["Polarity", "intents", "polarity"]

Polarity = Literal["positive", "negative", "neutral"]
NEGATIVE = re.compile(
    r"^(?:no|nope|nah|never|not)\b|\b(?:can't|cannot|can not|won't|will not|don't|do not|didn't|doesn't|isn't|wasn't"
    r"|haven't|couldn't|wouldn't|unfortunately|afraid|sorry|unable|neither|nothing|hardly|impossible|bad|terrible"
    r"|disagree)\b"
)
POSITIVE = re.compile(
    r"\b(?:yes|yeah|yep|yup|sure|certainly|definitely|absolutely|of course|ok|okay|great|good|perfect|fine|glad|happy"
    r"|love|wonderful|excellent|nice|cool|agree|right|thanks|thank|sounds|welcome|done|pleasure|congratulations"
    r"|exactly|will do|i will|i'll|i can|i'd like|count me in|no problem|not bad|why not|don't mention)\b"
)
TURNED = re.compile(r"\b(?:no problem|not bad|no worries|why not|not at all|don't worry|don't mention)\b")
WIDTH = 256  # numbers that stand for a reply
ALIKE = 0.45  # cosine from which a reply belongs to a leader
MOST = 400  # clusters
ROUNDS = 8


def polarity(reply: str) -> Polarity:
    """Whether a reply goes along with the message, against it, or neither, by its words."""
    said = key(reply)
    if TURNED.search(said):
        return "positive"
    if NEGATIVE.search(said):
        return "negative"
    return "positive" if POSITIVE.search(said) else "neutral"


@cache
def common() -> list[tuple[str, re.Pattern[str]]]:
    """The common intents of intents.txt, each with how such a reply begins."""
    lines = files("regard.messages").joinpath("intents.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.split(": ", 1) for line in lines if line and line[0] != "#")
    return [(name, re.compile(form)) for name, form in pairs]


def intents(replies: Sequence[str]) -> list[str]:
    """The intent of each reply; the replies come in order, the most frequent first."""
    keys = [key(reply) for reply in replies]
    found = [next((name for name, pattern in common() if pattern.match(one)), "") for one in keys]
    for side in ("positive", "negative", "neutral"):
        rest = [n for n, name in enumerate(found) if not name and polarity(replies[n]) == side]
        for n, leader in zip(rest, clustered([keys[n] for n in rest]), strict=True):
            found[n] = keys[rest[leader]]
    return found


def clustered(texts: Sequence[str]) -> list[int]:
    """For each text the first one of its cluster."""
    if not texts:
        return []
    vectors = hashed(texts)
    centres = np.zeros((0, WIDTH), np.float32)
    for vector in vectors:
        if len(centres) < MOST and (not len(centres) or (centres @ vector).max() < ALIKE):
            centres = np.concatenate([centres, vector[None]])
    nearest = (vectors @ centres.T).argmax(1)
    for _ in range(ROUNDS):
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, vectors)
        norms = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(norms > 0, sums / np.maximum(norms, 1e-9), centres)
        now = (vectors @ centres.T).argmax(1)
        if (now == nearest).all():
            break
        nearest = now
    first = {cluster: n for n, cluster in reversed(list(enumerate(nearest.tolist())))}
    return [first[cluster] for cluster in nearest.tolist()]


def hashed(texts: Sequence[str]) -> NDArray[np.float32]:
    """A vector of length 1 for each text."""
    features = [_features(text) for text in texts]
    met = Counter(feature for some in features for feature in set(some))
    found = np.zeros((len(texts), WIDTH), np.float32)
    for row, some in enumerate(features):
        for feature in some:
            code = int.from_bytes(blake2b(feature.encode(), digest_size=4).digest(), "little")
            weight = np.log((1 + len(texts)) / (1 + met[feature])) + 1
            found[row, code % WIDTH] += weight if code >> 31 else -weight
    norms: NDArray[np.float32] = np.linalg.norm(found, axis=1, keepdims=True)
    return (found / np.maximum(norms, 1e-9)).astype(np.float32)


def _features(text: str) -> list[str]:
    words = re.findall(r"\w+(?:'\w+)?|\?", text)
    return [*words, *(f"{a} {b}" for a, b in pairwise(words))]
