"""Replies that mean alike, and whether they go along."""

from regard.messages.intents import clustered, intents, polarity


def test_polarity_and_intents() -> None:
    assert [polarity(one) for one in ("Yes, sure.", "No, sorry.", "No problem.", "It is on the table.")] == [
        "positive", "negative", "positive", "neutral",
    ]  # fmt: skip
    replies = ["Yes, I can.", "Sure!", "No, sorry.", "It is on the table.", "On the table.", "You're welcome."]
    assert intents(replies) == ["accept", "accept", "decline", "it is on the table", "it is on the table", "welcome"]
    assert intents(replies) == intents(replies)


def test_clusters_are_led_by_their_first_and_do_not_depend_on_chance() -> None:
    texts = ["the blue car", "a red house", "blue car", "red house here", "seven apples"]
    assert clustered(texts) == [0, 1, 0, 1, 4]
    assert clustered([]) == []
