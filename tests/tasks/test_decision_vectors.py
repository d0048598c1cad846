"""Words with vectors from a file: taken, told of, saved with the run, so that the file is needed only once."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from regard import api
from regard.errors import RegardError
from regard.fields.text import WORDS, Text
from regard.types import Sequences
from sentence_tasks import examples, file_of, pairs, task_of

known = {
    "a": [1.0, 0, 0],
    "dog": [0, 1, 0],
    "cat": [0, 0.5, 0],
    "runs": [0, 0, 1],
    "zebra": [3, 3, 3],
    "gnu": [4, 4, 4],
}
modes = pytest.mark.parametrize("mode", ["fixed", "missing", "tuned"])


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    path = tmp_path / "vectors.txt"
    path.write_text("".join(f"{word} {' '.join(map(str, row))}\n" for word, row in known.items()))
    return path


def entail(vectors: Path, **embed: Any) -> Any:
    return task_of("entail", input={**WORDS, "embed": {"vectors": str(vectors), **embed}})


def field(vectors: Path, **embed: Any) -> Text:
    found: Text = entail(vectors, **embed).inputs["premise"]
    return found


@modes
def test_a_word_has_the_vector_of_the_file(vectors: Path, mode: str) -> None:
    task = entail(vectors, mode=mode, dim=300)
    model = task.network()
    [row] = task.inputs["premise"].encode(["a dog zebra"], [""])
    torch.testing.assert_close(
        model.embed(Sequences.pad([row])).values[0], torch.tensor([known["a"], known["dog"], known["zebra"]])
    )
    assert model.embed.learned.requires_grad
    assert model.encoder.rnn.input_size == 3  # the file's width counts


def test_words_of_the_file_alone_are_known_too_but_no_more_than_wanted(vectors: Path) -> None:
    assert field(vectors).text.encode("zebra")[0] != field(vectors).text.encode("gnu")[0]
    few = field(vectors, max_vectors=5).text
    assert few.encode("gnu")[0] == few.unknown != few.encode("zebra")[0]
    assert field(vectors, max_vectors=0).found == 4  # those of the texts


def test_what_has_a_vector_is_told(vectors: Path) -> None:
    task = entail(vectors)
    words = [word for a, b, *_ in pairs for word in f"{a} {b}".split()]
    running = sum(word in known for word in words) / len(words)
    [note] = task.notes
    assert f"{running:.1%} of the running words have a vector" in note
    task.learn(examples["entail"])
    assert len(task.notes) == 1


def test_pieces_of_words_have_none(vectors: Path) -> None:
    with pytest.raises(RegardError, match="use tokenizer=word"):
        task_of("tag", input={"name": "text", "tokenizer": "character", "embed": {"vectors": str(vectors)}})


@modes
def test_a_run_does_without_the_file(vectors: Path, tmp_path: Path, mode: str) -> None:
    options = {
        "data": {"train": str(file_of("entail", tmp_path))},
        "input": {"embed": {"vectors": str(vectors), "mode": mode}},
        "encoder": {"name": "bigru", "hidden": 4},
        "train": {"steps": 2, "validate_every": 1, "batch_size": 4, "device": "cpu"},
    }
    trained = api.train("entail", out=tmp_path / "run", quiet=True, **options)
    texts = [("a zebra runs", "a gnu"), ("an unheard word", "a cat")]
    expected = trained.model(texts)
    vectors.unlink()
    loaded = api.load(tmp_path / "run")
    assert [(one.text, one.log_prob) for one in loaded(texts)] == [(one.text, one.log_prob) for one in expected]
    assert json.loads((tmp_path / "run" / "tokenizer.json").read_text())["premise"]["dim"] == 3
    assert loaded.evaluate(trained.splits.test) == trained.test
    twin = api.make_task(loaded.config)
    twin.restore(loaded.task.keep())
    assert twin.keep() == loaded.task.keep()


def test_the_file_decides_the_width_and_another_one_is_told(vectors: Path) -> None:
    for width, said in (
        (3, []),
        (300, []),
        (64, ["embed.dim=64 is ignored"]),
    ):  # the file's, the default, a preset's
        task = entail(vectors, dim=width)
        assert task.network().embed.size == 3
        assert [note.partition(":")[0] for note in task.notes[1:]] == said
