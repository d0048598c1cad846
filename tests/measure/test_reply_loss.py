"""ReplyLoss by hand, and without a token to count."""

from regard.measure import Results
from regard.measure.reply_loss import ReplyLoss
from regard.types import Example, Prediction


def test_by_hand() -> None:
    examples, predictions = [Example(("m",), "r")] * 4, [Prediction("", None)] * 4
    assert ReplyLoss()(Results(examples, predictions, nats=3.0, tokens=6)) == {"reply_loss": 0.75}
    assert ReplyLoss()(Results(examples, predictions)) == {"reply_loss": 0.0}
