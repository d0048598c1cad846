"""The types that are passed around: Sequences → Memory → Look → Prediction, and the names of their axes.

Axes, in the order they stand: `batch`, `beam` (hypotheses of one sentence), `head`, `query`, `key`,
`feature`; `time` is the length of any sequence, `vocab` the tokens to choose from. A mask is True
where one may look.

Each type is a small frozen dataclass. Those whose first axis is the batch are `Rows`: `select` keeps
some sentences. State of a decoder is a `Beams`: its own tensors carry `[batch, beam, …]` and `reorder`
lets every hypothesis continue one of its sentence's earlier ones, while the `Memory` inside, the same
for all hypotheses of a sentence, is left alone. So a memory is never copied once a beam.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any, TypeVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.utils._pytree import register_dataclass, register_pytree_node

from regard.errors import RegardError, brief, counted
from regard.regions import Box, Interval, Token

__all__ = [
    *(
        "Batch",
        "Beams",
        "Selection",
        "Example",
        "Gated",
        "Grounding",
        "Link",
        "Look",
        "Memory",
        "Network",
        "Output",
        "Subwords",
        "Pixels",
        "Prediction",
        "Progress",
        "Rows",
        "Sequences",
    ),
    *("Step", "Token", "wide"),
]


def wide(x: Tensor) -> Tensor:
    """In float32 at least, whatever half precision or autocast made of it; float64 stays as it is."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


@dataclass(frozen=True)
class Link:
    """Characters of the target that are known to come from characters of the source (ends excluded)."""

    target_start: int
    target_end: int
    source_start: int
    source_end: int


@dataclass(frozen=True)
class Grounding:
    """Characters `start` to `end` (excluded) of the target speak of this part of a picture or a recording."""

    start: int
    end: int
    region: Box | Interval


@dataclass(frozen=True)
class Example:
    """One example: its inputs (one text or more), its target, and where it was read.

    Where several targets are right, `target` is the first and the `alternatives` are the others. Losses know only the
    first; metrics of generated text count all of them, the `references`.

    Of a question about a document, `spans` are the characters of the document at which each reference stands,
    `evidence` those from which the answer follows, and `choices` the answers to choose from; empty where not known.
    """

    inputs: tuple[str, ...]
    target: str
    where: str = ""  # "train.tsv:12", for messages
    links: tuple[Link, ...] = ()  # the true alignment, where it is known
    alternatives: tuple[str, ...] = ()
    grounding: tuple[Grounding, ...] = ()  # what each part of the target speaks of, where known
    spans: tuple[tuple[int, int], ...] = ()
    evidence: tuple[tuple[int, int], ...] = ()
    choices: tuple[str, ...] = ()
    user: str = ""  # whose history it is, where that is known

    @property
    def references(self) -> tuple[str, ...]:
        """Every right target."""
        return (self.target, *self.alternatives)

    @property
    def source(self) -> str:
        return self.inputs[0]


# Not typing.Self: jaxtyping checks methods one by one, where Self has no meaning.
R = TypeVar("R", bound="Rows")
B = TypeVar("B", bound="Beams")


def _through(value: Any, change: Callable[[Tensor], Tensor], skip: tuple[type, ...] = ()) -> Any:
    """Apply `change` to every tensor inside a field: a tensor, a tuple of fields, or another of these types."""
    if value is None or isinstance(value, skip):
        return value
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, tuple):
        return tuple([_through(item, change, skip) for item in value])
    if isinstance(value, Rows):
        kind = type(value)
        names: tuple[str, ...] = kind.__match_args__  # of the fields; dataclass sets it
        return kind(**{name: _through(getattr(value, name), change, skip) for name in names})
    return value


