"""Which words are chosen: counted by hand, by kind, place and word."""

import pytest
import torch

from regard.attend.estimator import Gates
from regard.faithful.chosen_words import chosen_words, kind_of
from regard.faithful.report import words
from regard.types import Example
from sentence_tasks import both


@pytest.mark.parametrize(
    ("word", "kind"),
    [("dog", "content"), ("The", "function"), ("n't", "function"), (".", "punctuation"), ("3rd", "number")],
)
def test_kinds(word: str, kind: str) -> None:
    assert kind_of(word) == kind


def test_counted_by_hand() -> None:
    """Heads are the second word of each input; a dog runs, an animal runs: dog and animal, both content words."""
    task, model = both("entail", encoder={"name": "resan", "hidden": 4}, pool="source2token")

    def second(logits: torch.Tensor, mask: torch.Tensor) -> Gates:
        place = torch.arange(mask.shape[1])
        chosen = torch.stack([place == 1, place >= 0])[:, None] & mask
        nothing = torch.zeros(logits.shape[:2])
        return Gates(chosen, nothing, nothing, nothing)

    model.estimator.decide = second  # type: ignore[method-assign, union-attr]
    found = chosen_words(task, model, [Example(("a dog runs", "an animal runs"), "yes")] * 5)
    heads = found["heads"]
    assert heads["kinds"]["content"] == {"share": 0.5, "tokens": 20}
    assert heads["kinds"]["function"] == {"share": 0.0, "tokens": 10}
    assert heads["kinds"]["number"] == {"share": None, "tokens": 0}
    # Of three words the first is in the first fifth, the second in the second, the third in the fourth.
    assert [part["share"] for part in heads["places"]] == [0.0, 1.0, None, 0.0, None]
    assert [row["word"] for row in heads["most"][:2]] == ["animal", "dog"]
    assert heads["least"][0]["word"] == "runs"
    assert all(part["share"] in (1.0, None) for part in found["dependents"]["kinds"].values())
    page = words({"chosen_words": found})
    assert "## Chosen as heads" in page
    assert "| content | 50% | 20 |" in page


def test_nothing_is_told_where_nothing_is_chosen() -> None:
    task, model = both("classify")
    assert chosen_words(task, model, [Example(("a dog",), "yes")]) == {}
    assert words({}) == ""
