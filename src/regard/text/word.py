"""Words: the `vocab_size` most frequent ones that occur at least `min_frequency` times; the rest are `<unk>`.

`split` defines a word:

- `space`: split at white space; decoding joins words with one space.
- `punctuation`: punctuation is split from words and keeps the spaces around it (`,▁`, `▁(`), so that decoding restores
  them.

    Word(split="punctuation").train(["Yes, please."]).tokens("Yes, please.")   # Yes  ,  please  .  </s>
"""

from collections.abc import Iterable
from typing import Annotated, Literal

from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers import Tokenizer as BackendTokenizer

from regard.ranges import Number, Vocabulary, ranged
from regard.text import Tokenizer, learn, mark, small_letters, special

__all__ = ["Word"]


def punctuation(tokenizer: BackendTokenizer) -> None:
    """Words and signs apart; one space between two words is understood, any other is part of a piece."""
    tokenizer.normalizer = normalizers.Sequence([tokenizer.normalizer, normalizers.Replace(" ", mark)])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(rf"(?<=\w){mark}(?=\w)"), "removed"),
            pre_tokenizers.Split(Regex(rf"\w+|{mark}?[^\w{mark}]{mark}?|{mark}+"), "isolated"),
        ]
    )
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.WordPiece(prefix=" ", cleanup=False),  # a space between every two pieces,
            decoders.Fuse(),
            decoders.Replace(Regex(r" (?=[^\w ])|(?<=[^\w ]) "), ""),  # which goes where one of them is a sign
            decoders.Replace(mark, " "),
        ]
    )


class Word:
    """One token per word, split at spaces or also at punctuation."""

    @ranged
    def __init__(
        self,
        vocab_size: Annotated[Vocabulary, "largest vocabulary, in words, including the four special tokens"] = 30_000,
        lower: Annotated[bool, "lower-case the text first"] = False,
        min_frequency: Annotated[Number, "occurrences a word needs to enter the vocabulary"] = 1,
        split: Annotated[
            Literal["space", "punctuation"], "split at spaces only, or also between words and punctuation"
        ] = "space",
    ) -> None:
        self.vocab_size = vocab_size
        self.lower = lower
        self.min_frequency = min_frequency
        self.split = split

    def train(self, texts: Iterable[str]) -> Tokenizer:
        tokenizer = BackendTokenizer(models.WordLevel())
        tokenizer.normalizer = small_letters(self.lower)
        if self.split == "punctuation":
            punctuation(tokenizer)
        else:  # no decoder: tokenizers then writes spaces between
            tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        trainer = trainers.WordLevelTrainer(
            vocab_size=self.vocab_size - len(special),
            min_frequency=self.min_frequency,
            show_progress=False,
            special_tokens=[],
        )
        return learn(tokenizer, trainer, texts)