@dataclass(frozen=True)
class Rows:
    """Tensors whose first axis is the batch."""

    def select(self: R, rows: Int[Tensor, " some"]) -> R:
        """The same for these sentences only, in this order."""
        return _through(self, lambda tensor: tensor.index_select(0, rows.to(tensor.device)))  # type: ignore[no-any-return]

    def repeat(self: R, copies: int) -> R:
        """So many copies of the batch, each whole, one after the other; no device waits for another."""
        return _through(self, lambda tensor: torch.cat([tensor] * copies))  # type: ignore[no-any-return]

    def to(self: R, device: torch.device | str) -> R:
        return _through(self, lambda tensor: tensor.to(device, non_blocking=True))  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Sequences(Rows):
    """Sequences padded to one length: token numbers `[batch, time]` or vectors `[batch, time, feature]`."""

    values: Tensor
    mask: Bool[Tensor, "batch time"]
    lengths: Int[Tensor, " batch"]  # stays on the CPU, so that packing never waits for a GPU

    def to(self, device: torch.device | str) -> "Sequences":
        return replace(
            self,
            values=self.values.to(device, non_blocking=True),
            mask=self.mask.to(device, non_blocking=True),
        )

    @property
    def full(self) -> bool:
        """Whether nothing is padding. No device waits for the answer; it is no where it cannot be known beforehand."""
        return not torch.compiler.is_compiling() and bool((self.lengths == self.mask.shape[1]).all())

    @staticmethod
    def pad(rows: Sequence[Sequence[int | float]], fill: int = 0) -> "Sequences":
        """Token numbers of several sequences side by side, short ones filled up at the end."""
        lengths = torch.tensor([len(row) for row in rows], dtype=torch.long)
        columns = list(zip_longest(*rows, fillvalue=fill))  # quicker than a tensor a row
        values = torch.tensor(columns, dtype=torch.long).reshape(len(columns), len(rows)).T.contiguous()
        mask = torch.arange(values.shape[1])[None, :] < lengths[:, None]
        return Sequences(values, mask, lengths)


@dataclass(frozen=True)
class Subwords(Sequences):
    """Subwords of a text, or of several that are read as one.

    `segments` says which text each position belongs to; None: all to the first. Where labels are asked for words,
    `words` has the position of each word's first piece.
    """

    segments: Int[Tensor, "batch time"] | None = None
    words: Sequences | None = None

    def to(self, device: torch.device | str) -> "Subwords":
        return replace(
            self,
            values=self.values.to(device, non_blocking=True),
            mask=self.mask.to(device, non_blocking=True),
            segments=None if self.segments is None else self.segments.to(device, non_blocking=True),
            words=None if self.words is None else self.words.to(device),
        )


@dataclass(frozen=True)
class Pixels(Rows):
    """Pictures of one size."""

    values: Float[Tensor, "batch channel height width"]


@dataclass(frozen=True)
class Batch(Rows):
    """What a task reads at once: one or more inputs and, in training, what is to be said of them."""

    inputs: tuple[Any, ...]  # as each field collates them: `Sequences` of ids, `Pixels`
    target: Sequences | Tensor | None = None

    @property
    def source(self) -> Any:
        return self.inputs[0]

    def to(self, device: torch.device | str) -> "Batch":
        target = None if self.target is None else self.target.to(device)
        return Batch(tuple(one.to(device) for one in self.inputs), target)


@dataclass(frozen=True)
class Selection(Rows):
    """Which tokens a network chose, and how likely (log-probability) and how open (entropy) that choice was.

    `expected` is the share of tokens that its probabilities choose on average, `decided` the share that the most likely
    choice has, where another one was drawn. `gates` are there where a gradient
    passes through the choice: 0 for what was not chosen.
    """

    name: str  # "heads", "dependents": what they were chosen as
    chosen: Bool[Tensor, "batch time"]
    log_prob: Float[Tensor, " batch"]
    entropy: Float[Tensor, " batch"]
    expected: Float[Tensor, " batch"] | None = None
    decided: Float[Tensor, " batch"] | None = None
    gates: Float[Tensor, "batch time"] | None = None


@dataclass(frozen=True)
class Gated(Rows):
    """All states, with the gates of a choice that a gradient passes through: 0 for what was not chosen. What weighs
    states can let each count as much as its gate says, so that the gradient knows what a token would change that was
    left out."""

    values: Float[Tensor, "batch key value"]
    mask: Bool[Tensor, "batch key"]
    gates: Float[Tensor, "batch key"]


