"""Terms as whole words, and the subjects of messages."""

import pytest

from regard.messages.sensitive import TermList, sensitive


def test_terms_are_whole_words_with_gaps_and_ends() -> None:
    there = TermList(["kill*", "lost my ... mother", "icu"])
    assert all(map(there, ["They killed it.", "I lost my mother", "I lost my dear old mother", "in the ICU."]))
    assert not any(map(there, ["skill", "I lost my keys", "I lost my one two three four five mother", "icus"]))


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("My father passed away last night.", "death"),
        ("I want to end my life.", "self-harm"),
        ("The biopsy is on Monday.", "health"),
        ("I was fired today.", "dismissal"),
        ("What is your password?", "credentials and payment"),
        ("You are an idiot.", "insult"),
        ("See you on Friday at the station.", ""),
        ("How is your skill set?", ""),
    ],
)
def test_sensitive_subjects(text: str, subject: str) -> None:
    assert sensitive(text) == subject
