"""Tags: a label for each token of the input, with spaces between.

field = Tags();  field.fit(["DET NOUN", "NOUN"]);  field.names == ["DET", "NOUN"]
"""

from collections.abc import Sequence
from typing import ClassVar

from regard.fields.label import Label
from regard.types import Sequences

__all__ = ["NOTHING", "Tags"]

NOTHING = -100  # the label of padding, as `regard.predict.tag` knows it


class Tags(Label):
    """Labels to predict, one for each position of the input."""

    kind: ClassVar[str] = "tags"
    headers: ClassVar[tuple[str, ...]] = (
        *("tags", "labels", "ner_tags", "pos_tags", "ner", "pos", "tag", "label", "target", "slots"),
    )
    spaced: ClassVar[bool] = True

    def labels(self, value: str) -> list[str]:
        """At spaces only: a label may hold any other character."""
        return [label for label in value.split(" ") if label]

    def sizes(self, values: Sequence[str]) -> dict[str, list[int]]:
        return {"labels": [len(self.labels(value)) for value in values]}

    def collate(self, rows: Sequence[Sequence[int]]) -> Sequences:
        return Sequences.pad(rows, fill=NOTHING)