@dataclass(frozen=True)
class Memory(Rows):
    """What attention reads: keys (as the score prepared them), values, and a mask of those that are not padding.

    `summary` is the whole input in one vector, for example for a decoder's first state. An encoder with attention of
    its own adds its weights (`looks`, by name) and the tokens it selected (`choices`). One that shortens its input adds
    the input positions that each key covers: `spans`, from the first to the last (excluded). Where gates of a choice
    are part of the values, `gated` has both apart.
    """

    keys: Float[Tensor, "batch *head key dim"]
    values: Float[Tensor, "batch *head key value"]
    mask: Bool[Tensor, "batch key"] | None = None
    summary: Float[Tensor, "batch summary"] | None = None
    choices: tuple[Selection, ...] = ()
    looks: "tuple[tuple[str, Look], ...]" = ()
    spans: tuple[tuple[int, int], ...] | None = None  # None: key i is position i
    gated: Gated | None = None

    def covered(self, length: int) -> list[tuple[int, int]]:
        """The spans of an input of so many positions."""
        return [(first, min(last, length)) for first, last in self.spans or () if first < length]

    def select(self, rows: Int[Tensor, " some"]) -> "Memory":
        """The same for these sentences only; a look is of the whole batch, and is left behind."""
        return Rows.select(replace(self, looks=()), rows)

    def repeat(self, copies: int) -> "Memory":
        return Rows.repeat(replace(self, looks=()), copies)


@dataclass(frozen=True)
class Beams(Rows):
    """State of several hypotheses a sentence: tensors `[batch, beam, …]`, beside a memory `[batch, …]`."""

    def reorder(self: B, parents: Int[Tensor, "batch beam"]) -> B:
        """Hypothesis b of each sentence continues the earlier hypothesis `parents[:, b]`."""

        def gather(tensor: Tensor) -> Tensor:
            index = parents.reshape(*parents.shape, *[1] * (tensor.dim() - 2))
            return tensor.gather(1, index.expand(*parents.shape, *tensor.shape[2:]))

        return _through(self, gather, skip=(Memory,))  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Look:
    """What attention returns: the context of each query and, on demand, the weights.

    `weights` are computed when they are first used; the context is the same either way. `log_prob` and `entropy` (one
    per query) are set where a choice was sampled; `state` is for the next step.
    """

    context: Float[Tensor, "batch query value"]
    compute_weights: Callable[[], Tensor] = field(repr=False)
    log_prob: Tensor | None = None
    entropy: Tensor | None = None
    state: Any = None
    features: bool = False  # whether each feature has weights of its own

    def __repr__(self) -> str:
        return f"<look, context of shape {list(self.context.shape)}; its weights are computed when asked for>"

    @cached_property
    def weights(self) -> Tensor:
        """`[batch, query, key]`; under heads `[batch, head, query, key]`; feature-wise `[…, query, key, feature]`."""
        return self.compute_weights()

    @property
    def by_key(self) -> Tensor:
        """The weights of the keys alone, the mean of the features where each has its own."""
        return self.weights.mean(-1) if self.features else self.weights

    @staticmethod
    def join(looks: "Sequence[Look]") -> "Look":
        """Looks of successive steps as one look with as many queries."""

        def together(parts: list[Tensor | None]) -> Tensor | None:
            tensors = [part for part in parts if part is not None]
            return torch.cat(tensors, dim=-1) if len(tensors) == len(parts) else None

        return Look(
            context=torch.cat([look.context for look in looks], dim=1),
            compute_weights=lambda: torch.cat([look.weights for look in looks], dim=-3 if looks[0].features else -2),
            log_prob=together([look.log_prob for look in looks]),
            entropy=together([look.entropy for look in looks]),
            state=looks[-1].state,
            features=looks[0].features,
        )


@dataclass(frozen=True)
class Output:
    """What a network makes of a batch in training.

    `total` is minimised: a sum over what `count` counts (target tokens, examples), of which the loop takes the mean.
    `notes` are numbers to log beside it, each a mean over the batch (the share of tokens selected). `shown` is
    displayed as the loss where `total` says little (a policy's).
    """

    total: Tensor
    count: int
    notes: Mapping[str, Tensor] = field(default_factory=dict)
    shown: Tensor | None = None


@dataclass(frozen=True)
class Step:
    """One hypothesis of a search after one of its steps.

    `log_prob` is the sum over its tokens so far; `parent` is the place, in the list of the step before, of the
    hypothesis that it continues (−1 at the first step); `ended` ones are finished and have no children.
    """

    tokens: tuple[str, ...]
    log_prob: float
    parent: int
    ended: bool


