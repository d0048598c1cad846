"""Made conversations: the same for a seed, with intents that are known and mails that clean well."""

from regard.data.builtin.conversations import INTENT, KINDS, REPLIES, Conversations
from regard.messages.clean import Cleaning
from regard.messages.intents import intents
from regard.messages.sensitive import sensitive
from regard.messages.unsuitable import unsuitable


def test_the_same_seed_gives_the_same_conversations() -> None:
    one, same, other = (Conversations(40, 10, 10, seed).splits() for seed in (3, 3, 4))
    assert (one.train, one.valid, one.test) == (same.train, same.valid, same.test)
    assert one.train != other.train
    cleaned = [{Cleaning()(e.source) for e in part} for part in (one.train, one.valid, one.test)]
    assert all(len(part) for part in cleaned)


def test_every_kind_has_replies_that_suit_it() -> None:
    assert all(intent in REPLIES for kind in KINDS.values() for intent in kind.intents)
    assert len(INTENT) == sum(len(replies.split(";")) for replies in REPLIES.values())
    assert not any(map(unsuitable, INTENT))


def test_replies_of_different_intent_are_rarely_one_cluster() -> None:
    """Purity: the share of replies whose true intent is the commonest of their cluster."""
    replies = list(INTENT)
    clusters: dict[str, list[str]] = {}
    for reply, cluster in zip(replies, intents(replies), strict=True):
        clusters.setdefault(cluster, []).append(INTENT[reply])
    pure = sum(max(map(some.count, some)) for some in clusters.values()) / len(replies)
    assert pure > 0.85
    accepted = {cluster for reply, cluster in zip(replies, intents(replies), strict=True) if INTENT[reply] == "accept"}
    assert len(accepted) <= 3


def test_messages_are_not_sensitive_and_many_are_mails() -> None:
    train = Conversations(300, 10, 10).splits().train
    assert not any(sensitive(Cleaning()(one.source)) for one in train)
    assert 0.35 < sum("\n" in one.source for one in train) / len(train) < 0.65
    assert 0.05 < sum(not one.target for one in train) / len(train) < 0.25
    assert not any(word in Cleaning()(one.source) for one in train for word in ("Best regards", "wrote:", "Phone"))
