"""Sequence labelling: a text or a list of items → a label for each position.

Without `--data` it learns which characters of a written date are its day, month and year. With your own data it
reads CoNLL columns, or `text TAB labels` lines with as many labels as tokens, both between spaces.

    regard train tag --data ner.conll encoder=bilstm
"""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import torch
from torch import nn

from regard.encode.recurrent import Recurrent
from regard.errors import RegardError, counted
from regard.fields import Input
from regard.fields.tags import Tags
from regard.find import PLAIN, In, Of, Spec
from regard.networks.reader import Reader
from regard.predict.tag import TagHead
from regard.ranges import Dropout, ranged
from regard.tasks._decision import Decision
from regard.tasks._options import BestMetric, Estimator, Metrics, Reading, SampledTokens, Sparsity
from regard.train.suggest import Recipe, tagging
from regard.train.task import Capability, Encoded
from regard.types import Example

__all__ = ["Stream", "Tag"]

INPUT: Spec = {"name": "text", "tokenizer": "word"}


class Tag(Decision):
    """Sequence labelling: a text or a list of items in, a label for each token out."""

    name: ClassVar[str] = "tag"
    does: str = "Labels each part of {input}."
    counts: ClassVar[str] = "tokens"
    capabilities: ClassVar[frozenset[Capability]] = Decision.capabilities | {"streams"}
    columns: ClassVar[tuple[tuple[str, ...], ...]] = (("text", "items"), ("tags",))
    default_data: ClassVar[str] = "builtin:fields"
    recipe: ClassVar[Recipe] = staticmethod(tagging)
    preset: ClassVar[dict[str, Any]] = {
        "input": {"tokenizer": {"name": "character"}, "embed": {"dim": 64}},
        "encoder": {"name": "bigru", "hidden": 64},
        "dropout": 0.0,
        "train": {"epochs": 5, "time": "100s", "lr": 4e-3, "warmup": 50, "ema": 0.99},
    }
    Head = TagHead
    pools: ClassVar[bool] = False

    @ranged
    def __init__(
        self,
        input: Reading = INPUT,
        encoder: Annotated[Spec, In("encode"), "how the input is read"] = "bilstm",
        head: Annotated[
            Spec, Of("predict.tag.TagHead"), "layers that turn each token's state into its label's logits"
        ] = PLAIN,
        reinforce: SampledTokens = PLAIN,
        sparsity: Sparsity = 0.03,
        estimator: Estimator = "score_function",
        metrics: Metrics = ("tag_accuracy", "span_f1", "loss", "chosen"),
        best_metric: BestMetric = "tag_accuracy",
        dropout: Annotated[Dropout, "dropout on the encoder's states"] = 0.3,
    ) -> None:
        super().__init__(
            input, Tags(), encoder, head, reinforce, sparsity, metrics, best_metric, dropout, estimator=estimator
        )

    def encode(self, examples: Sequence[Example]) -> list[Encoded]:
        items = super().encode(examples)
        for item, example in zip(items, examples, strict=True):
            tokens, labels = item.lengths
            if tokens != labels:
                raise RegardError(
                    f"{example.where}: {counted(labels, 'label')} for {counted(tokens, 'token')}",
                    expected="one label per token, separated by spaces",
                )
        return items

    def stream(self, network: nn.Module) -> "Stream":
        """A tagger that answers each token as it arrives."""
        assert isinstance(network, Reader)
        encoder, field = network.encoder, self.inputs["input"]
        if not isinstance(encoder, Recurrent) or encoder.bidirectional:
            raise RegardError(
                "an encoder that needs the whole sentence",
                expected="a unidirectional encoder, to tag a stream",
                do="train with encoder=lstm, or encoder=recurrent encoder.bidirectional=false",
            )
        return Stream(field, self.target.names, network, encoder)


class Stream:
    """One sentence being tagged, token by token; `end` begins the next."""

    def __init__(self, field: Input, names: Sequence[str], network: Reader, encoder: Recurrent) -> None:
        self.field, self.names, self.network, self.encoder, self.state = field, names, network, encoder, None

    def __call__(self, token: str) -> str:
        """The label of the next token; one that is split into several is labelled by its last part."""
        labels = self.labels(token)
        if not labels:
            raise RegardError("an empty token", expected="at least one character")
        return labels[-1]

    @torch.no_grad()
    def labels(self, text: str) -> list[str]:
        """The labels of all tokens of the text that comes next."""
        if not text.strip():
            return []
        [row] = self.field.encode([text], ["the token"])
        device = next(self.network.parameters()).device
        words = self.network.embed(self.field.collate([row]).to(device))
        states, self.state = self.encoder.follow(words.values, self.state)
        return [self.names[number] for number in self.network.head(states)[0].argmax(-1).tolist()]

    def end(self) -> None:
        self.state = None
