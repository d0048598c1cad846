"""`recommend` from the command line: predict for histories and users, look, check the data."""

import json
from pathlib import Path
from random import Random

import pytest
from command_line import Regard

from regard import api


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve users, each with eight of ten films in an order of their own; and one user with two."""
    place, chance = tmp_path_factory.mktemp("films"), Random(1)
    rows = [
        f"{user}\tf{film}\t4\t{1_600_000_000 + time}"
        for user in range(12)
        for time, film in enumerate(chance.sample(range(10), 8))
    ]
    rows += ["99\tf1\t3\t1600000000", "99\tf2\t3\t1600000001"]
    (place / "u.data").write_text("\n".join(rows) + "\n")
    (place / "u.item").write_text("".join(f"f{film}|Film No. {film} (1999)|x\n" for film in range(10)))
    return place


@pytest.fixture(scope="module")
def trained(folder: Path) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("regard.train.loop.draw", lambda folder: None)
        options = {
            "history": {"embed": {"dim": 8}},
            "network": {"layers": 1},
            "titles": str(folder / "u.item"),
            "top": 2,
        }
        train = {"steps": 4, "device": "cpu", "auto": False}
        api.train("recommend", data=folder, out=folder / "run", quiet=True, train=train, **options)
    return folder / "run"


def test_predict(regard: Regard, trained: Path) -> None:
    said = regard("predict", trained, "f1 f2 f3", "user:5", "--top", "3")
    assert (said.code, said.err) == (0, "")
    first, second = said.out.splitlines()
    assert len(first.split("\t")) == 3
    assert all(" Film No. " in one for one in first.split("\t"))
    assert len(second.split("\t")) == 2  # the user has had all but two
    found = json.loads(regard("predict", trained, "f1 f2 f3", "--json").out)
    assert [sorted(one) for one in found["items"]] == [["item", "probability", "title"]] * 2
    assert found["text"] == found["items"][0]["item"]


def test_what_cannot_be_answered(regard: Regard, trained: Path) -> None:
    said = regard("predict", trained, "user:99", "zz yy", "f1 f2")
    assert said.code == 3
    assert said.out.splitlines()[:2] == ["", ""]
    assert "no user '99'; expected a user of the training data, or items" in said.err
    assert "2 items, none of them known" in said.err
    assert regard("predict", trained, "f1 f2", "--top", "0").code == 2


def test_look_and_score(regard: Regard, trained: Path, tmp_path: Path) -> None:
    said = regard("look", trained, "f1 new f3", "--target", "f7")
    assert said.code == 0, said.err
    assert "Film No. 1" in said.out
    assert "(new)" in said.out
    assert regard("look", trained, "user:3", "-o", tmp_path / "why.html").code == 0
    page = (tmp_path / "why.html").read_text()
    assert "Film No. " in page
    lines = tmp_path / "pairs.tsv"
    lines.write_text("f1 f2\tf7\nf1 f2\tf8\n")
    scores = [float(one) for one in regard("predict", trained, "--score", lines).out.split()]
    assert all(one < 0 for one in scores)


def test_the_data_report(regard: Regard, folder: Path) -> None:
    said = regard("data", "recommend", "--data", folder)
    assert said.code == 0, said.err
    assert "1 of 13 users with fewer than 4 items left out" in said.out
    assert "leave-one-out: the last item of each user is for the test" in said.out
    assert "reading columns 1, 2, 4 as user, item and time" in said.out


def test_other_tasks_have_no_list(regard: Regard, run: Path) -> None:
    said = regard("predict", run, "abc", "--top", "3")
    assert said.code == 2
    assert "translate has no top; remove top" in said.err
