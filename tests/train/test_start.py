"""Starting from another run: what is taken, what may be changed, what is refused; and that nothing else is touched."""

from pathlib import Path
from typing import Any

import pytest
import torch

import regard.train.loop
from regard import api
from regard.errors import RegardError
from regard.types import Example
from small_pictures import captions, small_image
from small_sounds import recordings, small_audio
from tiers import sweep_but

pytestmark = pytest.mark.usefixtures("one_thread")

texts = [f"{a} {b} {c}" for a in ("the", "a", "one") for b in ("cat", "dog", "man", "bird") for c in ("sat", "ran")]
labelled = [(text, "animal" if "man" not in text else "person") for text in texts]
pairs = [(text, text, "yes") if n % 2 else (text, texts[0], "no") for n, text in enumerate(texts)]
quick: dict[str, Any] = {"epochs": 100, "steps": 2, "validate_every": 1, "batch_size": 8, "device": "cpu", "time": ""}
encoder = {"name": "transformer", "size": 8, "heads": 2, "layers": 2, "ffn": 8}


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("begun") / "begun"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(regard.train.loop, "draw", lambda folder: None)
        api.train("pretrain", data=texts, out=folder, quiet=True, train=quick, encoder=encoder,
                  text={"tokenizer": "word", "embed": {"dim": 6}})  # fmt: skip
    return folder


def ready(task: str, begun: Path, data: Any = labelled, **options: Any) -> api.Prepared:
    asked = {"data": {"train": api.options_of(data)["train"]}, "start": {"run": str(begun)}, **options}
    return api.prepare(task, asked)


DATA = {
    "classify": labelled,
    "entail": pairs,
    "relate": [(text, text, str(1 + n % 5)) for n, text in enumerate(texts)],
    "tag": [(text, "D N V") for text in texts],
    "translate": [(text, text) for text in texts],
    "summarise": [(text, text) for text in texts],
    "answer": [(text, f"what {text.split()[2]}", text.split()[1]) for text in texts],
    "pretrain": texts,
}


@pytest.mark.parametrize("task", sweep_but(DATA, "classify", "answer", "pretrain"))
def test_every_task_takes_tokenizer_embedding_and_encoder(task: str, begun: Path) -> None:
    there, found = api.load(begun, "cpu"), ready(task, begun, DATA[task])
    assert next(iter(found.task.inputs.values())).state() == there.task.field.state()  # type: ignore[attr-defined]
    state, own = there.network.state_dict(), found.network.state_dict()
    taken = [name for name in own if name.startswith(("embed.", "encoder."))]
    assert len(taken) > 20
    assert all(torch.equal(own[name], state[name]) for name in taken)
    assert task == "pretrain" or not any(name in state for name in own.keys() - set(taken))
    assert found.begun.startswith(f"starts from {begun}: tokenizer, embedding and encoder=transformer, ")
    assert found.begun in found.notes
    loss = found.network(found.task.collate(found.task.items(found.splits.train)))
    loss.total.backward()


OWN: dict[str, tuple[Any, dict[str, Any]]] = {
    "caption": (captions, {"image": small_image, "decoder": {"name": "recurrent", "hidden": 6, "embed": 4}}),
    "transcribe": (
        recordings,
        {"audio": small_audio, "decoder": {"name": "recurrent", "hidden": 6, "embed": 4}, "encoder": "bigru"},
    ),
    "describe": (
        [("name[Zizzi], food[French]", "Zizzi is French."), ("name[Bibi], food[Thai]", "Bibi is Thai.")] * 12,
        {"encoder": {"name": "bigru", "hidden": 6}, "decoder": {"name": "recurrent", "hidden": 6, "embed": 4}},
    ),
}


@pytest.mark.sweep
@pytest.mark.parametrize("task", OWN)
def test_what_reads_no_plain_text_starts_from_its_own_kind(
    task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begun: Path
) -> None:
    """Pictures, recordings and records: all sizes of the field are taken, too."""
    monkeypatch.setattr(regard.train.loop, "draw", lambda folder: None)
    rows, options = OWN[task]
    rows = [(*one.inputs, one.target) if isinstance(one, Example) else one for one in rows] * 6
    api.train(task, data=rows, out=tmp_path / "one", quiet=True, train=quick, **options)
    found, there = ready(task, tmp_path / "one", rows), api.load(tmp_path / "one", "cpu").network.state_dict()
    own = found.network.state_dict()
    taken = [name for name in own if name.startswith(("embed.", "encoder."))]
    assert len(taken) > 4
    assert all(torch.equal(own[name], there[name]) for name in taken)
    with pytest.raises(RegardError, match=f"it reads text, and {task} reads"):
        ready(task, begun, rows)


def test_one_that_goes_on_with_the_same_keeps_its_output_layer(begun: Path) -> None:
    there, found = api.load(begun, "cpu").network.state_dict(), ready("pretrain", begun, texts).network.state_dict()
    assert there.keys() == found.keys()
    assert all(torch.equal(found[name], there[name]) for name in there)


