"""Words of captions as the COCO evaluation counts them: lower-cased, without punctuation.

caption_words("A dog's ball, red.")    # ["a", "dog's", "ball", "red"]

The COCO code runs the Penn Treebank tokenizer, which also parts "dog's" into "dog" and "'s"; here it stays one word.
"""

import re

__all__ = ["caption_words"]

_word = re.compile(r"\w+(?:['’-]\w+)*")


def caption_words(text: str) -> list[str]:
    return _word.findall(text.lower())
