"""Recurrent visual attention: a picture → a label, after a few glimpses at places that the model chooses.

Without `--data` it learns to find a handwritten digit among clutter. Your own pictures are a folder for each label,
the files of MNIST, or an `.npz` file.

    regard train glimpse
    regard train glimpse --data photos/ input.size=96 network.size=16 network.scales=3
    regard train glimpse --data mnist/ input.size=28 network.size=8 network.scales=1
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from torch import nn

from regard.attend.reinforce import Reinforce
from regard.fields.image import Image
from regard.fields.label import Label
from regard.find import PLAIN, In, Of, Spec, build, call, full, table
from regard.look.attention_map import AttentionMap
from regard.measure import Results
from regard.networks.glimpses import Glimpses
from regard.ranges import ranged
from regard.regions import Box, Item
from regard.search import Search
from regard.tasks._options import BestMetric, Metrics
from regard.train.metrics import MetricSet
from regard.train.suggest import Recipe, pictures
from regard.train.task import Ask, Task, places
from regard.types import Example, Prediction

__all__ = ["Glimpse"]

IMAGE: Spec = {"size": 40, "colour": False}
LEARNED: Spec = {"baseline": "learned", "scale": 0.01}
ROWS = 512  # pictures of a batch in evaluation


class Glimpse(Task):
    """Recurrent visual attention: a picture in, a label out, after a few glimpses (Mnih 2014)."""

    name: ClassVar[str] = "glimpse"
    counts: ClassVar[str] = "examples"
    does: str = "Classifies {input}, by a few glimpses."
    target: Label
    known: ClassVar[tuple[tuple[str, ...], ...]] = (("image", "label"),)
    columns: ClassVar[tuple[tuple[str, ...], ...]] = (("image",), ("label",))
    default_data: ClassVar[str] = "builtin:digits"
    recipe: ClassVar[Recipe] = staticmethod(pictures)
    preset: ClassVar[dict[str, Any]] = {
        "network": {"glimpses": 6, "size": 8, "scales": 3},
        "train": {"epochs": 40, "time": "150s", "batch_tokens": 0, "batch_size": 64, "lr": 1e-3, "warmup": 50},
    }

    @ranged
    def __init__(
        self,
        input: Annotated[Spec, Of("fields.image.Image"), "the picture: its size and colours"] = IMAGE,
        network: Annotated[
            Spec, Of("networks.glimpses.Glimpses"), "the recurrent network that takes the glimpses"
        ] = PLAIN,
        reward: Annotated[Spec, In("predict.reward"), "reward for the sampled locations"] = "correct",
        reinforce: Annotated[
            Spec, Of("attend.reinforce.Reinforce"), "how the choice of locations is trained"
        ] = LEARNED,
        metrics: Metrics = ("accuracy", "loss"),
        best_metric: BestMetric = "accuracy",
    ) -> None:
        self.image: Image = call(Image, table(input))
        self.inputs, self.target = {"input": self.image}, Label()
        self.metrics = MetricSet(metrics, best_metric)
        self.looking, self.reward = table(network), reward
        self.reinforce = {**table(LEARNED), **table(reinforce)}

    def network(self) -> Glimpses:
        return call(  # type: ignore[no-any-return]
            Glimpses,
            self.looking,
            labels=len(self.target.names),
            channels=3 if self.image.colour else 1,
            reward=build("predict.reward", self.reward),
            reinforce=call(Reinforce, self.reinforce, size=full(Glimpses, self.looking)["hidden"]),
        )

    # --- predictions -------------------------------------------------------------------------------------

    @torch.no_grad()
    def results(
        self, network: nn.Module, examples: Sequence[Example], quick: bool = False, search: Search | None = None
    ) -> Results:
        assert isinstance(network, Glimpses)
        items, device = self.items(examples), next(network.parameters()).device
        found: list[Prediction] = []
        nats = 0.0
        for first in range(0, len(items), ROWS):
            batch = self.collate(items[first : first + ROWS]).to(device)
            assert isinstance(batch.target, torch.Tensor)
            logits = (network.read if quick else network.answer)(batch.source).logits
            nats += float(network.head.loss(logits, batch.target).sum())
            found += self._answers(network, logits)
        return Results(examples, found, nats, len(items))

    def _answers(self, network: Glimpses, logits: torch.Tensor) -> list[Prediction]:
        return network.head.answers(logits, [1] * len(logits), self.target.names)

    @torch.no_grad()
    def predict(
        self, network: nn.Module, texts: Sequence[Sequence[str]], ask: Ask, where: Sequence[str] = ()
    ) -> list[Prediction]:
        assert isinstance(network, Glimpses)
        encoded = [row[0] for row in self.rows(texts, ask, places(texts, where))]
        device, found = next(network.parameters()).device, list[Prediction]()
        for first in range(0, len(encoded), ROWS):
            path = network.answer(self.image.collate(encoded[first : first + ROWS]).to(device))
            values = [text[0] for text in texts[first : first + ROWS]]
            shown = [self._attention_map(network, *one) for one in zip(values, path.places.tolist(), strict=True)]
            answers = self._answers(network, path.logits)
            for value, answer, look in zip(values, answers, shown if ask.look else [None] * len(answers), strict=True):
                found.append(replace(answer, look=look, source=value))
        return found

    def _attention_map(self, network: Glimpses, value: str, path: Sequence[Sequence[float]]) -> AttentionMap:
        """Which boxes were seen at each step: a box for each scale, which are shown like heads."""
        steps, sides = len(path), [network.size * 2**scale / self.image.size for scale in range(network.scales)]
        boxes = [_box(place, side) for side in sides for place in path]
        weights = np.zeros((len(sides), steps, len(boxes)))
        for scale in range(len(sides)):
            weights[scale, range(steps), range(scale * steps, (scale + 1) * steps)] = 1
        return AttentionMap(
            weights,
            tuple(Item(f"glimpse {step}", step - 1) for step in range(1, steps + 1)),
            tuple(boxes),
            self.image.title(value),
            head_names=tuple(f"{network.size * 2**scale} pixels" for scale in range(len(sides))),
            source=self.image.source(value),
        )


def _box(place: Sequence[float], side: float) -> Box:
    """The patch around a place, as far as it is inside the picture."""
    across, down = ((one + 1) / 2 for one in place)
    left, top, right, bottom = across - side / 2, down - side / 2, across + side / 2, down + side / 2
    return Box(max(left, 0.0), max(top, 0.0), min(right, 1.0), min(bottom, 1.0))
