from pathlib import Path
from typing import Any

import pytest
from text_columns import text_columns

from regard.data import load as module
from regard.data.load import load, load_part
from regard.data.splits import Splits
from regard.errors import RegardError
from regard.fields.label import Label
from regard.find import check
from regard.types import Example


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def rows(n: int, name: str = "") -> str:
    return "".join(f"{name}{i}\tT{i}\n" for i in range(n))


def write(**files: str) -> None:
    for name, text in files.items():
        path = Path(name.replace("__", "/").replace("_dot_", "."))
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)


def sizes(splits: Splits) -> tuple[int, int, int]:
    return len(splits.train), len(splits.valid), len(splits.test)


def get(**options: Any) -> Splits:
    fields = text_columns(options.pop("columns", 2))
    return load(**{"default": "builtin:nothing", "fields": fields, "known": (), **options})


def said(**options: Any) -> str:
    with pytest.raises(RegardError) as caught:
        get(**options)
    return str(caught.value)


def test_a_file_is_divided() -> None:
    write(a_dot_tsv=rows(200))
    splits = get(train="a.tsv")
    assert sum(sizes(splits)) == 200
    assert all(sizes(splits))
    assert splits == get(default="a.tsv")  # the default stands in for train


def test_what_is_given_is_kept() -> None:
    write(a_dot_tsv=rows(200), v_dot_tsv=rows(3, "v"), t_dot_tsv=rows(4, "t"))
    assert sizes(get(train="a.tsv", valid="v.tsv", test="t.tsv")) == (200, 3, 4)
    assert sizes(get(train="a.tsv", valid="v.tsv")) == (200, 3, 0)
    only_test = get(train="a.tsv", test="t.tsv")
    assert len(only_test.test) == 4
    assert len(only_test.valid) > 0
    assert sizes(only_test)[0] + sizes(only_test)[1] == 200


def test_parallel_files() -> None:
    write(a_dot_de="eins\nzwei\n", a_dot_en="one\ntwo\n")
    assert get(train="a.de, a.en", valid="a.de,a.en").train[1] == Example(("zwei",), "two", "a.de:2")
    assert "expected 2 parallel files" in said(train="a.de,a.en,a.fr")
    assert "expected 2" in said(train="a.de,")
    Path("a,b.tsv").write_text("x\ty")
    assert get(train="a,b.tsv", valid="a,b.tsv").train[0].source == "x"


@pytest.mark.parametrize("valid", ["valid", "val", "dev", "validation"])
def test_a_folder_of_tables(valid: str) -> None:
    write(d__train_dot_tsv=rows(9), d__test_2016_dot_tsv=rows(2, "t"), d__README_dot_md="no")
    Path("d", f"{valid}.csv").write_text("a,b\n")
    splits = get(train="d")
    assert sizes(splits) == (9, 1, 2)
    assert splits.test[0].where == "d/test_2016.tsv:1"


def test_a_folder_with_only_train() -> None:
    write(d__train_dot_tsv=rows(50))
    assert all(sizes(get(train="d/")))


def test_a_folder_of_parallel_files() -> None:
    write(d__train_dot_de="a\nb\n", d__train_dot_en="A\nB\n", d__val_dot_de="c", d__val_dot_en="C")
    write(d__test_1_dot_de="e", d__test_1_dot_en="E", d__train_dot_fr="x", d__train_dot_tsv=rows(7))
    splits = get(train="d", source="de", target="en")
    assert splits == Splits(
        [Example(("a",), "A", "d/train.de:1"), Example(("b",), "B", "d/train.de:2")],
        [Example(("c",), "C", "d/val.de:1")],
        [Example(("e",), "E", "d/test_1.de:1")],
    )
    write(d__test_2_dot_de="e")
    assert said(train="d", source="de", target="en") == (
        "d: 2 files for test: test_1.de, test_2.de; choose one with data.test="
    )


def test_folders_that_do_not_do() -> None:
    write(d__a_dot_tsv=rows(3))
    assert "d: no file named train" in said(train="d")
    assert "a.tsv" in said(train="d")
    write(e__train_dot_de="a")
    assert "e: no train.en" in said(train="e", source="de", target="en")
    write(f__train_dot_tsv=rows(1), f__train_dot_csv="a,b")
    assert "2 files for train: train.csv, train.tsv" in said(train="f")


def test_fields_by_name() -> None:
    write(a_dot_tsv="id\tp\th\tlabel\n1\tx\ty\tyes\n2\tz\tw\tno\n")
    splits = get(train="a.tsv", valid="a.tsv", columns=3, source="p, h", target="label")
    assert splits.train[0] == Example(("x", "y"), "yes", "a.tsv:2")
    assert "expected 2 names for source and 1 for target" in said(train="a.tsv", columns=3, source="p", target="label")
    assert "a.tsv:1: 4 columns (id, p, h, label); expected 2; name the columns" in said(train="a.tsv", source="p")
    assert "expected 1 name for source and 1 for target" in said(train="a.tsv", source="p,h", target="label")
    assert get(train="a.tsv", valid="a.tsv", columns=1, source="p").train[0].inputs == ("x",)


def test_made_and_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Splits([Example(("a",), "b")], [Example(("c",), "d")], [])

    class Made:
        def splits(self) -> Splits:
            return made

    monkeypatch.setattr(
        module, "build", lambda folder, name: Made() if (folder, name) == ("data.builtin", "x") else None
    )
    assert get(train="builtin:x") == made
    monkeypatch.setattr(
        module, "read_hf", lambda name, fields: made if (name, fields) == ("hf:x/y", ("s", "t")) else None
    )
    assert get(train="hf:x/y", source="s", target="t") == made
    monkeypatch.undo()


