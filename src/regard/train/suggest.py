"""Defaults that fit: model size, dropout, vocabulary, batch and learning rate from the data, the device and the time.

A model that is too large for the time given has learned nothing when the time is up, and one that is too large for
the data learns it by heart. So a task names a recipe of this module, and each recipe reads a few facts (how many
examples, how long they are, how many different words; which device, how many cores, how much time) and chooses the
options that the user did not set. Every choice comes with its reason; `regard train TASK --dry-run` prints both.

On a CPU the time of a training step is estimated as `overhead + multiply-adds · slope` per token. Both constants were
measured on two cores (docs/LOG.md). The estimate only has to be right within a factor of two: it chooses between sizes
that differ by that much, and the time limit itself is kept by the training loop.

    facts = Facts.of(splits.train, [*task.fields.values()], device="cpu", cores=2, seconds=300)
    for choice in generation(facts, Parts(asked, config)): print(choice.key, choice.value, choice.why)
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from regard.errors import counted
from regard.fields import Field, Profile
from regard.find import find, settable
from regard.types import Example

__all__ = [
    *("Choice", "Facts", "Parts", "Recipe", "captions", "generation", "histories", "language"),
    *("masking", "nested", "pictures", "reading", "replies", "sentence", "speech"),
    "summary",
    "tagging",
]

SAMPLE = 50_000  # examples whose words are counted
ASSUMED = 600.0  # seconds that a training on a CPU may take where no time was given
USABLE = 0.85  # of the time goes into training steps; the rest into reading, validating and testing
# Microseconds of a training step per token on two cores: a constant, and per million multiply-adds (forward pass).
SLOPE = 73.0
OVERHEAD = {"decoder": 80.0, "encoder": 30.0}
# On a GPU small models are bound by launches, not by arithmetic.
GPU_OVERHEAD = {"decoder": 15.0, "encoder": 8.0}


@dataclass(frozen=True)
class Choice:
    """One option, the value chosen for it, and why."""

    key: str
    value: Any
    why: str


@dataclass(frozen=True)
class Facts:
    """What the choice depends on. The last entry of `words` and `distinct` is the target's."""

    examples: int
    words: tuple[float, ...]  # in a value, on average
    distinct: tuple[int, ...]  # different words over all texts
    letters: int  # different characters
    longest: int  # characters of the longest input
    longest_target: int = 0  # characters of the longest target
    encoder: str = ""  # the encoder that suits the input, where that is not the task's usual one
    device: str = "cpu"
    cores: int = 2
    seconds: float = math.inf

    @staticmethod
    def of(examples: Sequence[Example], fields: Sequence[Field], device: str, cores: int, seconds: float) -> "Facts":
        """`fields` are those of the inputs and, last, of the target; without a target that of the text alone."""
        some = examples[:: max(1, len(examples) // SAMPLE)]
        values = [[one.inputs[side] for one in some] for side in range(len(some[0].inputs) if some else 1)]
        every = [field.profile(side) for field, side in zip(fields, [*values, [e.target for e in some]], strict=False)]
        if len(every) == len(values):  # text alone
            every.append(Profile(0.0))
        return Facts(
            len(examples),
            tuple(one.length for one in every),
            tuple(one.distinct for one in every),
            max(one.letters for one in every),
            max(one.longest for one in every[:-1]),
            every[-1].longest,
            every[0].encoder,
            device,
            cores,
            seconds,
        )

    @property
    def budget(self) -> float:
        """Seconds for training steps."""
        given = self.seconds if math.isfinite(self.seconds) or self.gpu else ASSUMED
        return USABLE * given

    @property
    def gpu(self) -> bool:
        return self.device != "cpu"

    @property
    def machine(self) -> str:
        return "a GPU" if self.gpu else counted(self.cores, "CPU core")

    @property
    def time(self) -> str:
        if math.isfinite(self.seconds):
            return f"{self.seconds:.0f} s on {self.machine}"
        return self.machine if self.gpu else f"{ASSUMED:.0f} s on {self.machine} (no --time given)"

    def microseconds(self, kind: str, mega_adds: float) -> float:
        """The time of a training step per token."""
        if self.gpu:
            return GPU_OVERHEAD[kind] + mega_adds * SLOPE / 500
        return (OVERHEAD[kind] + mega_adds * SLOPE) * float((2 / min(max(self.cores, 1), 16)) ** 0.8)


class Parts:
    """Which parts a configuration has, so that options are only chosen for parts that have them.

    `asked` is what the user set, `config` the whole configuration that follows from it.
    """

    def __init__(self, asked: Mapping[str, Any], config: Mapping[str, Any]) -> None:
        self.asked, self.config = asked, config

    def name(self, key: str) -> str:
        """The name of the part in a place; "" where there is none, or options stand without one."""
        return _name(_reach(self.config, key))

    def given(self, key: str) -> Any:
        """What was asked for under a dotted name, or None."""
        return _reach(self.asked, key)

    def has(self, key: str) -> bool:
        """Whether there is an option of this dotted name."""
        *path, last = key.split(".")
        table = _reach(self.config, ".".join(path)) if path else self.config
        return isinstance(table, Mapping) and last in table

    def default(self, key: str) -> Any:
        return _reach(self.config, key)


Recipe = Callable[[Facts, Parts], list[Choice]]


def nested(choices: Sequence[Choice], parts: Parts) -> dict[str, Any]:
    """The choices as a table of options, to be laid beneath what was asked for."""
    options: dict[str, Any] = {}
    for choice in choices:
        *path, last = choice.key.split(".")
        table = options
        for depth, word in enumerate(path):
            name = parts.name(".".join(path[: depth + 1]))
            table = table.setdefault(word, {"name": name} if name else {})
        table[last] = choice.value
    return options


# --- a text in, a text out ---------------------------------------------------------------------------------

WIDTHS = (64, 96, 128, 192, 256)
# Tokens (the mean of both sides) a model of each width should see in training, and words of target text it should find
# in the data.
NEEDED = {64: 0.0, 96: 0.6e6, 128: 1.2e6, 192: 2.2e6, 256: 5e6}
HELD = {64: 0, 96: 3_000, 128: 20_000, 192: 150_000, 256: 2_000_000}
LARGE = 200_000  # words of target text from which on a GPU the tasks' own defaults, measured there, are the best known
FIRST, LETTERS = 400, 6  # tokens of a document that are read, and letters in a word with its space
WHOLE = 1_000  # different words that all find room in a vocabulary of as many subwords
PIECES = 1.25  # subwords in a word
USUAL = 3e6  # target tokens to train on where nobody limits the time
MOST_EPOCHS = 60


def summary(facts: Facts, parts: Parts) -> list[Choice]:
    """As `generation`, and of long documents only the beginning is read."""
    return generation(facts, parts, truncates=True)


def generation(facts: Facts, parts: Parts, truncates: bool = False) -> list[Choice]:
    """Encoder and decoder, each side with its own subwords."""
    first = FIRST if facts.gpu else FIRST // 2
    cut = truncates and parts.has("source.truncate") and facts.longest > first * LETTERS
    source, target = facts.words[0], max(facts.words[-1], 1.0)
    words = facts.examples * target
    if facts.gpu and words >= LARGE:
        return []
    vocabularies = [
        _pieces(facts.examples * facts.words[side], facts.distinct[side], facts.letters) for side in (0, -1)
    ]
    ratio = source / target

    def tokens(width: int) -> float:
        encoder, decoder, hidden = 2 * width, 2 * width, width
        adds = ratio * 6 * (width * width + hidden * hidden) + 3 * (width * decoder + decoder * decoder)
        adds += ratio * encoder * width + decoder * width + (encoder + decoder) * width + width * vocabularies[1]
        overhead = (1 + ratio) / 2
        return facts.budget * 1e6 / (overhead * facts.microseconds("decoder", adds / overhead / 1e6))

    read = (1 + ratio) / 2  # tokens of either side for each target token
    fits = [width for width in WIDTHS if words >= HELD[width] and read * tokens(width) >= NEEDED[width]]
    width = max(fits, default=WIDTHS[0])
    an_epoch = words * PIECES
    seen = min(tokens(width), MOST_EPOCHS * an_epoch)
    if not math.isfinite(facts.budget):
        seen = min(seen, max(USUAL, 10 * an_epoch))
    epochs = max(1, round(seen / an_epoch))
    dropout = 0.2 if epochs < 15 else 0.3
    batch = 1024 if read * seen < 2.2e6 else 2048
    transformer = "transformer" in (parts.name("encoder"), parts.name("decoder"))
    lr = 2e-3 if transformer else _round(min(1e-2, 8e-3 * (128 / width) ** 0.7))
    enough = f"{counted(round(words), 'word')} to write; {facts.time}"
    often = f"about {counted(epochs, 'epoch')}" + (" in this time" if math.isfinite(facts.budget) else "")
    choices = []
    if parts.has("source.embed.dim"):
        choices += [Choice("source.embed.dim", width, enough), Choice("source.embed.dropout", dropout, often)]
    if cut:
        why = f"a beginning tells most; the longest has {facts.longest:,} letters"
        choices.append(Choice("source.truncate", first, why))
    else:
        choices += _room("source", facts.longest, parts)
    choices += _room("target", facts.longest_target, parts)
    for role, size in zip(("source", "target"), vocabularies, strict=True):
        if parts.name(f"{role}.tokenizer") == "bpe":
            met = facts.distinct[0 if role == "source" else -1]
            choices.append(Choice(f"{role}.tokenizer.vocab_size", size, f"{met:,} different words"))
    choices += _sized("encoder", "encode", parts, width, dropout, enough, often)
    choices += _sized("decoder", "predict.generate", parts, width, dropout, enough, often)
    if parts.name("attention.score") == "additive":
        choices.append(Choice("attention.score.hidden", width, enough))
    choices += [
        Choice("train.batch_tokens", batch, f"{often}, small batches for more steps"),
        Choice("train.lr", lr, "the smaller the model, the higher"),
        *_schedule(facts, epochs, seen * (ratio if cut else 1.0) / batch, often),
        Choice("train.patience", 20, "the learning rate falls to 0 at the end, and the score rises until then"),
    ]
    return choices


def _pieces(words: float, distinct: int, letters: int) -> int:
    """A vocabulary of subwords grows with the text, and needs a third of the different words at most. Few words that
    come again and again, as in records, are best read whole."""
    if distinct <= WHOLE and words >= 20 * distinct:
        return WHOLE
    wished = 2000 * (max(words, 1) / 60_000) ** 0.4
    return int(round(_clamp(min(wished, distinct / 3), 300 + letters, 16_000), -2))


def _sized(key: str, folder: str, parts: Parts, width: int, dropout: float, why: str, often: str) -> list[Choice]:
    """The sizes of an encoder or a decoder, whichever it is."""
    name = parts.name(key)
    if "." in name:  # a part from elsewhere knows its own defaults
        return []
    known = settable(find(folder, name))
    wanted: dict[str, Any] = {"embed": width, "hidden": 2 * width if key == "decoder" else width}
    if name == "transformer":
        wanted |= {"size": width, "layers": 2, "ffn": 2 * width}
    elif name == "multi_head":
        wanted |= {"size": 2 * width}
    elif "layers" in known and width < WIDTHS[-1]:
        wanted |= {"layers": 1}
    sizes = [Choice(f"{key}.{option}", value, why) for option, value in wanted.items() if option in known]
    return sizes + ([Choice(f"{key}.dropout", dropout, often)] if dropout and "dropout" in known else [])


def _room(role: str, longest: int, parts: Parts) -> list[Choice]:
    """Room for the longest text, where the default is too short for it."""
    room = longest + 1  # no more tokens than characters, and an end
    usual = parts.default(f"{role}.max_length")
    if usual is None or room <= usual:
        return []
    return [Choice(f"{role}.max_length", room, f"the longest text has {longest:,} characters")]


def _schedule(facts: Facts, epochs: int, steps: float, why: str, most: int = MOST_EPOCHS) -> list[Choice]:
    """How long, and how slowly weights are averaged. A time limit ends a training that turns out slower; one that
    turns out faster than estimated should use the time it has."""
    wished = min(most, math.ceil(1.5 * epochs)) if math.isfinite(facts.seconds) else epochs
    return [
        Choice(
            "train.epochs",
            wished,
            f"{epochs} estimated for this time; more if steps turn out faster" if wished != epochs else why,
        ),
        Choice("train.warmup", int(_clamp(steps / 10, 10, 200)), f"a tenth of about {counted(round(steps), 'step')}"),
        Choice("train.ema", 0.99 if steps < 5000 else 0.999, "a mean over the last steps, not over all"),
    ]


# --- a picture in, a text out ------------------------------------------------------------------------------

CAPTION_EPOCHS = 20
A_PICTURE = 2_000.0  # microseconds of a training step on two cores, for one of 64 × 64 pixels and the usual network
RARE = {0: 1, 20_000: 2, 150_000: 5}  # words of captions → times a word must occur to be known


def captions(facts: Facts, parts: Parts) -> list[Choice]:
    """A decoder after a small convolutional network, or after features that were computed before."""
    target = max(facts.words[-1], 1.0)
    words = facts.examples * target

    def passes(width: int) -> float:
        adds = 3 * (width * 2 * width + 4 * width * width) + width * facts.distinct[-1]
        an_example = target * facts.microseconds("decoder", adds / 1e6)
        an_example += A_PICTURE / (50 if facts.gpu else 1)
        return facts.budget * 1e6 / max(1.0, facts.examples * an_example)

    fits = [width for width in WIDTHS if words >= HELD[width] and passes(width) >= min(4, CAPTION_EPOCHS)]
    width = max(fits, default=WIDTHS[0])
    epochs = max(1, round(min(passes(width), CAPTION_EPOCHS)))
    enough = f"{counted(round(words), 'word')} to write; {facts.time}"
    often = f"about {counted(epochs, 'epoch')}"
    rows = 32 if facts.examples < 5_000 else 64
    choices = [*_room("target", facts.longest_target, parts)]
    if parts.name("target.tokenizer") == "word":
        least = max(times for many, times in RARE.items() if words >= many)
        choices.append(Choice("target.tokenizer.min_frequency", least, f"{facts.distinct[-1]:,} different words"))
    choices += _sized("decoder", "predict.generate", parts, width, 0.3, enough, often)
    if parts.name("attention.score") == "additive":
        choices.append(Choice("attention.score.hidden", width, enough))
    return [
        *choices,
        Choice("train.batch_tokens", 0, "batches are counted in examples"),
        Choice("train.batch_size", rows, "small batches for more steps"),
        Choice("train.lr", 5e-4 if parts.name("decoder") == "transformer" else 1e-3, "the usual one for captions"),
        *_schedule(facts, epochs, epochs * facts.examples / rows, often, most=CAPTION_EPOCHS),
    ]


# --- a recording in, a text out -----------------------------------------------------------------------------

# Units of a model for so many positions of sound in the data, and microseconds of a training step per position on two
# cores: convolutions, two LSTM layers both ways, and the decoder's share.
SPEECH_WIDTHS = {64: 0, 96: 50_000, 128: 150_000, 192: 1_000_000, 256: 5_000_000}
SPEECH_EPOCHS = 60
A_POSITION = {64: 50.0, 96: 70.0, 128: 100.0, 192: 180.0, 256: 300.0}


def speech(facts: Facts, parts: Parts) -> list[Choice]:
    """An encoder over shortened frames, and a small decoder that writes characters. Small sets are disturbed more."""
    positions = facts.examples * facts.words[0]

    def passes(width: int) -> float:
        each = A_POSITION[width] * float((2 / min(max(facts.cores, 1), 8)) ** 0.6) / (40 if facts.gpu else 1)
        return facts.budget * 1e6 / max(1.0, positions * each)

    fits = [width for width, least in SPEECH_WIDTHS.items() if positions >= least and passes(width) >= 10]
    width = max(fits, default=64)
    epochs = max(1, round(min(passes(width), SPEECH_EPOCHS)))
    enough = f"{counted(round(positions), 'position')} of sound; {facts.time}"
    often = f"about {counted(epochs, 'epoch')}"
    few = f"{counted(facts.examples, 'recording')}"
    choices = [*_room("target", facts.longest_target, parts)]
    if parts.has("audio.embed") and epochs >= 10:  # what is heard again and again should sound a little different
        changes: dict[str, Any] = {"speed": 0.1, "warp": 0.1, "noise": 0.5, "masks": 2}
        choices += [Choice(f"audio.embed.{name}", value, f"{few}, {often}") for name, value in changes.items()]
    choices.append(Choice("audio.embed.dim", width, enough))
    choices += _sized("encoder", "encode", parts, width, 0.2, enough, often)
    if "layers" in settable(find("encode", parts.name("encoder"))) and parts.name("encoder") != "transformer":
        choices = [one for one in choices if one.key != "encoder.layers"] + [Choice("encoder.layers", 2, enough)]
    choices += _sized("decoder", "predict.generate", parts, width, 0.2, enough, often)
    if parts.name("attention.score") == "additive":
        choices.append(Choice("attention.score.hidden", width, enough))
    rows = 16 if facts.examples < 2_000 else 32
    return [
        *choices,
        Choice("train.batch_tokens", 0, "batches are counted in examples"),
        Choice("train.batch_size", rows, "small batches for more steps"),
        Choice("train.lr", 1e-3 if parts.name("encoder") == "transformer" else 2e-3, "the usual one for small models"),
        *_schedule(facts, epochs, epochs * facts.examples / rows, often, most=SPEECH_EPOCHS),
    ]


# --- one sentence or two in, a decision out ----------------------------------------------------------------

SENTENCE_WIDTHS = (50, 100, 200, 300)
# Examples a model of each width should find in the data.
SENTENCE_HELD = {50: 0, 100: 400, 200: 1_500, 300: 20_000}
SENTENCE_LR = {50: 4e-3, 100: 3e-3, 200: 3e-3, 300: 2e-3}
# Larger than one over the square root of the width: words told apart from the start are learned in fewer epochs.
SENTENCE_INIT = 0.3


def sentence(facts: Facts, parts: Parts) -> list[Choice]:
    """One sentence: few epochs with much dropout, for a small set is soon learned by heart. Two: no dropout, because
    what counts is how they compare, and noise in either hides that (docs/LOG.md)."""
    if len(facts.words) > 2:
        epochs = _epochs(facts, (3_000, 15), (6_000, 10), (math.inf, 5))
        choices = _reading(facts, parts, facts.examples, epochs, 0.0, 0.0)
        why = f"the best found for pairs learned from scratch; {counted(facts.examples, 'example')}"
        if parts.name("encoder") in RECURRENT and parts.given("pool") is None:
            choices.append(Choice("pool.name", "max", why))
        if parts.name("match") == "difference":
            choices.append(Choice("match.name", "distance", why))
    else:  # a single sentence is read in half the time and says one thing
        epochs = _epochs(facts, (2_000, 12), (6_000, 8), (math.inf, 5))
        choices = _reading(facts, parts, 4 * facts.examples, epochs, 0.5, 0.3)
    return choices


def tagging(facts: Facts, parts: Parts) -> list[Choice]:
    """A decision for each word: more to learn from in each text."""
    return _reading(facts, parts, 4 * facts.examples, _epochs(facts, (20_000, 15), (math.inf, 8)), 0.2, 0.0, head=False)


RECURRENT = ("bigru", "bilstm")


def _epochs(facts: Facts, *passes: tuple[int | float, int]) -> int:
    return next(epochs for most, epochs in passes if facts.examples < most)


def _reading(
    facts: Facts, parts: Parts, held: int, epochs: int, drop: float, embedding_dropout: float, head: bool = True
) -> list[Choice]:
    tokens = facts.examples * sum(facts.words[:-1]) * 1.1

    def passes(width: int) -> float:
        adds = 8 * 2 * width * width + 2 * (2 * width) ** 2
        return facts.budget * 1e6 / max(1.0, tokens * facts.microseconds("encoder", adds / 1e6))

    fits = [width for width in SENTENCE_WIDTHS if held >= SENTENCE_HELD[width] and passes(width) >= min(epochs, 4)]
    width = max(fits, default=SENTENCE_WIDTHS[0])
    epochs = max(1, min(epochs, round(passes(width)))) if math.isfinite(facts.budget) else epochs
    why = f"{counted(facts.examples, 'example')}; {facts.time}"
    choices: list[Choice] = []
    if parts.given("input.embed.vectors"):
        drop = 0.3
    dropout = "without it a set of this size is overfitted in a few epochs" if drop else "it hides how sentences differ"
    if facts.encoder and parts.given("encoder") is None:
        choices.append(Choice("encoder.name", facts.encoder, "it suits this kind of input"))
    else:
        choices += _sized("encoder", "encode", parts, width, 0.0, why, "")
    if parts.has("input.embed.init_std") and not parts.given("input.embed.vectors"):
        choices += [
            Choice("input.embed.dim", width, why),
            Choice("input.embed.dropout", embedding_dropout, dropout),
            Choice("input.embed.init_std", SENTENCE_INIT, "vectors are learned from scratch"),
        ]
        if parts.name("input.tokenizer") == "word":
            rare = "words seen once teach what to do with unknown words"
            choices.append(Choice("input.tokenizer.min_frequency", 2, rare))
    choices += _room("input", facts.longest, parts)
    if head:
        choices.append(Choice("head.hidden", width, why))
    rows = 32 if facts.examples < 20_000 else 64
    choices += [
        Choice("dropout", drop, dropout),
        Choice("train.batch_tokens", 0, "batches are counted in examples"),
        Choice("train.batch_size", rows, "small batches for more steps"),
        Choice("train.lr", SENTENCE_LR[width], "the smaller the model, the higher"),
        *_schedule(facts, epochs, epochs * facts.examples / rows, "more would overfit a set of this size", most=epochs),
    ]
    return choices


# --- a document and a question in, an answer out ------------------------------------------------------------

ANSWER_WIDTHS = (48, 100, 200)
# Questions a model of each width should find in the data.
ANSWER_HELD = {48: 0, 100: 5_000, 200: 20_000}
ANSWER_EPOCHS = 12


def reading(facts: Facts, parts: Parts) -> list[Choice]:
    """Both sides are read by one encoder, and the document once more; most of the time goes into the document."""
    spans = parts.default("answer") == "span"
    tokens = facts.examples * (facts.words[0] + facts.words[1]) * PIECES

    def passes(width: int) -> float:
        adds = 8 * 2 * width * width + (8 * 7 * width * width + 16 * width * width if spans else 0)
        return facts.budget * 1e6 / max(1.0, tokens * facts.microseconds("encoder", adds / 1e6))

    fits = [width for width in ANSWER_WIDTHS if facts.examples >= ANSWER_HELD[width] and passes(width) >= 4]
    width = max(fits, default=ANSWER_WIDTHS[0])
    most = ANSWER_EPOCHS if facts.examples >= ANSWER_HELD[100] else 3 * ANSWER_EPOCHS
    epochs = max(1, min(most, round(passes(width)))) if math.isfinite(facts.budget) else most
    why = f"{counted(facts.examples, 'question')}; {facts.time}"
    rows = 32 if facts.examples < ANSWER_HELD[200] else 64
    choices: list[Choice] = []
    if parts.has("input.embed.init_std") and not parts.given("input.embed.vectors"):
        choices.append(Choice("input.embed.dim", width, why))
    for key in ("encoder", *(("again",) if spans else ())):
        choices += _sized(key, "encode", parts, width, 0.0, why, "")
    if spans and parts.name("point") == "dynamic":
        choices.append(Choice("point.hidden", width, why))
        if width < ANSWER_WIDTHS[-1]:
            choices.append(Choice("point.pool", 4, "a small model needs few alternatives"))
    return [
        *choices,
        Choice("dropout", 0.2 if facts.examples < ANSWER_HELD[200] else 0.3, why),
        Choice("train.batch_tokens", 0, "batches are counted in examples"),
        Choice("train.batch_size", rows, "small batches for more steps"),
        Choice("train.lr", {48: 4e-3, 100: 2e-3, 200: 1e-3}[width], "the smaller the model, the higher"),
        *_schedule(facts, epochs, epochs * facts.examples / rows, counted(epochs, "epoch"), most=most),
    ]


# --- text alone ---------------------------------------------------------------------------------------------

LANGUAGE_WIDTHS = (64, 128, 200, 400)
LANGUAGE_NEEDED = {64: 0.0, 128: 0.5e6, 200: 1.5e6, 400: 10e6}
MOST_EPOCHS_OF_TEXT = 20
LANGUAGE_HELD = {64: 0, 128: 50_000, 200: 300_000, 400: 600_000}


def language(facts: Facts, parts: Parts) -> list[Choice]:
    """A model of running text."""
    words = facts.examples * facts.words[0]
    if facts.gpu and words >= LARGE:
        return []
    pieces = _pieces(words, facts.distinct[0], facts.letters)
    vocabulary = pieces if parts.name("text.tokenizer") == "bpe" else min(facts.distinct[0], 30_000)

    def tokens(width: int) -> float:
        return facts.budget * 1e6 / facts.microseconds("encoder", (8 * width * width + width * vocabulary) / 1e6)

    fits = [w for w in LANGUAGE_WIDTHS if words >= LANGUAGE_HELD[w] and tokens(w) >= LANGUAGE_NEEDED[w]]
    width, an_epoch = max(fits, default=LANGUAGE_WIDTHS[0]), words * PIECES
    epochs = round(_clamp(tokens(width) / max(an_epoch, 1), 1, MOST_EPOCHS_OF_TEXT))
    dropout = 0.1 if epochs < 5 else 0.3
    why = f"{counted(round(words), 'word')} of text; {facts.time}"
    often = f"about {counted(epochs, 'epoch')}"
    choices = []
    if parts.name("text.tokenizer") == "bpe":
        choices.append(Choice("text.tokenizer.vocab_size", pieces, f"{facts.distinct[0]:,} different words"))
    if parts.name("network") == "recurrent":
        choices += [
            Choice("network.hidden", width, why),
            Choice("network.layers", 1 if width < 400 else 2, why),
            *(
                Choice(f"network.{name}", dropout, often)
                for name in ("input_dropout", "hidden_dropout", "output_dropout")
            ),
        ]
    elif parts.name("network") == "transformer":
        sizes = {"size": width, "layers": 2, "ffn": 2 * width}
        choices += [Choice(f"network.{name}", value, why) for name, value in sizes.items()]
    lr = 2e-3 if parts.name("network") == "transformer" else _round(min(1e-2, 6e-3 * (128 / width) ** 0.7))
    choices += [
        Choice(
            "train.batch_tokens", 1024 if epochs * an_epoch < 2.2e6 else 2048, f"{often}, small batches for more steps"
        ),
        Choice("train.lr", lr, "the smaller the model, the higher"),
        *_schedule(facts, epochs, epochs * an_epoch / 1024, often, MOST_EPOCHS_OF_TEXT),
    ]
    return choices


MASKED_EPOCHS = 40  # masks are new in every epoch, so a text may be read more often
MASKED_HELD = {64: 0, 128: 100_000, 256: 1_000_000, 512: 50_000_000}


def masking(facts: Facts, parts: Parts) -> list[Choice]:
    """An encoder that is trained to fill in words."""
    words = facts.examples * facts.words[0]
    pieces = _pieces(words, facts.distinct[0], facts.letters)
    layers = 4 if facts.gpu else 2

    def tokens(width: int) -> float:
        adds = layers * 12 * width * width + 0.15 * width * pieces
        return facts.budget * 1e6 / facts.microseconds("encoder", adds / 1e6)

    an_epoch = words * PIECES
    fits = [w for w, held in MASKED_HELD.items() if words >= held and tokens(w) >= min(3 * an_epoch, 5e6)]
    width = max(fits, default=min(MASKED_HELD))
    epochs = round(_clamp(tokens(width) / max(an_epoch, 1), 1, MASKED_EPOCHS)) if facts.seconds < math.inf else 10
    why, often = f"{counted(round(words), 'word')} of text; {facts.time}", f"about {counted(epochs, 'epoch')}"
    choices = [Choice("text.embed.dim", width, why)]
    if parts.name("text.tokenizer") == "bpe":
        choices.append(Choice("text.tokenizer.vocab_size", pieces, f"{facts.distinct[0]:,} different words"))
    name = parts.name("encoder")
    if name == "transformer":
        sizes = {"size": width, "layers": layers, "heads": max(2, width // 64), "ffn": 4 * width}
        choices += [Choice(f"encoder.{key}", value, why) for key, value in sizes.items()]
    else:
        choices += _sized("encoder", "encode", parts, width, 0.0, why, often)
    batch = 8192 if facts.gpu and width >= 256 else 4096
    choices += [
        Choice("train.batch_tokens", batch, "large batches, for only some of their tokens teach"),
        Choice("train.lr", {64: 3e-3, 128: 2e-3, 256: 1e-3, 512: 5e-4}[width], "the smaller the model, the higher"),
        *_schedule(facts, epochs, epochs * an_epoch / batch, often, MASKED_EPOCHS),
    ]
    return choices


# --- pictures -----------------------------------------------------------------------------------------------

PICTURES_SEEN = 1_200_000


def pictures(facts: Facts, parts: Parts) -> list[Choice]:
    """A network whose glimpses are learned by reinforcement needs many passes."""
    epochs = int(_clamp(PICTURES_SEEN / max(facts.examples, 1), 5, 200))
    rows = 32 if facts.examples < 5_000 else 128
    return [
        Choice("train.batch_tokens", 0, "batches are counted in examples"),
        Choice("train.batch_size", rows, counted(facts.examples, "example")),
        *_schedule(facts, epochs, epochs * facts.examples / rows, "where to look is learned slowly", most=epochs),
    ]


# --- histories of items ---------------------------------------------------------------------------------------

HISTORY_WIDTHS = (32, 64, 128)
# Items in all histories that a model of each width should find in the data.
HISTORY_HELD = {32: 0, 64: 20_000, 128: 2_000_000}
ALL_ITEMS = 20_000  # items up to which each step compares the right one with all others
HISTORY_EPOCHS = 100


def histories(facts: Facts, parts: Parts) -> list[Choice]:
    """A model of what follows in a history, or of which items go together."""
    items = facts.examples * max(facts.words[0], 1.0)
    width = max(width for width in HISTORY_WIDTHS if items >= HISTORY_HELD[width])
    why = f"{counted(round(items), 'item')} in {facts.examples:,} histories"
    choices = [Choice("history.embed.dim", width, why)]
    longest = int(_clamp(2 * facts.words[0], 20, 200))
    if parts.name("network") == "sasrec":
        choices += [
            Choice("network.max_length", longest, f"histories have {facts.words[0]:.0f} items on average"),
            Choice("network.dropout", 0.3 if items < HISTORY_HELD[128] else 0.2, "less data, more dropout"),
        ]
        if facts.distinct[0] > ALL_ITEMS:
            choices += [
                Choice(
                    "network.loss",
                    "sampled_softmax",
                    f"{facts.distinct[0]:,} different items are too many for each step",
                ),
                Choice("network.negatives", 100, "enough to learn from at each step"),
            ]
    epochs = HISTORY_EPOCHS
    return [
        *choices,
        Choice("train.batch_tokens", 0, "batches are counted in histories"),
        Choice("train.batch_size", 32 if facts.examples < 5_000 else 128, counted(facts.examples, "example")),
        Choice("train.lr", 1e-3, "the usual one for these models"),
        *_schedule(facts, epochs, epochs * facts.examples / 32, "until patience runs out", most=epochs),
    ]


REPLY_EPOCHS = 30


def replies(facts: Facts, parts: Parts) -> list[Choice]:
    """A message read by an encoder, a short reply written; the message is most of the work."""
    message, reply = max(min(facts.words[0], 80.0), 1.0), max(min(facts.words[-1], 20.0), 1.0)

    def passes(width: int) -> float:
        adds = 6 * (width * width + width * width) + reply / message * width * 200
        an_example = message * facts.microseconds("encoder", adds / 1e6) + reply * facts.microseconds("decoder", 0.1)
        return facts.budget * 1e6 / max(1.0, facts.examples * an_example)

    width = max((one for one in (48, 64, 96, 128) if facts.examples >= 100 * one and passes(one) >= 4), default=48)
    epochs = round(_clamp(passes(width), 1, REPLY_EPOCHS))
    enough, often = f"{counted(facts.examples, 'message')}; {facts.time}", f"about {counted(epochs, 'epoch')}"
    dropout = 0.1 if epochs < 5 else 0.3
    choices = [Choice("message.embed.dim", width, enough), Choice("message.embed.dropout", dropout, often)]
    choices += _sized("encoder", "encode", parts, width, dropout, enough, often)
    if parts.name("decoder") == "prefix":
        choices += [
            Choice("decoder.embed", 64, "scoring every reply costs most here"),
            Choice("decoder.dropout", dropout, often),
        ]
    batch = 2048 if facts.examples < 20_000 else 4096
    return [
        *choices,
        Choice("train.batch_tokens", batch, enough),
        Choice("train.lr", 3e-3, "small networks bear it"),
        *_schedule(facts, epochs, epochs * facts.examples * message / batch, often, REPLY_EPOCHS),
        Choice("train.patience", 20, "the learning rate falls to 0 at the end, and the score rises until then"),
    ]


def _reach(table: Any, key: str) -> Any:
    for word in key.split("."):
        table = table.get(word) if isinstance(table, Mapping) else None
    return table


def _name(spec: Any) -> str:
    return str(spec.get("name", "")) if isinstance(spec, Mapping) else spec if isinstance(spec, str) else ""


def _clamp(value: float, low: int | float, high: int | float) -> int | float:
    return max(low, min(high, value))


def _round(value: float) -> float:
    """To one digit that counts."""
    return float(f"{value:.0e}")
