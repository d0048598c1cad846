"""Character error rate: jiwer's published examples."""

import pytest
from test_wer import results

from regard.measure.cer import Cer


@pytest.mark.parametrize(
    ("wanted", "said", "rate"),
    [
        ("i can spell", "i cann spell", 1 / 11),  # jiwer's documentation
        ("i hope", "i cann hope", 5 / 6),  # jiwer's tests: "i hope" and "i cann hope"
        ("abc", "", 1.0),
        ("a b", "ab", 1 / 3),
        (" a b ", "a b", 0.0),
    ],
)
def test_examples_of_jiwer(wanted: str, said: str, rate: float) -> None:
    assert Cer()(results((wanted, said))) == {"cer": pytest.approx(rate)}
    assert Cer().each(results((wanted, said))) == [pytest.approx(rate)]