@pytest.mark.sweep
def test_a_language_model_starts_from_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begun: Path) -> None:
    monkeypatch.setattr(regard.train.loop, "draw", lambda folder: None)
    small = {"network": {"name": "recurrent", "hidden": 6}, "text": {"tokenizer": "word"}}
    api.train("language", data=texts, out=tmp_path / "one", quiet=True, train=quick, **small)
    found = ready("language", tmp_path / "one", texts)
    there = api.load(tmp_path / "one", "cpu").network.state_dict()
    assert all(torch.equal(value, there[name]) for name, value in found.network.state_dict().items())
    with pytest.raises(RegardError, match="language starts from a run of language, and that is a run of pretrain"):
        ready("language", begun, texts)
    with pytest.raises(RegardError, match="classify starts from an encoder, and that is a run of language"):
        ready("classify", tmp_path / "one")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"encoder": "bigru"}, "encoder=bigru, but .* has encoder=transformer; remove encoder, or --start"),
        ({"encoder": {"size": 16}}, "encoder.size=16, but .* has encoder.size=8"),
        ({"encoder": {"hidden": 16}}, "encoder.hidden=16, but .* has nothing of that name"),
        ({"input": {"tokenizer": "bpe"}}, "input.tokenizer=bpe, but .* has input.tokenizer=word"),
        ({"input": {"embed": {"dim": 300}}}, "input.embed.dim=300, but .* has input.embed.dim=6"),
        ({"input": "items"}, "input=items, but .* has input=text"),
        ({"encoder": {"droput": 0.5}}, "encoder.droput=0.5, but .* has nothing of that name"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(options: dict[str, Any], said: str, begun: Path) -> None:
    with pytest.raises(RegardError, match=said):
        ready("classify", begun, **options)


def test_dropout_and_lengths_may_differ(begun: Path) -> None:
    changed = {"encoder": {"dropout": 0.5}, "input": {"max_length": 50, "embed": {"dropout": 0.25}}}
    config = ready("classify", begun, **changed).config
    assert (config["encoder"]["dropout"], config["encoder"]["size"]) == (0.5, 8)
    assert (config["input"]["max_length"], config["input"]["embed"]["dropout"]) == (50, 0.25)


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ("describe", "it reads text, and describe reads record"),
        ("caption", "it reads text, and caption reads image"),
        ("transcribe", "it reads text, and transcribe reads audio"),
        ("glimpse", "glimpse has no encoder that could start from another run"),
        ("recommend", "recommend has no encoder that could start from another run"),
        ("agree", "agree has no encoder that could start from another run"),
    ],
)
def test_tasks_that_cannot(task: str, said: str, begun: Path) -> None:
    with pytest.raises(RegardError, match=said):
        ready(task, begun, texts)


@pytest.mark.sweep
def test_frozen_parts_do_not_move(begun: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regard.train.loop, "draw", lambda folder: None)
    there = api.load(begun, "cpu").network.state_dict()
    for freeze in (True, False):
        start = {"run": str(begun), "freeze": freeze}
        out = tmp_path / str(freeze)
        found = api.train("classify", data=labelled, out=out, quiet=True, train=quick, start=start)
        moved = {name: not torch.equal(value, there[name])
                 for name, value in found.model.network.state_dict().items() if name in there}  # fmt: skip
        assert any(moved.values()) is not freeze
        again = api.train("classify", out=out, quiet=True, data=labelled, train={"steps": 4})  # without the run
        assert again.outcome.step == 4
        assert any(not torch.equal(value, there[name]) for name, value in again.model.network.state_dict().items()
                   if name in there) is not freeze  # fmt: skip


def test_freezing_without_a_run_or_all_of_it(begun: Path) -> None:
    with pytest.raises(RegardError, match=r"start\.freeze=true without a run to start from; add --start RUN"):
        api.prepare("classify", {"start": {"freeze": True}})


@pytest.mark.sweep
def test_it_resumes_when_the_started_run_is_gone(begun: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regard.train.loop, "draw", lambda folder: None)
    moved = tmp_path / "moved"
    moved.symlink_to(begun)
    first = api.train("classify", data=labelled, out=tmp_path / "run", quiet=True, train=quick, start=moved)
    moved.unlink()
    again = api.train("classify", data=labelled, out=tmp_path / "run", quiet=True, train={"steps": 4})
    assert (first.outcome.step, again.outcome.step) == (2, 4)
    with pytest.raises(RegardError, match=r"was started with start\.run="):
        api.train("classify", data=labelled, out=tmp_path / "run", quiet=True, start=begun)


def test_the_gate_holds_for_the_started_run(begun: Path, tmp_path: Path) -> None:
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    for name in ("tokenizer.json", "model.safetensors"):
        (hostile / name).write_bytes((begun / name).read_bytes())
    config = (begun / "config.toml").read_text().replace('name = "transformer"', 'name = "canary.part.Thing"')
    (hostile / "config.toml").write_text(config)
    with pytest.raises(RegardError, match=r"hostile uses canary\.part\.Thing, which is not part of regard"):
        ready("classify", hostile)


def test_no_such_run(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="nowhere does not exist; expected a folder made by 'regard train'"):
        ready("classify", tmp_path / "nowhere")
