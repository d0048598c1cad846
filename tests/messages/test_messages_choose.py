"""Three suggestions that differ."""

from regard.messages.allowed import AllowedReply
from regard.messages.choose import choose


def test_three_that_differ() -> None:
    def reply(text: str, intent: str, side: str) -> AllowedReply:
        return AllowedReply(text, intent, side, 1)  # type: ignore[arg-type]

    replies = [
        reply("Yes.", "accept", "positive"), reply("Sure.", "accept", "positive"),
        reply("Great!", "praise", "positive"),
        reply("Thanks!", "thank", "positive"), reply("No.", "decline", "negative"), reply("Where?", "where", "neutral"),
    ]  # fmt: skip
    scores = [-1.0, -1.1, -1.5, -1.6, -2.0, -9.0]
    order = [0, 1, 2, 3, 4, 5]
    assert choose(order, scores, replies) == [0, 2, 4]  # one of each intent, and a no in the last place
    assert choose(order, scores, replies, opposite=0.5) == [0, 2, 3]
    assert choose(order, scores, replies, within=0.3, opposite=0.3) == [0]
    assert choose(order, scores, replies, count=2) == [0, 4]
    assert choose([], [], []) == []
    assert choose([4, 5], scores, replies) == [4]
