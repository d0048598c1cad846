"""`key=value` pairs, TOML files, and one over the other."""

from pathlib import Path
from typing import Any

import pytest

from regard.cli.options import asked, parse_pairs, read_toml, search
from regard.errors import RegardError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("512", 512),
        ("2e-3", 2e-3),
        ("true", True),
        ("bilinear", "bilinear"),
        ('"512"', "512"),
        ("5m", "5m"),
        ("", ""),
        ('["bleu", "chrf"]', ["bleu", "chrf"]),
        ("{name = 'dot'}", {"name": "dot"}),
        ("a=b", "a=b"),
        ("1, 2", "1, 2"),
        ("7 # seven", "7 # seven"),
        ("1]\nother = [2", "1]\nother = [2"),
        ("2024-03-05", "2024-03-05"),
        ("[2024-03-05]", "[2024-03-05]"),
        ("[" * 5000, "[" * 5000),
        ("my.package.Thing", "my.package.Thing"),
        ("runs/a b.tsv", "runs/a b.tsv"),
    ],
)
def test_values_are_toml_or_text(text: str, value: Any) -> None:
    assert parse_pairs([f"x={text}"]) == {"x": value}


@pytest.mark.parametrize("pair", ["hidden 512", "=3", "a..b=1", ".a=1", "a.=1", "--x=1", "a b=1", "3=4", ""])
def test_what_is_no_pair(pair: str) -> None:
    with pytest.raises(RegardError, match="expected key=value"):
        parse_pairs([pair])


@pytest.mark.parametrize(
    ("pairs", "options"),
    [
        (["encoder=recurrent", "encoder.hidden=64"], {"encoder": {"name": "recurrent", "hidden": 64}}),
        (["encoder.hidden=64", "encoder=recurrent"], {"encoder": {"hidden": 64, "name": "recurrent"}}),
        (["a.s=bilinear", "a.s.hidden=6", "a.w=x"], {"a": {"s": {"name": "bilinear", "hidden": 6}, "w": "x"}}),
        (["e=gru", "e={hidden = 3}"], {"e": {"name": "gru", "hidden": 3}}),
        (["train.lr=1", "train.lr=2"], {"train": {"lr": 2}}),
        ([], {}),
    ],
)
def test_a_part_by_name_and_by_option(pairs: list[str], options: dict[str, Any]) -> None:
    assert parse_pairs(pairs) == options


@pytest.mark.parametrize("pairs", [["a=3", "a.b=1"], ["a.b=1", "a=3"]])
def test_pairs_that_quarrel(pairs: list[str]) -> None:
    with pytest.raises(RegardError, match=repr(pairs[1])):
        parse_pairs(pairs)


def test_toml_tells_the_line(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("[encoder]\nhidden = 3\nlayers = = 2\n")
    with pytest.raises(RegardError, match=r"a\.toml:3: not TOML"):
        read_toml(str(path))
    path.write_text("[encoder")
    with pytest.raises(RegardError, match=r"a\.toml(:1)?: not TOML"):
        read_toml(str(path))
    path.write_bytes(b"a = 1\nb = '\xff'\n")
    with pytest.raises(RegardError, match=r"a\.toml:2: not UTF-8"):
        read_toml(str(path))
    with pytest.raises(RegardError, match=r"none\.toml: no such file"):
        read_toml(str(tmp_path / "none.toml"))
    with pytest.raises(RegardError, match="a folder; expected a file"):
        read_toml(str(tmp_path))
    with pytest.raises(RegardError, match="null"):
        read_toml("a\0b")


def test_pairs_over_the_file_and_options_over_both(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(
        'task = "translate"\n[encoder]\nname = "recurrent"\nhidden = 3\n[data]\ntrain = "x"\nsource = "de"\n'
    )
    options = asked("translate", str(path), ["encoder.layers=2", "train.time=9m"], data="y", time="5m")
    assert options == {
        "encoder": {"name": "recurrent", "hidden": 3, "layers": 2},
        "data": {"train": "y", "source": "de"},
        "train": {"time": "5m"},
    }
    with pytest.raises(RegardError, match="is for task 'translate', not 'tag'"):
        asked("tag", str(path), [])


@pytest.mark.parametrize(
    ("task", "pairs", "match"),
    [
        ("encoder.hidden=3", [], "put the task first"),
        ("translate", ["data=x.tsv"], "use --data"),
        ("translate", ["train=3"], "expected train.OPTION=VALUE; set train.lr="),
        ("translate", ["time=5m"], "use --time"),
        ("translate", ["out=runs/a"], "use --out"),
    ],
)
def test_pairs_that_were_meant_otherwise(task: str, pairs: list[str], match: str) -> None:
    with pytest.raises(RegardError, match=match):
        asked(task, None, pairs)


def test_search_by_what_was_asked_for() -> None:
    assert search() == {}
    assert search(3) == {"name": "beam", "beam_size": 3, "n_best": 1}
    assert search(None, 4) == {"name": "beam", "n_best": 4}
    assert search(None, 2, True, {"top_k": 5, "seed": None}) == {"name": "sample", "top_k": 5, "count": 2}
    with pytest.raises(RegardError, match="one of them"):
        search(3, 1, True)
    with pytest.raises(RegardError, match="--top-p without --sample"):
        search(sampling={"top_p": 0.5})
    with pytest.raises(RegardError, match="--beam 4"):
        search(2, 4)


@pytest.mark.parametrize(
    "text", ["a = " + "[" * 5000 + "]" * 5000, "a = " + "9" * 5000, "a = " + "{b = " * 3000, "a." * 5000 + "b = 1"]
)
def test_toml_that_goes_too_far(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.toml"
    path.write_text(text)
    try:
        read_toml(str(path))
    except RegardError as error:
        assert str(error).startswith(f"{path}")  # noqa: PT017
    with pytest.raises(RegardError, match="more than 1,048,576 bytes"):
        path.write_text("#" * (1 << 20) + "\n") and read_toml(str(path))
    assert parse_pairs(["a=" + "9" * 5000]) == {"a": "9" * 5000}
