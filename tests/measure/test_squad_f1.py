"""SQuAD's exact match and F1 on whole sets, against the official script's own arithmetic, evaluate-v1.1.py."""

import re
import string
from collections import Counter

import pytest

from regard.measure import Results
from regard.measure.squad_exact_match import SquadExactMatch
from regard.measure.squad_f1 import SquadF1
from regard.types import Example, Prediction

# Super Bowl 50, as the SQuAD 1.1 development set asks: three annotators for each question.
QUESTIONS = [
    ("Denver Broncos", ("Denver Broncos", "Denver Broncos", "Denver Broncos")),
    ("Carolina", ("Carolina Panthers", "Carolina Panthers", "Carolina Panthers")),
    ("Levi's Stadium", ("Santa Clara, California", "Levi's Stadium", "Levi's Stadium in Santa Clara, California.")),
    ("the gold", ("gold", "gold", "gold")),
    ("golden anniversary", ('"golden anniversary"', "gold-themed", '"golden anniversary')),
    ("February 7", ("February 7, 2016", "February 7", "February 7, 2016")),
    ("Super Bowl L game", ("Super Bowl L", "L", "Super Bowl L")),
    ("Broncos and Panthers", ("Denver Broncos", "Denver Broncos", "Denver Broncos")),
]
results = Results(
    [Example(("d", f"q{n}"), first, alternatives=(*more,)) for n, (_, (first, *more)) in enumerate(QUESTIONS)],
    [Prediction(said, 0.0) for said, _ in QUESTIONS],
)


def official(said: str, true: str) -> tuple[bool, float]:
    """exact_match_score and f1_score, step by step."""

    def normalize(text: str) -> str:
        text = "".join(c for c in text.lower() if c not in set(string.punctuation))
        return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())

    ours, theirs = normalize(said).split(), normalize(true).split()
    same = sum((Counter(ours) & Counter(theirs)).values())
    if same == 0:
        return normalize(said) == normalize(true), 0.0
    precision, recall = same / len(ours), same / len(theirs)
    return normalize(said) == normalize(true), 2 * precision * recall / (precision + recall)


def test_as_the_official_script() -> None:
    each = [[official(said, true) for true in references] for said, references in QUESTIONS]
    assert SquadExactMatch()(results) == {
        "squad_exact_match": pytest.approx(sum(max(one for one, _ in row) for row in each) / len(each))
    }
    assert SquadF1()(results) == {"squad_f1": pytest.approx(sum(max(f1 for _, f1 in row) for row in each) / len(each))}
    assert SquadExactMatch().each(results) == [1, 0, 1, 1, 1, 1, 0, 0]
    assert SquadF1().each(results) == pytest.approx([1, 2 / 3, 1, 1, 1, 1, 6 / 7, 0.4])
