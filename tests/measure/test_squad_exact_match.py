"""SQuAD's exact match: one example by hand; `test_squad_f1` has it against the official script."""

from regard.measure import Results
from regard.measure.squad_exact_match import SquadExactMatch
from regard.types import Example, Prediction


def test_by_hand() -> None:
    examples = [Example(("d", "q"), "The Kite!"), Example(("d", "q"), "two hats"), Example(("d", "q"), "")]
    found = SquadExactMatch()(Results(examples, [Prediction(text, 0.0) for text in ("kite", "two", "")]))
    assert found == {"squad_exact_match": 2 / 3}
