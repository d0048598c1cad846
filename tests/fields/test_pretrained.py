"""Pretrained: features computed once, kept by content, and read for training."""

from pathlib import Path

import pytest
import torch
from torch import nn

import regard.fields.pretrained as pretrained
from regard import api
from regard.errors import RegardError
from regard.fields.pretrained import Pretrained
from regard.regions import Box
from small_pictures import SIDE, captions, picture


class Halves(nn.Module):
    """The mean colour of each half of the picture, above and below, and twice that; it counts what it reads."""

    mean, std = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
    read = 0

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor([1.0, 2.0]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        Halves.read += len(x)
        grey = x.mean(1, keepdim=True).unflatten(2, (2, -1)).mean((3, 4))[..., None]  # [batch, 1, 2, 1]
        return grey * self.scale[:, None, None]


@pytest.fixture
def field(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pretrained:
    monkeypatch.setattr(Halves, "read", 0)
    monkeypatch.setattr(pretrained, "MANY", 3)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = Pretrained(network=f"{__name__}.Halves", size=SIDE, embed={"dim": 4})
    made.fit([])
    return made


values = [picture(n) for n in range(4)]
where = [f"c.jsonl:{n}" for n in range(4)]


def test_features_are_computed_once(field: Pretrained) -> None:
    rows = field.encode([*values, values[0]], [*where, "c.jsonl:4"])
    assert Halves.read == 1 + 4  # one to learn the shape; the picture that comes twice is read once
    found = field.collate(rows)
    assert found.values.shape == (5, 2, 2)
    torch.testing.assert_close(found.values[..., 1], 2 * found.values[..., 0], rtol=1e-2, atol=0)
    assert torch.equal(found.values[0], found.values[4])
    upper = torch.from_numpy(field._pixels(values[1], ""))[:, : SIDE // 2].mean()
    assert float(found.values[1, 0, 0]) == pytest.approx(float(upper), rel=1e-3)
    assert field.notes == [f"computed the features of 4 pictures, kept in {field._kept().folder}"]

    again = Pretrained(network=f"{__name__}.Halves", size=SIDE, embed={"dim": 4})
    again.restore(field.state())
    assert torch.equal(again.collate(again.encode(values, where)).values, found.values[:4])
    assert Halves.read == 5
    other = Pretrained(network=f"{__name__}.Halves", size=2 * SIDE)
    other.fit([])
    other.encode(values, where)
    assert Halves.read == 5 + 1 + 4  # another size is another feature


def test_a_few_pictures_are_not_kept(field: Pretrained) -> None:
    rows = field.encode(values[:2], where[:2])
    assert not field._kept().folder.exists()
    assert field.collate(rows).values.shape == (2, 2, 2)


def test_boxes_and_dropping(field: Pretrained) -> None:
    assert field.regions(["any"]) == [(Box(0.0, 0.0, 1.0, 0.5), Box(0.0, 0.5, 1.0, 1.0))]
    [row] = field.encode(values[:1], where[:1])
    whole, without = field.collate([row]).values[0], field.collate([field.drop(row, [1])]).values[0]
    assert torch.equal(without[0], whole[0])
    assert without[1].tolist() == [0.0, 0.0]  # the mean colour of this network is black
    with pytest.raises(RegardError, match="no box 2 to drop; expected 0 to 1"):
        field.drop(row, [2])


def test_one_vector(field: Pretrained) -> None:
    one = Pretrained(network=f"{__name__}.Halves", size=SIDE, pooled=True)
    one.fit([])
    found = one.collate(one.encode(values[:1], where[:1])).values
    both = field.collate(field.encode(values[:1], where[:1])).values
    torch.testing.assert_close(found[0, 0], both[0].mean(0), rtol=1e-3, atol=1e-4)
    assert one.regions(["any"]) == [(Box(0.0, 0.0, 1.0, 1.0),)]


def test_bad_pictures_are_told_before_training(field: Pretrained, tmp_path: Path) -> None:
    (tmp_path / "bad.jpg").write_text("no picture")
    with pytest.raises(RegardError, match=r"^c.jsonl:2: cannot read '.*bad.jpg'"):
        field.encode([values[0], str(tmp_path / "bad.jpg")], ["c.jsonl:1", "c.jsonl:2"])


def test_other_weights_are_refused(field: Pretrained) -> None:
    other = Pretrained(network=f"{__name__}.Halves", size=SIDE)
    other.restore({**field.state(), "identity": "another"})
    with pytest.raises(RegardError, match="has other weights than in training"):
        other.encode(values, where)


def test_a_task_trains_on_features(field: Pretrained) -> None:
    image = {"name": "pretrained", "network": field.name, "size": SIDE, "embed": {"dim": 4}}
    decoder = {"name": "recurrent", "embed": 4, "hidden": 4, "cell": "lstm"}
    task = api.make_task(api.configure("caption", {"image": image, "decoder": decoder}))
    task.learn(captions)
    network = task.network()
    output = network(task.collate(task.items(captions)))
    output.total.backward()
    assert network.embed.linear.weight.grad.any()
    assert Halves.read == 1 + 1 + len(captions)
    [found] = task.predict(network.eval(), [captions[0].inputs], api.Ask())
    assert found.look.weights.shape[-1] == 2
