"""Answers as SQuAD's evaluation compares them: lower-cased, without punctuation, articles and extra spaces.

Rajpurkar et al. 2016, "SQuAD: 100,000+ Questions for Machine Comprehension of Text", section 6.1, and the official
script evaluate-v1.1.py, function by function: `normalised` is its normalize_answer, `exact` its exact_match_score and
`overlap` its f1_score. An empty answer (no answer, as in evaluate-v2.0.py) equals only another.

    normalised("The  Eiffel Tower!")  →  "eiffel tower"
"""

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence

__all__ = ["best", "exact", "normalised", "overlap"]

SIGNS = str.maketrans("", "", string.punctuation)


def normalised(text: str) -> str:
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text.lower().translate(SIGNS)).split())


def exact(said: str, true: str) -> float:
    return float(normalised(said) == normalised(true))


def overlap(said: str, true: str) -> float:
    """F1 of the words of both."""
    ours, theirs = normalised(said).split(), normalised(true).split()
    if not ours or not theirs:
        return float(ours == theirs)
    same = sum((Counter(ours) & Counter(theirs)).values())
    return 2 * same / (len(ours) + len(theirs))


def best(measure: Callable[[str, str], float], said: str, references: Sequence[str]) -> float:
    """The score of an answer by the reference it is nearest to."""
    return max(measure(said, true) for true in references)
