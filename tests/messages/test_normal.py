"""Texts that differ only in how they were typed."""

from regard.messages.normal import key, normal


def test_one_form_for_what_was_typed_in_several() -> None:
    assert normal("Well , I ’ m  fine .") == "Well, I'm fine."
    assert key("I'm fine.") == key("i ' m fine !") == "i'm fine"
    assert key("Really?") != key("Really.")
    assert key(" ... ") == ""
