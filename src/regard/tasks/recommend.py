"""Recommendation: a user's history → the items to recommend next, with the items of the history that led to them.

Without `--data` it learns from built-in histories of products whose causes are known. Your own data is a
line for each time that a user had an item: user, item and time.

    regard train recommend --data ml-100k/u.data titles=ml-100k/u.item
    regard train recommend --data events.csv network=nais
    regard predict runs/recommend "50 181 258"
    regard predict runs/recommend user:196 --top 5
    regard look runs/recommend user:196

Items are ranked among all that the user has not had. An item that only the held-out data has cannot be recommended, and
counts as a miss.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from regard.data.splits import Splits
from regard.data.titles import read_titles
from regard.errors import RegardError, brief, counted
from regard.fields.history import FIRST, History, NextItem
from regard.find import PLAIN, In, Of, Spec, build, call, table
from regard.look.attention_map import AttentionMap
from regard.measure import Rank, Results
from regard.networks.ranking import ranked
from regard.networks.recommend import Recommender
from regard.ranges import Few, ranged
from regard.regions import Item
from regard.search import Search
from regard.tasks._options import BestMetric, Metrics
from regard.train.metrics import MetricSet
from regard.train.suggest import Recipe, histories
from regard.train.task import Ask, Capability, Task, places
from regard.types import Example, Prediction, Sequences

__all__ = ["Recommend"]

LOOKED = 32  # histories whose attention maps are worked out together
USERS_BYTES = 2**24  # of all histories of users, as they are kept with a run


class Recommend(Task):
    """Recommendation: a user's history of items in, the items to recommend next out (He 2018, Kang & McAuley 2018)."""

    name: ClassVar[str] = "recommend"
    does: str = "Recommends what comes next after {input}."
    counts: ClassVar[str] = "items"
    capabilities: ClassVar[frozenset[Capability]] = frozenset({"drops_tokens", "ranks", "scores"})
    columns: ClassVar[tuple[tuple[str, ...], ...]] = (("user",), ("item",), ("time",))
    default_data: ClassVar[str] = "builtin:histories"
    recipe: ClassVar[Recipe] = staticmethod(histories)
    preset: ClassVar[dict[str, Any]] = {
        "history": {"embed": {"dim": 64}},
        "network": {"name": "sasrec", "layers": 1, "dropout": 0.1, "max_length": 20},
        "train": {
            "epochs": 12,
            "time": "100s",
            "batch_tokens": 0,
            "batch_size": 128,
            "lr": 4e-3,
            "warmup": 50,
            "ema": 0.99,
        },
    }
    target: NextItem

    @ranged
    def __init__(
        self,
        history: Annotated[
            Spec, Of("fields.history.History"), "the histories of items: their vectors and shortest length"
        ] = PLAIN,
        network: Annotated[Spec, In("networks.recommend"), "the model"] = "sasrec",
        titles: Annotated[
            str, "file with the titles of the items (id and title on each line), as MovieLens' u.item"
        ] = "",
        top: Annotated[Few, "number of items to recommend"] = 10,
        keep_users: Annotated[
            bool, "keep the users' histories with the run, so that predictions can be asked for user:ID"
        ] = True,
        metrics: Metrics = ("ndcg", "hit_rate", "mrr", "sampled_hit_rate", "cause"),
        best_metric: BestMetric = "ndcg",
    ) -> None:
        self.history: History = call(History, table(history))
        self.inputs, self.target = {"history": self.history}, NextItem(self.history)
        self.options, self.titles_file, self.top, self.keep_users = network, titles, top, keep_users
        self.metrics = MetricSet(metrics, best_metric)
        self.titles: dict[str, str] = {}
        self._notes: list[str] = []

    # --- data --------------------------------------------------------------------------------------------

    def learn(self, examples: Sequence[Example]) -> None:
        """The items of all histories, with those that follow them."""
        self.history.fit([f"{example.source} {example.target}" for example in examples])
        items = len(self.history.numbers)
        if items < 2:
            where = f"{examples[0].where}: " if examples else ""
            raise RegardError(f"{where}{counted(items, 'item')} in all histories", expected="two or more")
        self._notes = []
        if self.titles_file:
            known = read_titles(self.titles_file)
            self.titles = {one: known[one] for one in self.history.numbers if one in known}
            self._notes.append(f"{self.titles_file}: titles for {len(self.titles):,} of {counted(items, 'item')}")
        self._learned = examples, self.encode(examples)
        self._must_leave_some(examples)

    def _must_leave_some(self, examples: Sequence[Example]) -> None:
        """Negatives are drawn from what a user has not had."""
        with torch.device("meta"):
            loss = self.network().loss
        if loss == "softmax":
            return
        for example in examples:
            if len({*example.source.split(), example.target} & self.history.numbers.keys()) == len(
                self.history.numbers
            ):
                raise RegardError(
                    f"{example.where}: this user has had every item",
                    expected="items to draw negatives from",
                    do="add users with other items, or train with network=sasrec network.loss=softmax",
                )

    def remember(self, splits: Splits) -> None:
        """The whole history of each user, the held-out items too: what is recommended comes after them."""
        if not self.keep_users:
            return
        for example in (*splits.train, *splits.valid, *splits.test):
            if example.user:
                self.history.users[example.user] = f"{example.source} {example.target}"
        size = sum(len(user) + len(value) for user, value in self.history.users.items())
        if size > USERS_BYTES:
            self._notes.append(f"the histories of users have {size:,} characters and are not kept with the run")
            self.history.users = {}

    @property
    def notes(self) -> list[str]:
        return [*super().notes, *self._notes]

    def keep(self) -> dict[str, Any]:
        return {**super().keep(), "titles": self.titles}

    def restore(self, kept: dict[str, Any]) -> None:
        super().restore(kept)
        self.titles = {str(one): str(title) for one, title in kept["titles"].items()}

    def network(self) -> Recommender:
        return build("networks.recommend", self.options, embed=self.history.embedding())  # type: ignore[no-any-return]

    # --- predictions -------------------------------------------------------------------------------------

    def shown(self, item: str) -> str:
        """How an item is shown: by its id, and its title where it has one."""
        return f"{item} {self.titles[item]}" if item in self.titles else item

    def _seen(self, row: Sequence[int]) -> Sequence[int]:
        return () if self.history.repeats else row

    @torch.no_grad()
    def results(
        self, network: nn.Module, examples: Sequence[Example], quick: bool = False, search: Search | None = None
    ) -> Results:
        assert isinstance(network, Recommender)
        items = self.items(examples)
        rows, targets = [item.inputs[0] for item in items], [item.target for item in items]
        found = ranked(network, _known(rows), [self._seen(row) for row in rows], targets)
        ids = self.history.ids
        predictions = [Prediction(self.shown(ids[number - FIRST]), None) for [number] in found.items.tolist()]
        columns = (found.above, found.equal, found.others, found.target.isnan())
        ranks = [Rank(*one) for one in zip(*(column.tolist() for column in columns), strict=True)]
        nats = (found.total - found.target)[~found.target.isnan()]
        read = self._read_true(network, examples, rows, targets)
        return Results(examples, predictions, float(nats.sum()), len(nats), read=read, ranks=ranks)

    def _read_true(
        self, network: Recommender, examples: Sequence[Example], rows: Sequence[Sequence[int]], targets: Sequence[int]
    ) -> list[Prediction]:
        """Where the network looks for the true items, if their causes are known."""
        if not all(example.links for example in examples):
            return []
        texts = [example.inputs for example in examples]
        looks = self._maps(network, texts, rows, [[max(one, FIRST)] for one in targets], ())
        return [Prediction(one.target, None, look) for one, look in zip(examples, looks, strict=True)]

    @torch.no_grad()
    def predict(
        self, network: nn.Module, texts: Sequence[Sequence[str]], ask: Ask, where: Sequence[str] = ()
    ) -> list[Prediction]:
        assert isinstance(network, Recommender)
        if not texts:
            return []
        rows = self._rows(texts, ask, where)
        found = ranked(network, _known(rows), [self._seen(row) for row in rows], top=ask.top or self.top)
        chances = network.chance(found.scores, found.total.unsqueeze(-1))
        left = found.scores.isfinite().sum(-1).tolist()  # there may be fewer candidates than are asked for
        numbers = [row[:count] for row, count in zip(found.items.tolist(), left, strict=True)]
        looks = self._maps(network, texts, rows, numbers, ask.drop_tokens) if ask.look else [None] * len(rows)
        ids, answers = self.history.ids, []
        for text, some, each, look in zip(texts, numbers, chances.tolist(), looks, strict=True):
            ranking = [
                Prediction(self.shown(ids[number - FIRST]), log_p) for number, log_p in zip(some, each, strict=False)
            ]
            first, *others = ranking or [Prediction("", None)]
            answers.append(replace(first, look=look, source=text[0], others=tuple(others)))
        return answers

    @torch.no_grad()
    def score(
        self, network: nn.Module, rows: Sequence[Sequence[str]], ask: Ask, where: Sequence[str] = ()
    ) -> list[Prediction]:
        """How likely given items are to follow, each with where the network looks for it."""
        assert isinstance(network, Recommender)
        if not rows:
            return []
        texts, at = [(row[0],) for row in rows], places(rows, where)
        encoded = self._rows(texts, ask, where)
        for (_, item), one in zip(rows, at, strict=True):
            if item not in self.history.numbers:
                raise RegardError(
                    f"{one}: item {brief(item)}",
                    expected="an item of the training data",
                    do=self.history.near(item),
                )
        numbers = [self.history.numbers[row[1]] for row in rows]
        # The item itself is asked about, also where the user has had it.
        seen = [[one for one in self._seen(row) if one != number] for row, number in zip(encoded, numbers, strict=True)]
        found = ranked(network, _known(encoded), seen, numbers)
        chances = network.chance(found.target, found.total).tolist()
        looks = self._maps(network, texts, encoded, [[one] for one in numbers], ()) if ask.look else [None] * len(rows)
        return [
            Prediction(self.shown(row[1]), chance, look, row[0])
            for row, chance, look in zip(rows, chances, looks, strict=True)
        ]

    def _rows(self, texts: Sequence[Sequence[str]], ask: Ask, where: Sequence[str]) -> list[Sequence[int]]:
        """Histories by number, each with an item that is known."""
        at = places(texts, where)
        rows = [row for (row,) in self.rows(texts, ask, at)]
        for row, one, (text,) in zip(rows, at, texts, strict=True):
            if max(row) < FIRST:
                first = self.history.items(text)[0]
                raise RegardError(
                    f"{one}: {counted(len(row), 'item')}, none of them known",
                    expected="at least one item of the training data",
                    do=self.history.near(first),
                )
        return rows

    def _maps(
        self,
        network: Recommender,
        texts: Sequence[Sequence[str]],
        rows: Sequence[Sequence[int]],
        items: Sequence[Sequence[int]],
        dropped: Sequence[Sequence[Sequence[int]]],
    ) -> list[AttentionMap]:
        """Which items of each history the network looks at for these candidates, as shares. Items that it does not
        read, for they are unknown or too long ago, have no weight and stand in brackets."""
        device, found = network.embed.learned.device, list[AttentionMap]()
        every = self.history.regions([text[0] for text in texts])
        for first in range(0, len(rows), LOOKED):
            some = range(first, min(first + LOOKED, len(rows)))
            histories = self.history.collate([rows[row] for row in some]).to(device)
            asked = Sequences.pad([items[row] for row in some], FIRST).values.to(device)
            weights = network.looked(histories, asked).weights
            for row, each in zip(some, _shares(weights), strict=True):
                gone = dropped[row][0] if dropped else ()
                columns = self.history.remaining(every[row], gone)
                found.append(self._map(network, texts[row][0], rows[row], items[row], columns, each))
        return found

    def _map(
        self,
        network: Recommender,
        text: str,
        row: Sequence[int],
        items: Sequence[int],
        columns: Sequence[Any],
        weights: np.ndarray,
    ) -> AttentionMap:
        read = [place for place, number in enumerate(row) if number >= FIRST][-network.max_length :]
        whole = np.zeros((*weights.shape[:-1], len(row)))
        whole[..., read] = weights[..., : len(read)]
        ids, asked = self.history.ids, items[: whole.shape[-2]]
        whole = whole[..., : len(asked), :]
        selected = tuple(place in set(read) for place in range(len(row))) if len(read) < len(row) else ()
        head_names = network.head_names if whole.ndim == 3 else ()
        return AttentionMap(
            whole,
            tuple(Item(self.titles.get(ids[one - FIRST], ids[one - FIRST]), n) for n, one in enumerate(asked)),
            tuple(Item(self.titles.get(one.text, one.text), one.index) for one in columns),
            self.history.title(text),
            head_names=head_names,
            column_selected=selected,
            panels="layers" if head_names else "heads",
            axes=("recommended", "history"),
        )


def _known(rows: Sequence[Sequence[int]]) -> list[list[int]]:
    return [[number for number in row if number >= FIRST] for row in rows]


def _shares(weights: Tensor) -> np.ndarray:
    """Weights as shares of each query's sum; a single head without its axis."""
    array = weights.float().cpu().numpy().astype(np.float64)
    array = array[:, 0] if array.ndim == 4 and array.shape[1] == 1 else array
    total = array.sum(-1, keepdims=True)
    found: np.ndarray = np.divide(array, total, out=np.zeros_like(array), where=total > 0)
    return found
