"""The contract of a task: the fields of its roles, its network, its metrics, and how predictions are read off.

A task is one module in `tasks/`; its constructor's options are its configuration. What a task can do beyond that it
declares in `capabilities`, and nobody finds out by probing:

- `searches`: predictions are searched for token by token, so `Ask.search`, `Ask.trace` and constraints apply
- `scores`: `score` gives the log-probability of a given target
- `drops_tokens`: positions of the input can be dropped before it is encoded
- `features`: single features of feature-wise attention can be shown
- `streams`: `stream` answers a token at a time
- `ranks`: an answer is a ranked list, of as many items as `Ask.top` says
- `suggests`: an answer is a few suggestions, each with its intent, or none and the reason why
- `lists`: several answers come back for one input without a search, as many as `Ask.n_best` says

    task = Classify();  task.learn(examples);  network = task.network()
    batch = task.collate(task.items(examples))
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from torch import nn

from regard.data.batch import Lengths
from regard.data.splits import Splits
from regard.errors import RegardError
from regard.fields import Field, Input
from regard.measure import Results
from regard.search import Search
from regard.text import Tokenizer
from regard.train.metrics import MetricSet
from regard.train.start import Starts
from regard.train.suggest import Recipe
from regard.types import Batch, Example, Network, Prediction

__all__ = ["Ask", "Capability", "DropTokens", "Encoded", "Features", "Task", "places"]

Capability = Literal["searches", "scores", "drops_tokens", "features", "streams", "ranks", "lists", "suggests"]

DropTokens = Sequence[Sequence[Sequence[int]]]
"""Example → input → positions to drop, counted from 0; empty where nothing is dropped."""

Features = int | Sequence[int]
"""How many features to show (those that vary most), or their numbers from 1; 0 or empty for none."""


@dataclass(frozen=True)
class Encoded:
    """One example as numbers: each input and the target as their fields encode them."""

    inputs: tuple[Any, ...]
    target: Any
    lengths: tuple[int, ...]  # of the inputs and the target, for batches of like length


@dataclass(frozen=True)
class Ask:
    """How predictions are asked for."""

    look: bool = True  # with attention maps
    search: Search | None = None  # another search than the task's own
    trace: bool = False  # with every step of the search
    drop_tokens: DropTokens = ()
    features: Features = ()
    n_best: int = 0  # answers for each input; 0 for as many as the task gives
    batch_tokens: int = 8_192
    top: int = 0  # how many answers are ranked; 0 takes the task's own number


class Task(ABC):
    """What the loop, the command line and the service know of a task."""

    name: ClassVar[str]
    does: str = ""  # in plain words, for whoever opens the page: "Translates {input}."
    default_data: ClassVar[str]  # what `regard train TASK` reads when nothing is given
    preset: ClassVar[dict[str, Any]]  # options that suit the default data
    recipe: ClassVar[Recipe]  # chooses options for other data
    counts: ClassVar[str]  # what the loss is counted in: "tokens" or "examples"
    capabilities: ClassVar[frozenset[Capability]] = frozenset()
    known: ClassVar[tuple[tuple[str, ...], ...]] = ()  # columns of well-known files, recognised by their names
    # For each column of the data the options of `data` that name it, beside `source` and `target`.
    columns: ClassVar[tuple[tuple[str, ...], ...]] = (("source",), ("target",))
    corpus: ClassVar[bool] = False  # its data is text, which may be larger than the memory
    starts: ClassVar[Starts | None] = None  # what it can take from another run; None where it starts from scratch
    yields: ClassVar[tuple[str, ...]] = ()  # runs of their own that `finish` writes into the run's folder

    inputs: dict[str, Input]  # role → field, in the order of the columns
    target: Field | None  # None where the data is text alone
    metrics: MetricSet
    # What a run that goes on has kept: fields that came from elsewhere take it, and need not be found there again.
    went_on: Mapping[str, Any] | None = None
    _learned: tuple[Sequence[Example], list[Encoded]] | None = None
    _begun: Input | None = None  # a field that another run has learned

    @property
    def fields(self) -> dict[str, Field]:
        """Role → field, in the order of the columns of the data."""
        return {**self.inputs, **({} if self.target is None else {"target": self.target})}

    @property
    def notes(self) -> list[str]:
        """What the user should know about what was learned from the data."""
        return [note for field in self._own().values() for note in field.notes]

    @property
    def answer_text(self) -> Tokenizer:
        """The tokenizer of the answers, where they are searched for: constraints are compiled with it."""
        raise NotImplementedError

    def can(self, capability: Capability) -> bool:
        return capability in self.capabilities

    def _own(self) -> dict[str, Field]:
        """Each field once, by the first of its roles."""
        found: dict[int, tuple[str, Field]] = {}
        for role, field in self.fields.items():
            found.setdefault(id(field), (role, field))
        return dict(found.values())

    # --- data --------------------------------------------------------------------------------------------

    @classmethod
    def implied(cls, options: Mapping[str, Any]) -> dict[str, Any]:
        """Options that follow from those asked for, and give way to them: a pre-trained encoder's tokenizer, say."""
        return {}

    def learn(self, examples: Sequence[Example]) -> None:
        """Fit the fields to the training examples. A mistake in the data is told here, before a run is begun."""
        seen = self.prepared(examples)
        values = self.values(seen)
        try:
            for number, (role, field) in self._own_inputs().items():
                if field is self._begun:
                    continue
                if self.went_on is not None and field.imported:
                    field.restore(self.went_on[role])
                else:
                    field.fit(values[number])
            if self.target is not None:
                self.target.fit([example.target for example in seen])
        except RegardError as error:
            where = examples[0].where if examples else ""
            raise RegardError(f"{where}: {error}" if where and where not in str(error) else str(error)) from None
        self._learned = examples, self.encode(seen)

    def values(self, examples: Sequence[Example]) -> dict[int, list[str]]:
        """What each field of an input learns from, by its id."""
        found: dict[int, list[str]] = {}
        for side, field in enumerate(self.inputs.values()):
            found.setdefault(id(field), []).extend(example.inputs[side] for example in examples)
        return found

    def _own_inputs(self) -> dict[int, tuple[str, Input]]:
        """Each field of an input once, by its id, with the first of its roles."""
        found: dict[int, tuple[str, Input]] = {}
        for role, field in self.inputs.items():
            found.setdefault(id(field), (role, field))
        return found

    def prepared(self, examples: Sequence[Example]) -> Sequence[Example]:
        """The examples as the fields see them."""
        return examples

    def begin(self, kept: Mapping[str, Any]) -> None:
        """Take what the first input of another run has learned (its `keep`); it is not learned again."""
        self._begun = next(iter(self.inputs.values()))
        self._begun.restore(next(iter(kept.values())))

    def keep(self) -> dict[str, Any]:
        """What was learned, for tokenizer.json; `restore` takes it back."""
        return {role: field.state() for role, field in self._own().items()}

    def restore(self, kept: dict[str, Any]) -> None:
        for role, field in self._own().items():
            field.restore(kept[role])

    def items(self, examples: Sequence[Example]) -> list[Encoded]:
        """The examples as numbers; those it learned from are only encoded once."""
        if self._learned is not None and examples is self._learned[0]:
            return self._learned[1]
        return self.encode(self.prepared(examples))

    def stored(self, examples: Sequence[Example], folder: Path) -> Sequence[Encoded]:
        """The training examples as numbers, for the loop; what does not fit into the memory goes into this folder."""
        return self.items(examples)

    def parts(self, items: Sequence[Encoded]) -> list[tuple[int, Callable[[], Lengths]]]:
        """The parts that batches are made within: the first item of each, and what gives the lengths of its items."""
        lengths = [item.lengths for item in items]
        return [(0, lambda: lengths)]

    def of_epoch(self, items: Sequence[Encoded], epoch: int, seed: int) -> Sequence[Encoded]:
        """The training items as an epoch has them, where something in them is drawn anew in each."""
        return items

    def said(self, item: Encoded) -> Sequence[int]:
        """The tokens of an item that are to be predicted, where there are tokens."""
        return item.target  # type: ignore[no-any-return]

    def encode(self, examples: Sequence[Example]) -> list[Encoded]:
        """Prepared examples as numbers."""
        where = [example.where for example in examples]
        sides: list[list[Any]] = [
            field.encode([example.inputs[side] for example in examples], where, role)
            for side, (role, field) in enumerate(self.inputs.items())
        ]
        fields: list[Field] = [*self.inputs.values()]
        if self.target is not None:
            fields.append(self.target)
            sides.append(self.target.encode([example.target for example in examples], where, "target"))
        lengths = [[field.length(row) for row in side] for field, side in zip(fields, sides, strict=True)]
        made = zip(zip(*sides, strict=True), zip(*lengths, strict=True), strict=True)
        inputs = len(self.inputs)
        return [Encoded(rows[:inputs], rows[inputs] if inputs < len(rows) else (), each) for rows, each in made]

    def collate(self, items: Sequence[Encoded]) -> Batch:
        inputs = self.batched([item.inputs for item in items])
        target: Any = None if self.target is None else self.target.collate([item.target for item in items])
        return Batch(inputs, target)

    def batched(self, rows: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
        """Encoded inputs side by side."""
        return tuple(
            field.collate(side) for field, side in zip(self.inputs.values(), zip(*rows, strict=True), strict=True)
        )

    def rows(self, texts: Sequence[Sequence[str]], ask: Ask, where: Sequence[str]) -> list[tuple[Any, ...]]:
        """The inputs of each prediction, encoded, without what is to be dropped."""
        sides: list[list[Any]] = []
        for side, (role, field) in enumerate(self.inputs.items()):
            encoded = field.encode([text[side] for text in texts], where, role)
            for number, drop in enumerate(ask.drop_tokens):
                try:
                    encoded[number] = field.drop(encoded[number], drop[side])
                except RegardError as error:
                    raise RegardError(f"{where[number]}: {role}: {error}") from None
            sides.append(encoded)
        return list(zip(*sides, strict=True))

    def remember(self, splits: Splits) -> None:  # noqa: B027
        """Keep what a prediction may need of all the data, beyond what is learned from the training examples."""

    # --- the network -------------------------------------------------------------------------------------

    @abstractmethod
    def network(self) -> Network:
        """A new network for what was learned."""

    # --- predictions -------------------------------------------------------------------------------------

    @abstractmethod
    def results(
        self, network: nn.Module, examples: Sequence[Example], quick: bool = False, search: Search | None = None
    ) -> Results:
        """Predict every example, by the task's own search or another; `quick` (in training) by the cheapest."""

    @abstractmethod
    def predict(
        self, network: nn.Module, texts: Sequence[Sequence[str]], ask: Ask, where: Sequence[str] = ()
    ) -> list[Prediction]:
        """Predictions in the order of the texts; `where` names each in messages."""

    def score(
        self, network: nn.Module, rows: Sequence[Sequence[str]], ask: Ask, where: Sequence[str] = ()
    ) -> list[Prediction]:
        """Given targets, each row holding the inputs and the target: how likely each is, and each of its tokens."""
        raise NotImplementedError

    def save_pretrained(self, network: nn.Module, folder: Path) -> Path:
        """Write the encoder as it came, for Hugging Face Transformers."""
        raise RegardError(f"{self.name} has no pre-trained encoder to save", expected="encoder=pretrained")

    def stream(self, network: nn.Module) -> Any:
        """What answers a token at a time."""
        raise NotImplementedError

    def measure(self, results: Results) -> dict[str, float | str]:
        return self.metrics.measure(results)

    def tried(self, example: Example) -> list[str]:
        """The inputs of an example as somebody would ask them of the trained model, also from elsewhere."""
        return [field.source(value) or value for field, value in zip(self.inputs.values(), example.inputs, strict=True)]

    def prepared_lines(self, examples: Sequence[Example]) -> list[str]:
        """What becomes of inputs before they are read, for looking at it; none where they are read as they come."""
        return []

    def groups(self, examples: Sequence[Example]) -> dict[str, Sequence[int | str]]:
        """Beyond input length, by what an error report groups its examples: a number or a word for each, by name."""
        return {}

    # --- after the training --------------------------------------------------------------------------------

    def finish(self, run: Any, network: nn.Module, splits: Splits) -> None:  # noqa: B027
        """Write what else belongs into the run's folder."""

    def opened(self, folder: Path) -> None:  # noqa: B027
        """Take what else a run's folder holds, when the run is loaded."""

    def clear(self, folder: Path) -> None:  # noqa: B027
        """Remove what `finish` wrote."""


def places(texts: Sequence[Any], where: Sequence[str]) -> Sequence[str]:
    """Where each text was read, or its number."""
    return [at or f"input {number}" for number, at in enumerate(where or [""] * len(texts), 1)]