@dataclass(frozen=True)
class Prediction:
    """What a task answers: the text, how probable the model finds it, and where it looked.

    `log_prob` is the log-probability of the whole answer: of a label, or the sum over the tokens of a text (its end
    included) or the labels of a sequence. It is None where the answer is a number, which has no probability of its own.
    `log_prob_per_token` is the mean over those tokens, for answers of unequal length. Its exponent is no probability.
    Of a suggested reply `log_prob` is that of the reply among all that may be suggested, and `intent` what it means;
    where nothing is suggested, `reason` says why.
    """

    text: str
    log_prob: float | None
    look: Any = None  # a regard.look.attention_map.AttentionMap: what was looked at, ready to be shown
    source: str = ""
    others: "tuple[Prediction, ...]" = ()  # the rest of an n-best list, best first
    looks: tuple[Any, ...] = ()  # further attention maps, where a model looks in several places
    steps: tuple[tuple[Step, ...], ...] = ()  # of the search, best hypothesis first, where they were asked for
    tokens: tuple[tuple[Token, float], ...] = ()  # of a text that was given, each with its log-probability
    log_prob_per_token: float | None = None  # None where the answer is no sequence
    span: tuple[int, int] | None = None  # characters of the first input that the answer is, where it is a part of it
    title: str = ""  # what the answer is called, where its text is the id of an item
    fills: tuple[tuple[tuple[str, float], ...], ...] = ()  # of each [MASK] the likeliest words, with log-probabilities
    intent: str = ""
    reason: str = ""

    @property
    def called(self) -> str:
        """The text as people read it, with its title."""
        return f"{self.text} {self.title}" if self.title else self.text

    def __str__(self) -> str:
        return self.called

    def __repr__(self) -> str:
        chance = "" if self.log_prob is None else f", log_prob {self.log_prob:.4g}"
        others = f", {counted(len(self.others), 'other')}" if self.others else ""
        return f"<prediction {brief(self.called)}{chance}{others}>"

    def _repr_html_(self) -> str | None:
        return None if self.look is None else self.look._repr_html_()


Progress = float | Float[Tensor, ""]
"""The share of a training that is done, 0 to 1; a tensor within a step that is recorded as a CUDA graph."""


class Network(nn.Module):
    """What a task trains: `forward(batch, progress)` gives the `Output` of a batch with its targets.

    `progress` is the share of the training that is done (0 to 1), for what changes on the way. Nothing is kept between
    two calls but parameters and buffers, so several threads may use one network at once.
    """

    @property
    def wide(self) -> bool:
        """Whether half precision pays."""
        return True

    @property
    def layers(self) -> int:
        """Attention layers that can be shown one by one; 0 where there is nothing to choose."""
        return 0

    def showing(self, layers: str) -> "Network":
        """The same network, sharing its parameters, that shows other layers: `last`, `mean`, `all`, or one by its
        number from 1; itself for "". What it predicts stays the same."""
        if layers:
            raise RegardError("layers: this model has none to choose from", expected="a Transformer")
        return self

    def ready(self, progress: float) -> bool:
        """Whether it is already trained as it will be used; scores from before that do not count."""
        return True

    @property
    def spare(self) -> frozenset[str]:
        """Names of its state that a run of an older version may lack, for they matter to training alone: they begin
        anew then."""
        return frozenset()

    def steady(self, progress: float) -> bool:
        """Whether from here on every step of a shape of batch does the same on a GPU and never waits for it: nothing
        but tensors on the GPU decides what is computed. Such steps are recorded as CUDA graphs, with `progress` as a
        tensor too."""
        return False

    def count(self, batch: Batch) -> int:
        """What the loss of a batch is counted over: examples or target tokens (`Output.count`)."""
        raise NotImplementedError

    def forward(self, batch: Batch, progress: float = 1.0) -> Output:
        raise NotImplementedError


# DistributedDataParallel, torch.compile and torch.export look for tensors inside what a network takes and gives.
for _kind in (Sequences, Subwords, Pixels, Batch, Selection, Memory, Output):
    register_dataclass(_kind)


def _flat_look(look: Look) -> tuple[list[Any], tuple[Any, ...]]:
    return [look.context, look.log_prob, look.entropy, look.state], (look.compute_weights, look.features)


def _whole_look(parts: Iterable[Any], rest: tuple[Any, ...]) -> Look:
    context, log_prob, entropy, state = parts
    return Look(context, rest[0], log_prob, entropy, state, rest[1])


register_pytree_node(Look, _flat_look, _whole_look, serialized_type_name="regard.Look")