def test_nothing_there() -> None:
    write(train_dot_tsv=rows(3))
    assert "did you mean 'train.tsv'?" in said(train="trian.tsv")
    assert "no such file" in said(train="nowhere")
    assert "unknown built-in data set 'nothing'" in said()


def test_the_signature_is_the_schema() -> None:
    check(load, {"train": "a", "valid": "b", "test": "c", "source": "d", "target": "e"})
    with pytest.raises(RegardError, match="did you mean 'valid'"):
        check(load, {"vald": "x"})


def test_a_header_is_no_example_and_said() -> None:
    labels = (*text_columns(2)[:1], Label())
    write(a_dot_csv="Sentiment;Review\n" + "".join(f"{'ab'[n % 2]};text {n}\n" for n in range(20)))
    splits = get(train="a.csv", fields=labels)
    assert {e.target for e in splits.train} == {"a", "b"}
    assert splits.columns == ["Review", "Sentiment"]
    assert splits.notes == [
        "a.csv: separated by semicolon; set data.separator= if that is wrong",
        "a.csv: line 1 is a header; reading 'Review' and 'Sentiment' (data.header=false reads the line as an example)",
    ]
    assert sum(sizes(get(train="a.csv", header=False))) == 21
    assert get(train="a.csv", source="2", target="1", fields=labels).train[0].source.startswith("text")
    write(b_dot_csv="x,y\n" + "".join(f"{n},{n}\n" for n in range(20)))
    assert sum(sizes(get(train="b.csv", header=True, valid="b.csv"))) == 40
    assert "named columns with data.header=false" in said(train="a.csv", header=False, source="x", target="y")
    assert "3 columns (id, q, r); expected 2; name the columns" in said(train=three(), header=True)


def three() -> str:
    write(c_dot_csv="id,q,r\n1,2,3\n")
    return "c.csv"


def test_empty_values_are_named_or_skipped() -> None:
    write(a_dot_tsv=rows(9) + "x\t\n" + "\ty\n" + "\t\n", a_dot_de="a\n\nb\nc\n", a_dot_en="a\n\n\nc\n")
    assert said(train="a.tsv").startswith("a.tsv:10: an empty target; expected at least one character; fill it or")
    splits = get(train="a.tsv", skip=True)
    assert sum(sizes(splits)) == 9
    assert splits.notes == [
        "a.tsv: skipped 1 blank line (line 12)",
        "a.tsv: skipped 2 lines with an empty text or label (a.tsv:10: an empty target; a.tsv:11: an empty source)",
    ]
    assert said(train="a.de,a.en").startswith("a.de:3: an empty target")
    assert [e.where for e in get(train="a.de,a.en", skip=True, valid="a.tsv").train] == ["a.de:1", "a.de:4"]
    assert len(load_part("a.de,a.en", text_columns(2))) == 4  # alignments are counted in lines


def test_bad_lines_are_skipped_in_every_form() -> None:
    write(v_dot_tsv=rows(3), v_dot_jsonl="x y\n")
    bad = b"k\xc3\xa9\xff\tx\n"
    Path("a.tsv").write_bytes("größe\tx\n".encode() + bad + b"one\n" + b"c\td\n")
    Path("a.jsonl").write_bytes(
        b'{"source": "a", "target": "b"}\n{\n{"source": "c"}\n{"source": "d", "target": "e"}\n[1]\n'
    )
    Path("a.conll").write_bytes(b"a A\nb\n\nc C\nd D E\ne E\n\nf F\n")
    Path("a.train").write_bytes(b"x a b\nalone\ny c\n")
    Path("a.csv").write_bytes(b'a,b\n"c"d,e\n' + b"f,g\n" + b'"h,i\nj,k\n')
    for name, kept, kinds in (
        ("a.tsv", ["größe", "c"], ["encoding", "fields"]),
        ("a.jsonl", ["a", "d"], ["json", "value"]),
        ("a.conll", ["f"], ["fields"]),
        ("a.train", ["a b", "c"], ["fields"]),
        ("a.csv", ["a", "f", "j"], ["quotes"]),
    ):
        options = {"form": "labelled"} if name == "a.train" else {}
        splits = get(train=name, skip=True, valid="v.jsonl" if options else "v.tsv", **options)
        assert [e.source for e in splits.train] == kept, name
        assert [fault.kind for fault in splits.faults] == kinds
        assert "data.skip=true" in said(train=name, **options)


def test_encodings() -> None:
    Path("a.tsv").write_bytes("Schöne Grüße\tb\nc\td\n".encode("latin-1"))
    splits = get(train="a.tsv", valid="a.tsv")
    assert splits.train[0].source == "Schöne Grüße"
    assert splits.notes == ["a.tsv: read as Windows-1252 (Latin-1), not UTF-8; set data.encoding= if that is wrong"]
    assert get(train="a.tsv", valid="a.tsv", encoding="cp1251").train[0].source == "Schцne GrьЯe"
    assert "byte 4 of the line is 0xf6; expected UTF-8" in said(train="a.tsv", encoding="utf-8")
    assert "data.encoding='latin-9x'" in said(train="a.tsv", encoding="latin-9x")
