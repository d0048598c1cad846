"""How a task reads its inputs: with an encoder trained here, or a pre-trained one with its tokenizer.

A pre-trained encoder (`encoder=pretrained encoder.from=FOLDER`) brings its tokenizer and word vectors. It reads two
texts as one, with its special tokens between them, and gives a state for each word where words are labelled. For a
question and a document, the special token after the document says that the answer is not in it.

    reading = InputReading.of(encoder, field, roles=2, pools=True);  embed, encoder = reading.build()
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import nn

from regard.encode import Encoder
from regard.encode.pretrained import Pretrained, Table
from regard.errors import RegardError, counted
from regard.fields import Input, require
from regard.fields.embed import Embedding
from regard.fields.text import Text
from regard.find import Spec, build, find, named, table
from regard.pretrained.source import located
from regard.pretrained.weights import Checkpoint, save
from regard.regions import Region
from regard.text import Tokenizer
from regard.text.pretrained import Framed
from regard.types import Sequences, Subwords

__all__ = ["InputReading", "implied"]

# Devlin et al. 2019, appendix A.3; a frozen encoder leaves a head to train, and LoRA's new matrices start from nothing.
RATES = {"tuned": 5e-5, "frozen": 2e-3, "lora": 5e-4}


def implied(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that a pre-trained encoder brings along, where one is asked for."""
    encoder = options.get("encoder", "")
    if not isinstance(encoder, str | Mapping) or named(encoder) != "pretrained":
        return {}
    own = table(encoder)
    how = "frozen" if own.get("freeze") is True else "lora" if own.get("lora") else "tuned"
    train = {"lr": RATES[how], "epochs": 3, "warmup": 100, "batch_size": 32, "batch_tokens": 8192, "ema": 0.0}
    tokenizer = {"name": "pretrained", **({"from": own["from"]} if "from" in own else {})}
    return {
        "input": {"name": "text", "tokenizer": tokenizer, "max_length": 10**6},
        "dropout": 0.1,
        "train": train,
    }


class InputReading:
    """An encoder of our own, built from its options."""

    pretrained = False
    joint = False  # two inputs are read as one

    field: Input

    def __init__(self, encoder: Spec, field: Input) -> None:
        self.encoder, self.field = encoder, field

    @staticmethod
    def of(encoder: Spec, field: Input, roles: int, pools: bool) -> "InputReading":
        if not find("encode", named(encoder)).pretrained:
            return InputReading(encoder, field)
        return PretrainedInput(encoder, field, roles, pools)

    @property
    def text(self) -> Framed:
        raise NotImplementedError

    @property
    def notes(self) -> list[str]:
        return []

    def begin(self) -> None:
        """The field has learned: a new network follows."""

    def check(self) -> None:
        """Raise RegardError where the field is not one that the encoder can read."""

    def fits(self, rows: Sequence[Sequence[Any]], where: Sequence[str]) -> None:
        """Raise RegardError for inputs that are too long for the encoder."""

    def joined(self, rows: Sequence[Sequence[Any]]) -> tuple[Sequences, ...]:
        raise NotImplementedError

    def joined_regions(self, sides: Sequence[Sequence[Region]]) -> tuple[list[Any], tuple[int, ...]]:
        raise NotImplementedError

    def save(self, embed: nn.Module, encoder: nn.Module, folder: Path) -> Path:
        raise NotImplementedError

    def question(self, ids: Sequence[int]) -> list[int]:
        """The tokens of a question, as they are read with a document."""
        return [*ids]

    def document(self, ids: Sequence[int]) -> list[int]:
        """The tokens of a part of a document, and the one that says that the answer is not in it."""
        return [*ids, Tokenizer.end]

    def passages(self, documents: Sequence[Sequence[int]], questions: Sequence[Sequence[int]]) -> list[Sequences]:
        return [Sequences.pad(documents), Sequences.pad(questions)]

    def passage_fits(self, document: Sequence[int], question: Sequence[int], where: str) -> None:
        """Raise RegardError for a question and a part of a document that are too long for the encoder."""

    def build(self) -> tuple[Embedding, Encoder]:
        embed = self.field.embedding()
        return embed, build("encode", self.encoder, inputs=embed.size)


