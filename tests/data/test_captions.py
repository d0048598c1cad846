"""Captions: token files, split lists, JSON lines and CSV, and where the pictures are."""

from pathlib import Path

import pytest
from PIL import Image

from regard.data.load import load
from regard.data.splits import Splits
from regard.errors import RegardError
from regard.tasks.caption import Caption


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Six pictures in a subfolder."""
    (tmp_path / "pictures").mkdir()
    for n in range(6):
        Image.new("RGB", (4, 4), (40 * n, 0, 0)).save(tmp_path / "pictures" / f"{n}.png")
    return tmp_path


def loaded(train: Path, **given: str) -> Splits:
    task = Caption()
    return load("", tuple(task.fields.values()), task.known, train=str(train), **given)


def token_file(folder: Path, pictures: int = 6) -> None:
    lines = [f"{n}.png#{i}\tpicture {n} , text {i} ." for n in range(pictures) for i in range(2)]
    (folder / "Flickr8k.token.txt").write_text("".join(f"{line}\n" for line in lines))


def test_a_token_file_with_its_lists(folder: Path) -> None:
    token_file(folder)
    (folder / "Flickr8k.lemma.token.txt").write_text("0.png#0\tpicture\n")
    for part, names in (("train", "021"), ("dev", "3"), ("test", "4")):
        (folder / f"Flickr_8k.{part}Images.txt").write_text("".join(f"{n}.png\n" for n in names))
    found = loaded(folder)
    assert [Path(one.source).name for one in found.train] == ["0.png", "0.png", "2.png", "2.png", "1.png", "1.png"]
    assert found.train[0].source == str(folder / "pictures" / "0.png")
    [valid], [test] = found.valid, found.test
    assert valid.references == ("picture 3 , text 0 .", "picture 3 , text 1 .")
    assert Path(test.source).name == "4.png"
    assert test.where.endswith("Flickr8k.token.txt:9")
    assert found.notes == [f"{folder}: 1 picture in none of the lists left out"]


def test_without_lists_captions_of_a_picture_stay_together(folder: Path) -> None:
    token_file(folder)
    found = loaded(folder)
    parts = [{one.source for one in part} for part in (found.train, found.valid, found.test)]
    assert sum(map(len, parts)) == 6
    assert not parts[0] & parts[1] | parts[0] & parts[2] | parts[1] & parts[2]
    assert {len(one.references) for one in found.valid + found.test} == {2}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("captions.jsonl", '{"image": "0.png", "captions": ["one", "two"]}\n{"image": "1.png", "captions": ["one"]}\n'),
        ("captions.csv", 'image,caption\n0.png,one\n0.png,two\n1.png,"one"\n'),
        ("captions.txt", "image,caption\n0.png,one\n0.png,two\n1.png,one\n"),  # as Kaggle has Flickr8k
        ("mine.csv", "id,file_name,caption\n7,0.png,one\n7,pictures/0.png,two\n8,1.png,one\n"),
    ],
)
def test_files_of_captions(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    given = folder if name.startswith("captions") else folder / name
    found = loaded(given, valid=str(folder / name))
    pictures = [str(folder / "pictures" / f"{n}.png") for n in (0, 0, 1)]
    assert [(one.source, one.target) for one in found.train] == list(zip(pictures, ("one", "two", "one"), strict=True))
    assert [one.references for one in found.valid] == [("one", "two"), ("one",)]


def test_parts_in_files_of_their_own(folder: Path) -> None:
    for part, n in (("train", 0), ("test", 1)):
        (folder / f"{part}.jsonl").write_text(f'{{"image": "{n}.png", "caption": "{part}"}}\n')
    found = loaded(folder)
    assert ([one.target for one in found.train], [one.target for one in found.test]) == (["train"], ["test"])


def refused(folder: Path, file: str = "") -> str:
    def read() -> None:
        task, found = Caption(), loaded(folder / file)
        task.learn(found.train)
        task.items([*found.valid, *found.test])  # whichever part a picture came to

    with pytest.raises(RegardError) as caught:
        read()
    return str(caught.value).replace(f"{folder}/", "").replace(str(folder), "it")


def test_mistakes_name_file_and_line(folder: Path) -> None:
    token_file(folder)
    with (folder / "Flickr8k.token.txt").open("a") as file:
        file.write("no tab\n")
    said = "Flickr8k.token.txt:13: 'no tab'; expected picture.jpg#number, a tab and the caption; correct or remove"
    assert refused(folder).startswith(said)
    token_file(folder, 7)
    assert "Flickr8k.token.txt:13: no picture '6.png'" in refused(folder)
    (folder / "Flickr_8k.devImages.txt").write_text("3.png\n9.png\n")
    assert refused(folder).startswith("it: no list of training pictures")
    (folder / "Flickr_8k.trainImages.txt").write_text("0.png\n")
    assert refused(folder) == "Flickr_8k.devImages.txt:2: no captions of '9.png'"
    (folder / "captions.csv").write_text("image,caption\n")
    assert refused(folder).startswith("it: several files of captions: Flickr8k.token.txt, captions.csv")
    (folder / "empty").mkdir()
    assert "no file named train" in refused(folder, "empty")
