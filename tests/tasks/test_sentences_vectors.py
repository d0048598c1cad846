"""Words with vectors from a file: taken, told of, saved with the run, so that the file is needed only once."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from sentence_tasks import examples, file_of, pairs

from regard import api
from regard.errors import RegardError
from regard.tasks.entail import Entail
from regard.tasks.tag import Tag

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


def entail(vectors: Path, **embed: Any) -> Entail:
    task = Entail(embed={"vectors": str(vectors), **embed}, encoder={"name": "bigru", "hidden": 4})
    task.learn(examples["entail"])
    return task


@modes
def test_a_word_has_the_vector_of_the_file(vectors: Path, mode: str) -> None:
    task = entail(vectors, mode=mode, dim=300)
    model = task.model()
    numbers = torch.tensor([task.text.encode("a dog zebra")[:-1]])
    torch.testing.assert_close(model.words(numbers)[0], torch.tensor([known["a"], known["dog"], known["zebra"]]))
    assert model.words.learned.requires_grad
    assert model.encoder.rnn.input_size == 3  # the file's width counts


def test_words_of_the_file_alone_are_known_too_but_no_more_than_wanted(vectors: Path) -> None:
    assert entail(vectors).text.encode("zebra")[0] != entail(vectors).text.encode("gnu")[0]
    few = entail(vectors, max_vectors=5).text
    assert few.encode("gnu")[0] == few.unknown != few.encode("zebra")[0]
    assert entail(vectors, max_vectors=0).found == 4  # those of the texts


def test_what_has_a_vector_is_told(vectors: Path) -> None:
    task = entail(vectors)
    words = [word for a, b, *_ in pairs for word in f"{a} {b}".split()]
    running = sum(word in known for word in words) / len(words)
    [note] = task.notes
    assert f"{running:.1%} of the running words have a vector" in note
    task.learn(examples["entail"])
    assert len(task.notes) == 1


def test_pieces_of_words_have_none(vectors: Path) -> None:
    task = Tag(text="character", embed={"vectors": str(vectors)})
    with pytest.raises(RegardError, match="expected whole words; use text=word"):
        task.learn(examples["tag"])


@modes
def test_a_run_does_without_the_file(vectors: Path, tmp_path: Path, mode: str) -> None:
    options = {
        "data": {"train": str(file_of("entail", tmp_path))},
        "embed": {"vectors": str(vectors), "mode": mode},
        "encoder": {"name": "bigru", "hidden": 4},
        "train": {"steps": 2, "validate_every": 1, "batch_size": 4, "device": "cpu"},
    }
    trained = api.train("entail", out=tmp_path / "run", quiet=True, **options)
    texts = [("a zebra runs", "a gnu"), ("an unheard word", "a cat")]
    expected = trained.model(texts)
    vectors.unlink()
    loaded = api.load(tmp_path / "run")
    assert [(one.text, one.log_prob) for one in loaded(texts)] == [(one.text, one.log_prob) for one in expected]
    assert json.loads((tmp_path / "run" / "tokenizer.json").read_text())["width"] == 3
    assert loaded.evaluate(trained.splits.test) == trained.test
    twin = api.make_task(loaded.config)
    twin.restore(loaded.task.keep())
    assert twin.keep() == loaded.task.keep()


def test_another_width_than_that_of_the_file_is_refused(vectors: Path) -> None:
    with pytest.raises(RegardError, match=r"embed\.dim=9, and .*vectors\.txt has 3 numbers a word; leave"):
        entail(vectors, dim=9)
    for width in (3, 64, 300):  # the file's, the preset's and the default are fine
        assert entail(vectors, dim=width).model().words.size == 3
