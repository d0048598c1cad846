"""Which replies mean alike: intents, so that three suggestions are not three ways to say yes.

Common intents are told by how a reply begins (`INTENTS`, first match): "Sure, I'd love to" accepts, "Sorry, I can't"
declines. The others are clustered by their words, in two steps that need no random start: from the most frequent reply
on, one that is unlike all leaders before it leads a new cluster; then k-means moves the centres (Hartigan 1975, chapters
3 and 4). A reply is the sum of its words' and word pairs' vectors, weighted by how rare they are (tf-idf) and hashed to
256 numbers (Weinberger et al. 2009). Replies of different polarity are never in one cluster. A cluster is called by its
most frequent reply.

    intents(["Yes, I can.", "Sure!", "No, sorry.", "It is on the table.", "On the table."])
    # ["accept", "accept", "decline", "it is on the table", "it is on the table"]
"""

import re
from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from regard.messages.normal import key

__all__ = ["Polarity", "intents", "polarity"]

Polarity = Literal["positive", "negative", "neutral"]
NEGATIVE = re.compile(
    r"^(?:no|nope|nah|never|not)\b|\b(?:can't|cannot|can not|won't|will not|don't|do not|didn't|doesn't|isn't|wasn't|haven't"
    r"|couldn't|wouldn't|unfortunately|afraid|sorry|unable|neither|nothing|hardly|impossible|bad|terrible|disagree)\b"
)
POSITIVE = re.compile(
    r"\b(?:yes|yeah|yep|yup|sure|certainly|definitely|absolutely|of course|ok|okay|great|good|perfect|fine|glad|happy|love"
    r"|wonderful|excellent|nice|cool|agree|right|thanks|thank|sounds|welcome|done|pleasure|congratulations|exactly"
    r"|will do|i will|i'll|i can|i'd like|count me in|no problem|not bad|why not|don't mention)\b"
)
TURNED = re.compile(r"\b(?:no problem|not bad|no worries|why not|not at all|don't worry|don't mention)\b")
# Name → how such a reply begins, in small letters.
INTENTS: tuple[tuple[str, str], ...] = (
    ("welcome", r"(?:you're|you are)(?: very| most)? welcome|my pleasure|don't mention it|not at all$|no problem|no worries|any ?time$"),
    ("thank", r"(?:oh,? |ok,? |okay,? |great,? )?(?:thanks|thank you|thx|many thanks|i (?:really )?appreciate)"),
    ("apologise", r"(?:oh,? )?(?:i'm |i am )?(?:so |very |really )?sorry(?: about that| for (?:the|that|being).*| to .*)?$|(?:my|i) apolog|excuse me"),
    ("goodbye", r"(?:good)?bye|see you|goodbye|take care|talk to you|have a (?:good|nice|great)|good night|you too$"),
    ("greet", r"(?:hi|hello|hey|good (?:morning|afternoon|evening))\b"),
    ("congratulate", r"congrat|well done|good for you|good job|i'm (?:so |very |really )?(?:glad|happy) (?:for you|to hear)"),
    ("postpone", r"(?:maybe |perhaps )?(?:later|another time|some other time|not now|not yet|can we (?:move|do it later|reschedule)|could we (?:move|reschedule))|let's (?:move|reschedule)"),
    ("check", r"(?:let me (?:check|see|think|look|find)|i'll (?:check|look into|find out|have to check|get back|let you know|ask)|i will (?:check|look|get back|let you know))"),
    ("unsure", r"(?:i'm not sure|i am not sure|not sure|i don't know|i do not know|i have no idea|no idea|maybe|perhaps|it depends|i don't think so|i guess|who knows)"),
    ("decline", r"(?:no|nope|nah|never|unfortunately|i'm afraid|sorry,? (?:but )?(?:i|we|no)|i can't|i cannot|i won't|we can't|i'd rather not)\b"),
    ("accept", r"(?:yes|yeah|yep|yup|sure|ok|okay|of course|certainly|definitely|absolutely|all right|alright|sounds (?:good|great|fine|perfect)|with pleasure|i'd love to|i would love to|count me in|gladly|no objection|why not|that (?:works|would be)|works for me|fine with me|good idea|great idea|that's (?:fine|a good idea|a great idea))\b"),
    ("do", r"(?:will do|i'll do|i will do|consider it done|on it|done$|i'll (?:send|bring|take care|be there|call|get)|i will (?:send|bring|be there|call)|i'm on)"),
    ("praise", r"(?:great|wonderful|excellent|perfect|awesome|fantastic|cool|nice|that's (?:great|wonderful|nice|cool|good|awesome)|how (?:nice|wonderful|lovely))\b"),
    ("agree", r"(?:i agree|you're right|you are right|that's (?:true|right)|exactly|right$|true|i think so|i see|me too|so do i|same here)\b"),
    ("ask why", r"(?:why|how come)\b"),
    ("ask when", r"(?:when|what time|how long)\b"),
    ("ask where", r"where\b"),
    ("ask who", r"who\b"),
    ("ask how", r"how\b"),
    ("ask back", r"(?:what about you|and you|really|is that so|pardon|what do you mean|what happened|are you (?:sure|ok|okay|serious|kidding))\b"),
)  # fmt: skip
PATTERNS = tuple((name, re.compile(form)) for name, form in INTENTS)
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


def intents(replies: Sequence[str]) -> list[str]:
    """The intent of each reply; the replies come in order, the most frequent first."""
    keys = [key(reply) for reply in replies]
    found = [next((name for name, pattern in PATTERNS if pattern.match(one)), "") for one in keys]
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
    return found / np.maximum(norms, 1e-9)  # type: ignore[no-any-return]


def _features(text: str) -> list[str]:
    words = re.findall(r"\w+(?:'\w+)?|\?", text)
    return [*words, *(f"{a} {b}" for a, b in zip(words, words[1:], strict=False))]