class PretrainedInput(InputReading):
    """A pre-trained encoder, with its tokenizer and word vectors."""

    pretrained = True

    def __init__(self, encoder: Spec, field: Input, roles: int, pools: bool) -> None:
        self.encoder, self.options = encoder, table(encoder)
        self.joint = roles == 2 and pools and self.options.get("pair", "joint") == "joint"
        self.checkpoint: Checkpoint | None = None
        if not field.imported:
            raise RegardError(
                "encoder=pretrained with an input that it cannot read",
                expected="its own tokenizer",
                do="leave input and input.tokenizer out",
            )
        self.field: Text = require(field, Text, "input")
        self.field.by_word = not pools

    @property
    def text(self) -> Framed:
        text = self.field.text
        assert isinstance(text, Framed)
        return text

    @property
    def notes(self) -> list[str]:
        if self.checkpoint is None:
            return []
        of = self.checkpoint.architecture
        name = str(self.options["from"])
        name = name if name.startswith("hf:") else self.checkpoint.folder.name
        said = f"{name}: {of.model_type}, {counted(of.layers, 'layer')} of width {of.size}"
        heads = sorted({name.split(".")[0] for name in self.checkpoint.unread})
        return [said + (f"; not used: {', '.join(heads)}" if heads else "")]

    def begin(self) -> None:
        self.checkpoint = Checkpoint.open(located(str(self.options.get("from", ""))))
        self.check()
        if self.checkpoint.architecture != self.text.architecture:
            raise RegardError(
                f"input.tokenizer.from is not the model of encoder.from={self.options['from']}",
                expected="the tokenizer that the encoder was trained with",
                do="leave input.tokenizer out",
            )

    def check(self) -> None:
        if self.text.architecture is None:
            raise RegardError(
                "a tokenizer without its model", expected="a folder with config.json", do="set encoder.from"
            )

    def fits(self, rows: Sequence[Sequence[Any]], where: Sequence[str]) -> None:
        self.check()
        of = self.text.architecture
        assert of is not None
        spare = len(self.text.pair.before + self.text.pair.between + self.text.pair.after)
        around = len(self.text.single.before + self.text.single.after)
        for sides, at in zip(rows, where, strict=True):
            sizes = [self.field.pieces(row) for row in sides]
            longest = sum(sizes) - 2 * around + spare if self.joint else max(sizes)
            if longest > of.longest:
                room = of.longest if not self.joint else (of.longest - spare) // 2 + around
                what = "in both texts" if self.joint else "in a text"
                raise RegardError(
                    f"{at}: {longest:,} tokens {what}",
                    expected=f"at most {of.longest:,}, the positions of this encoder",
                    do="shorten it" if self.field.by_word else f"shorten it, or set input.truncate={room}",
                )

    def joined(self, rows: Sequence[Sequence[Any]]) -> tuple[Sequences, ...]:
        pairs = [self.text.join(*sides) for sides in rows]
        ids, segments = (Sequences.pad(some) for some in zip(*pairs, strict=True))
        return (Subwords(ids.values, ids.mask, ids.lengths, segments.values),)

    def joined_regions(self, sides: Sequence[Sequence[Region]]) -> tuple[list[Any], tuple[int, ...]]:
        found, second = self.text.joined_tokens(*sides)
        return [tuple(found)], (second,)

    def question(self, ids: Sequence[int]) -> list[int]:
        return [*self.text.pair.before, *ids, *self.text.pair.between]

    def document(self, ids: Sequence[int]) -> list[int]:
        return [*ids, *self.text.pair.after]

    def passages(self, documents: Sequence[Sequence[int]], questions: Sequence[Sequence[int]]) -> list[Sequences]:
        """With the segment of each position, as `joined` would have it."""
        frame = self.text.pair
        before, first, between, second, after = frame.segments
        around = len(frame.before) + len(frame.between)
        segments = (
            [[*[second] * (len(row) - len(frame.after)), *[after] * len(frame.after)] for row in documents],
            [
                [*[before] * len(frame.before), *[first] * (len(row) - around), *[between] * len(frame.between)]
                for row in questions
            ],
        )
        return [
            Subwords(ids.values, ids.mask, ids.lengths, Sequences.pad(kinds).values)
            for ids, kinds in zip(super().passages(documents, questions), segments, strict=True)
        ]

    def passage_fits(self, document: Sequence[int], question: Sequence[int], where: str) -> None:
        self.check()
        of, size, after = self.text.architecture, len(document) + len(question), len(self.text.pair.after)
        assert of is not None
        if after != 1:
            raise RegardError(f"a tokenizer that puts {counted(after, 'token')} after two texts", expected="one token")
        if size > of.longest:
            raise RegardError(
                f"{where}: {size:,} tokens in the question and a window of the document",
                expected=f"at most {of.longest:,}, the positions of this encoder",
                do="set a smaller window and stride, or shorten the question",
            )

    def save(self, embed: nn.Module, encoder: nn.Module, folder: Path) -> Path:
        """The encoder in the layout that it came in."""
        assert isinstance(embed, Table)
        assert isinstance(encoder, Pretrained)
        return save(folder, encoder.merged(embed), encoder.architecture, self.text.table)

    def build(self) -> tuple[Embedding, Encoder]:
        self.check()
        given = {"inputs": 0, "architecture": self.text.architecture}
        encoder: Pretrained = build("encode", self.encoder, **given)
        embed = encoder.table()
        if self.checkpoint is not None:
            encoder.fill(embed, self.checkpoint.tensors())
        return embed, encoder
