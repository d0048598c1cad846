"""Caption: its models, where they look in the picture, and its way from a folder of pictures to an answer."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from generation_tasks import batch_of_all, made
from regard import api
from regard.measure import Results
from regard.measure.pointing import Pointing
from regard.networks.hard_attention import samples
from regard.predict.generate.recurrent import Recurrent
from regard.regions import Box
from regard.tasks.caption import Caption
from regard.train.task import Ask
from regard.types import Example, Grounding
from small_pictures import captions, picture

pytestmark = pytest.mark.usefixtures("one_thread")

tiny: dict[str, Any] = {"embed": 4, "hidden": 4, "dropout": 0.0}
xu: dict[str, Any] = {"name": "recurrent", "cell": "lstm", "gate": True, "output": "deep", "init_cell": True, **tiny}
models: dict[str, dict[str, Any]] = {
    "soft": {"decoder": xu},
    "hard": {"decoder": xu, "attention": {"normalizer": "sample"}},
    "show and tell": {"decoder": {"name": "plain", "cell": "lstm", "context": "first", **tiny}},
    "transformer": {
        "decoder": {"name": "transformer", "size": 4, "heads": 1, "layers": 1, "ffn": 4},
        "attention": {"score": "scaled_dot"},
    },
}


@pytest.mark.parametrize("name", models)
def test_each_model_learns_and_answers(name: str) -> None:
    torch.manual_seed(1)
    task = made("caption", **models[name])
    network, batch = task.network(), batch_of_all(task)
    optimiser = torch.optim.Adam(network.parameters(), lr=0.05)
    losses = []
    for _ in range(20):
        optimiser.zero_grad()
        output = network(batch)
        losses.append(float((output.total if output.shown is None else output.shown).detach()))
        output.total.backward()
        optimiser.step()
    assert sum(losses[-4:]) < sum(losses[:4])
    assert samples(network) == (name == "hard")
    network.eval()
    for found in task.predict(network, [one.inputs for one in captions], Ask()):
        if name == "show and tell":
            assert found.look is None
            continue
        assert found.look.in_picture
        assert found.look.columns[1] == Box(0.5, 0.0, 1.0, 0.5)
        weights = found.look.mean().weights
        np.testing.assert_allclose(weights.sum(-1), 1.0, atol=1e-5)
        assert set(np.unique(weights)) == {0.0, 1.0} or name != "hard"


def test_the_penalty_is_for_soft_attention_alone() -> None:
    weights = {name: made("caption", **options).network().doubly_stochastic for name, options in models.items()}
    assert weights == {"soft": 1.0, "hard": 0.0, "show and tell": 0.0, "transformer": 0.0}
    assert made("caption", doubly_stochastic=0.0, **models["soft"]).network().doubly_stochastic == 0.0


def test_by_default_it_is_show_attend_and_tell() -> None:
    task = Caption()
    task.learn(captions)
    decoder = task.network().decoder
    assert isinstance(decoder, Recurrent)
    assert (decoder.cell, decoder.output, decoder.place) == ("lstm", "deep", "before")
    assert decoder.gate is not None
    assert decoder.bridge_cell is not None


def test_where_it_looks_is_scored_on_true_captions() -> None:
    task = made("caption", **models["soft"])
    network = task.network().eval()
    spoken = Grounding(2, 9, Box(0.0, 0.0, 0.5, 0.5))
    known = [Example((picture(n),), text, grounding=(spoken,)) for n, text in enumerate(("a red dot", "a line"))]
    results = task.results(network, known)
    assert [one.text for one in results.read] == ["a red dot", "a line"]
    assert [len(one.look.rows) for one in results.read] == [4, 3]
    assert Pointing()(results)["pointing_chance"] == 0.25
    assert task.results(network, known, quick=True).read == []
    assert task.results(network, [*known, captions[0]]).read == []
    assert isinstance(results, Results)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Pictures of one colour each, with two captions."""
    lines = ["image,caption"]
    for n in range(12):
        name, colour = f"{n}.png", ("red", "blue")[n % 2]
        Image.new("RGB", (8 + n, 8), colour).save(tmp_path / name)
        lines += [f"{name},it is {colour}", f"{name},all {colour}"]
    (tmp_path / "captions.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


@pytest.mark.sweep
def test_from_a_folder_to_an_answer(folder: Path) -> None:
    options: dict[str, Any] = {
        "image": {"size": 8, "embed": {"dim": 8, "blocks": 1}},
        "target": {"max_length": 8},
        "decoder": {**xu, "hidden": 16, "embed": 8},
    }
    train = {"steps": 60, "lr": 0.02, "warmup": 5, "ema": 0.5, "validate_every": 30, "batch_size": 8, "workers": 0}
    out = folder / "run"
    trained = api.train("caption", data=str(folder), out=out, quiet=True, train=train, **options)
    assert {len(one.references) for one in trained.splits.test} == {2}
    assert trained.test["exact_match"] == 1.0
    assert {"bleu1", "bleu4", "cider_d", "meteor", "rougeL"} <= trained.test.keys()
    model = api.load(out)
    red, blue = model([str(folder / "0.png"), str(folder / "1.png")])
    assert ("red" in red.text, "blue" in blue.text) == (True, True)
    assert model.roles == [{"name": "image", "kind": "image", "noun": "a picture"}]
    for suffix in (".png", ".html", ".txt"):
        assert red.look.save(folder / f"look{suffix}").stat().st_size > 100
    [scored] = model.score([(str(folder / "0.png"), "all red")])
    assert scored.log_prob > model.score([(str(folder / "0.png"), "all blue")])[0].log_prob
