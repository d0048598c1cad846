"""Tasks with a pre-trained encoder: joint pairs, labels of words, runs that need nothing else, saved encoders."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from regard import api
from regard.errors import RegardError
from regard.pretrained.weights import Checkpoint
from regard.types import Sequences, Subwords
from small_encoders import encoder_folder
from tiers import sweep_but

pytestmark = pytest.mark.usefixtures("one_thread")
few = {"steps": 3, "device": "cpu", "batch_size": 8, "keep_examples": 0}
films = [(f"a {word} film", word) for word in ("good", "bad")] * 12
pairs = [
    (one, other, "same" if one == other else "other") for one in ("a dog", "a cat") for other in ("a dog", "a cat")
]
rows: dict[str, Sequence[tuple[str, ...]]] = {
    "classify": films,
    "entail": pairs * 6,
    "relate": [(*pair[:2], "5" if pair[2] == "same" else "1") for pair in pairs * 6],
    "tag": [("the dogs sleeping", "D N V"), ("cats run", "N V")] * 12,
    "answer": [("the dog runs", "the", "dog"), ("a cat runs", "a", "cat")] * 12,
}


def data(some: Sequence[tuple[str, ...]]) -> dict[str, Any]:
    return {"train": [*some], "valid": some[:4], "test": some[:2]}


def trained(task: str, folder: Path, out: Path, **options: Any) -> Any:
    train = {**few, **options.pop("train", {})}
    encoder = {"name": "pretrained", "from": str(folder), **options.pop("encoder", {})}
    return api.train(task, data=data(rows[task]), out=out, quiet=True, encoder=encoder, train=train, **options).model


@pytest.mark.parametrize("task", sweep_but(rows, "classify"))
def test_every_task_that_decides_can_take_one_and_a_run_needs_no_folder(task: str, tmp_path: Path) -> None:
    folder = encoder_folder(tmp_path / "in", dropout=0.0)
    model = trained(task, folder, tmp_path / "run")
    asked = [row[:-1] for row in rows[task][:2]]
    before = model.predict(asked)
    shutil.rmtree(folder)
    again = api.load(tmp_path / "run").predict(asked)
    assert [one.text for one in again] == [one.text for one in before]
    assert again[0].log_prob == before[0].log_prob or task == "relate"
    assert task != "answer" or again[0].text in "the dog runs"
    # A run goes on without the folder it began with.
    trained(task, folder, tmp_path / "run", train={"steps": 5})


def test_a_pair_is_read_as_one_or_apart(tmp_path: Path) -> None:
    folder = encoder_folder(tmp_path / "in")
    joint = trained("entail", folder, tmp_path / "joint")
    (batch,) = joint.task.batched(joint.task.rows([("a dog", "the cat")], api.Ask(), [""]))
    assert batch.values.tolist() == [[2, 5, 8, 3, 6, 9, 3]]
    assert batch.segments.tolist() == [[0, 0, 0, 0, 1, 1, 1]]
    look = joint.predict(("a dog", "the cat")).look
    assert [one.text for one in look.columns] == ["[CLS]", "a", "dog", "[SEP]", "the", "cat", "[SEP]"]
    assert look.breaks == (4,)
    dropped = joint.predict([("a dog", "the cat")], drop_tokens=[[[1], []]])[0].look
    assert [one.text for one in dropped.columns] == ["[CLS]", "a", "[SEP]", "the", "cat", "[SEP]"]
    apart = trained("entail", folder, tmp_path / "apart", encoder={"pair": "separate"})
    prediction = apart.predict(("a dog", "the cat"))
    sides = [[one.text for one in found.columns] for found in (prediction.look, *prediction.looks)]
    assert sides == [["[CLS]", "a", "dog", "[SEP]"]] * 2 + [["[CLS]", "the", "cat", "[SEP]"]] * 2


def test_words_are_labelled_by_their_first_piece(tmp_path: Path) -> None:
    model = trained("tag", encoder_folder(tmp_path / "in"), tmp_path / "run")
    (row,) = model.task.rows([("the dogs \x07 sleeping",)], api.Ask(), [""])
    assert row[0].ids == (2, 6, 8, 12, 11, 13, 3)  # [CLS] the dog ##s sleep ##ing [SEP]
    assert row[0].starts == [1, 2, 2, 4]  # nothing is left of a control character
    found = model.predict("the dogs sleeping")
    assert len(found.text.split()) == 3
    assert [one.text for one in found.look.columns] == ["the", "dogs", "sleeping"]
    assert found.look.weights.shape == (2, 3, 3)
    fewer = model.predict(["the dogs sleeping"], drop_tokens=[[[1]]])[0]
    assert [one.text for one in fewer.look.columns] == ["the", "sleeping"]


def test_a_question_and_a_document_are_read_as_one(tmp_path: Path) -> None:
    folder = encoder_folder(tmp_path / "in", dropout=0.0)
    model = trained("answer", folder, tmp_path / "run")
    passages = model.task._passages([("the dog runs", "a cat")], [""])
    document, question = model.task.batched([(one.document, one.question, None) for one in passages])
    assert question.values.tolist() == [[2, 5, 9, 3]]  # [CLS] a cat [SEP]
    assert document.values.tolist() == [[6, 8, 10, 3]]  # the dog runs [SEP]
    assert [side.segments.tolist() for side in (question, document)] == [[[0] * 4], [[1] * 4]]
    # What the encoder says of the whole, read as Transformers would have it.
    whole = [2, 5, 9, 3, 6, 8, 10, 3]
    ids = Sequences.pad([whole])
    as_one = Subwords(ids.values, ids.mask, ids.lengths, torch.tensor([[0] * 4 + [1] * 4]))
    with torch.no_grad():
        expected = model.network.encoder(model.network.embed(as_one)).values[:, 4:]
        found = model.network.read((document, question)).document.values
    torch.testing.assert_close(found, expected)
    save = model.save_pretrained(tmp_path / "out")
    assert Checkpoint.open(save).architecture == Checkpoint.open(folder).architecture


def test_answers_that_a_pre_trained_encoder_cannot_give(tmp_path: Path) -> None:
    folder = encoder_folder(tmp_path / "in")
    with pytest.raises(RegardError, match="answer=choice with encoder=pretrained; expected answer=span"):
        trained("answer", folder, tmp_path / "run", answer="choice")
    with pytest.raises(RegardError, match="interact=coattention; expected interact=concatenation"):
        trained("answer", folder, tmp_path / "run", interact="coattention")
    model = trained("answer", folder, tmp_path / "run", window=12, stride=6)
    with pytest.raises(RegardError, match="tokens in the question and a window of the document; expected at most 20"):
        model.predict(("the dog runs " * 6, "a cat " * 4))


def test_the_encoder_is_saved_as_it_came_with_lora_merged(tmp_path: Path) -> None:
    folder = encoder_folder(tmp_path / "in")
    model = trained("classify", folder, tmp_path / "run", encoder={"lora": 2}, train={"lr": 0.1})
    out = Checkpoint.open(model.save_pretrained(tmp_path / "out"))
    first, now = Checkpoint.open(folder).tensors(), out.tensors()
    moved = {name.split(".", 2)[-1] for name in now if not torch.equal(now[name], first[name])}
    assert moved == {"attending.W_qkv.weight", "attending.attention.heads.W_o.weight", "W_1.weight", "W_2.weight"}
    again = trained("classify", tmp_path / "out", tmp_path / "again", encoder={"freeze": True})
    states = [
        one.network.read(one.task.batched(one.task.rows([("a dog",)], api.Ask(), [""]))).memory.values
        for one in (model, again)
    ]
    torch.testing.assert_close(*states, atol=1e-5, rtol=0)
    own = api.train("classify", data=data(films), out=tmp_path / "own", quiet=True, encoder="bigru", train=few).model
    with pytest.raises(RegardError, match="no pre-trained encoder"):
        own.save_pretrained(tmp_path / "no")


def test_what_does_not_go_together_is_told(tmp_path: Path) -> None:
    folder = encoder_folder(tmp_path / "in")
    with pytest.raises(RegardError, match="no pre-trained model; expected a folder"):
        api.train("classify", data=data(films), out=tmp_path / "run", quiet=True, encoder="pretrained")
    with pytest.raises(RegardError, match="an input that it cannot read"):
        trained("classify", folder, tmp_path / "run", input={"name": "text", "tokenizer": "word"})
    other = encoder_folder(tmp_path / "other", vocab_size=30)
    with pytest.raises(RegardError, match=r"is not the model of encoder\.from"):
        trained("classify", folder, tmp_path / "run", input={"tokenizer": {"name": "pretrained", "from": str(other)}})
    long = [("a dog " * 10, "good"), ("a cat", "bad")] * 12
    how: dict[str, Any] = {"encoder": {"name": "pretrained", "from": str(folder)}, "train": few}
    with pytest.raises(RegardError, match=r"22 tokens in a text; expected at most 20.*input.truncate=20"):
        api.train("classify", data=data(long), out=tmp_path / "run", quiet=True, **how)
    model = api.train(
        "classify", data=data(long), out=tmp_path / "run", quiet=True, input={"truncate": 20}, **how
    ).model
    assert len(model.predict("a dog " * 30).look.columns) == 20
    tokens = {"tokenizer": {"name": "pretrained", "from": str(folder)}}
    with pytest.raises(RegardError, match="tokenizer=pretrained for a text to write"):
        api.train("translate", data=data(films), out=tmp_path / "to", quiet=True, target=tokens, train=few)


def test_another_encoder_can_read_its_tokens(tmp_path: Path) -> None:
    folder = encoder_folder(tmp_path / "in")
    tokens = {"tokenizer": {"name": "pretrained", "from": str(folder)}, "embed": {"dim": 4}}
    how: dict[str, Any] = {"input": tokens, "encoder": {"name": "bigru", "hidden": 4}, "train": few}
    model = api.train("classify", data=data(films), out=tmp_path / "run", quiet=True, **how).model
    assert model.network.get_parameter("embed.learned").shape == (24, 4)
    assert model.predict("a good film").text in ("good", "bad")
