"""Words of captions."""

from regard.measure._caption_words import caption_words


def test_capitals_and_punctuation_go() -> None:
    assert caption_words("A man's T-shirt , in the rain ...") == ["a", "man's", "t-shirt", "in", "the", "rain"]
    assert caption_words(" .") == []
