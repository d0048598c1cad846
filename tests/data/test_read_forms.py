"""The forms people have: SNLI's and SICK's own files, lines with the label first, CoNLL columns."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from text_columns import read_texts as read
from text_columns import text_columns

from regard.data.load import load, load_part
from regard.data.read import Reading, form_of
from regard.data.readlog import ReadLog
from regard.data.splits import Splits
from regard.errors import RegardError
from regard.find import check
from regard.types import Example

ENTAIL = (("sentence1", "sentence2", "gold_label"), ("sentence_A", "sentence_B", "entailment_judgment"))
RELATE = (("sentence_A", "sentence_B", "relatedness_score"),)

SNLI = [
    {"gold_label": "neutral", "sentence1": "A man sits.", "sentence2": "A man waits.", "pairID": "1"},
    {"gold_label": "-", "sentence1": "A dog runs.", "sentence2": "It is late.", "pairID": "2"},
    {"gold_label": "entailment", "sentence1": "A dog runs.", "sentence2": "It moves.", "pairID": "3"},
]
SICK = (
    "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
    "1\tA dog runs\tA dog moves\t4.5\tENTAILMENT\n"
    "2\tA dog runs\tNo dog runs\t3.6\tCONTRADICTION\n"
)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(name: str, text: str) -> str:
    Path(name).parent.mkdir(exist_ok=True, parents=True)
    Path(name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return name


def snli_jsonl(name: str = "snli.jsonl") -> str:
    return write(name, "\n".join(map(json.dumps, SNLI)) + "\n")


def snli_txt(name: str = "snli_1.0_dev.txt") -> str:
    """As SNLI comes: the label first, trees between, the labels of five annotators last, some of them empty."""
    header = "gold_label\tsentence1_binary_parse\tsentence1\tsentence2\tcaptionID\tpairID\tlabel1\tlabel2"
    rows = [f"{r['gold_label']}\t( x )\t{r['sentence1']}\t{r['sentence2']}\tc\t{r['pairID']}\tneutral\t" for r in SNLI]
    return write(name, "\n".join([header, *rows]) + "\n")


def get(**options: Any) -> Splits:
    fields = text_columns(options.pop("columns", 2))
    return load(**{"default": "builtin:nothing", "fields": fields, "known": (), **options})


def said(**options: Any) -> str:
    with pytest.raises(RegardError) as caught:
        get(**options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# --- SNLI and SICK -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", [snli_jsonl, snli_txt])
def test_snli_by_its_own_names(file: Any) -> None:
    path = file()
    first = 1 if file is snli_jsonl else 2
    notes: list[str] = []
    examples = read(path, columns=3, known=ENTAIL, notes=notes)
    assert examples == [
        Example(("A man sits.", "A man waits."), "neutral", f"{path}:{first}"),
        Example(("A dog runs.", "It moves."), "entailment", f"{path}:{first + 2}"),
    ]
    assert notes[-1] == f"{path}: skipped 1 of 3 examples: gold_label is '-' (no agreed label)"
    assert len(notes) == first  # a header is a note, too
    assert read(path, columns=3, fields=("sentence1", "sentence2", "gold_label")) == examples
    assert len(read(path, columns=2, fields=("sentence2", "pairID"))) == 3  # another target: nothing is left out


def test_sick_by_its_own_names_and_the_task_says_which_target() -> None:
    write("SICK_train.txt", SICK)
    assert [e.target for e in read("SICK_train.txt", 3, known=ENTAIL)] == ["ENTAILMENT", "CONTRADICTION"]
    assert read("SICK_train.txt", 3, known=RELATE)[1] == Example(
        ("A dog runs", "No dog runs"), "3.6", "SICK_train.txt:3"
    )
    write("sick.csv", SICK.replace("\t", ","))
    assert [e.target for e in read("sick.csv", 3, known=RELATE)] == ["4.5", "3.6"]


def test_names_given_come_first_and_a_plain_table_stays_plain() -> None:
    write("SICK_train.txt", SICK)
    named = read("SICK_train.txt", 3, ("sentence_B", "sentence_A", "pair_ID"), known=ENTAIL)
    assert named[0] == Example(("A dog moves", "A dog runs"), "1", "SICK_train.txt:2")
    write("plain.tsv", "A dog runs\tA dog moves\t-\nsentence1\tsentence2\tno\n")
    assert read("plain.tsv", 3, known=ENTAIL) == [
        Example(("A dog runs", "A dog moves"), "-", "plain.tsv:1"),  # nothing says that - is no label here
        Example(("sentence1", "sentence2"), "no", "plain.tsv:2"),
    ]


def test_a_set_of_another_size_is_not_taken() -> None:
    write("a.tsv", "text\tlabel\nx\ty\n")
    assert read("a.tsv", 2, known=(("text", "label"), ("text", "other", "label")))[0].where == "a.tsv:2"
    assert read("a.tsv", 2, known=(("text",), ("text", "other")))[0].where == "a.tsv:1"
    write("a.jsonl", '{"text": "x", "label": "y"}')
    assert read("a.jsonl", 2, known=(("text", "label"),)) == [Example(("x",), "y", "a.jsonl:1")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "a.jsonl:1: not JSON"),
        ("[]", "a.jsonl:1: a JSON list; expected one object per line"),
        ('{"premise": "x"}', "name the keys, for example data.source="),
        (json.dumps(SNLI[0]) + "\n{}", "a.jsonl:2: no field 'sentence1'"),
        (json.dumps(SNLI[1]), "a.jsonl: every gold_label is '-'; expected labels"),
    ],
)
def test_json_that_is_not_known(text: str, message: str) -> None:
    write("a.jsonl", text)
    assert message in said(train="a.jsonl", columns=3, known=ENTAIL)


def test_what_was_left_out_is_noted_in_the_splits() -> None:
    snli_jsonl("d/train.jsonl")
    snli_txt("d/dev.txt")
    splits = get(train="d", columns=3, known=ENTAIL)
    assert (len(splits.train), len(splits.valid), len(splits.test)) == (2, 2, 0)
    assert [note.split(":")[0] for note in splits.notes if "skipped" in note] == ["d/train.jsonl", "d/dev.txt"]
    again = get(train="d/train.jsonl", test="d/dev.txt", columns=3, known=ENTAIL)
    assert [note.split(":")[0] for note in again.notes if "skipped" in note] == ["d/train.jsonl", "d/dev.txt"]
    write("plain.tsv", "a\tb\nc\td\n")
    assert get(train="plain.tsv").notes == []
    log = ReadLog()
    load_part("d/dev.txt", text_columns(3), Reading(known=ENTAIL), log)
    assert len(log.notes()) == 2  # the header, and what was skipped


# --- lines with the label first ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["stsa.binary.train", "TREC.train.gz", "a.tsv"])
def test_labelled(name: str) -> None:
    write(name, "1 a fine , fine film\r\nDESC:manner \tHow did it come ?\n0\tb\n\n")
    assert read(name, form="labelled") == [
        Example(("a fine , fine film",), "1", f"{name}:1"),
        Example(("How did it come ?",), "DESC:manner", f"{name}:2"),
        Example(("b",), "0", f"{name}:3"),
    ]
    assert read(name, columns=1, form="labelled")[2] == Example(("b",), "", f"{name}:3")


def test_labelled_parts() -> None:
    for part in ("train", "dev", "test"):
        write(f"sst.{part}", f"1 {part} a\n0 {part} b\n")
    splits = get(train="sst.train", valid="sst.dev", test="sst.test", form="labelled")
    assert [part[1].source for part in (splits.train, splits.valid, splits.test)] == ["train b", "dev b", "test b"]
    write("d/train.txt", "1 x y\n0 z\n")
    assert get(train="d", form="labelled").train[0].target in "01"
    assert "set data.form=" in said(train="sst.train")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 a\n0", "f:2: '0'; expected a label, a space and the text"),
        ("1 a\n0  ", "f:2: '0 '; expected a label"),
        (" a b", "f:1: ' a b'; expected a label"),
    ],
)
def test_broken_labelled(text: str, message: str) -> None:
    write("f", text)
    assert message in said(train="f", form="labelled")


def test_what_does_not_go_with_a_form() -> None:
    write("f", "1 a\n")
    told = said(train="f", form="labelled", source="a", target="b")
    assert "f: read as labelled, which has no named columns; remove data.source=" in told
    assert "which has one input; expected 2 inputs" in said(train="f", form="labelled", columns=3)
    assert "which has one input; expected 2 inputs" in said(train="f", form="conll", columns=3)
    assert "remove data.form= for parallel files" in said(train="a.de,a.en", form="conll")


# --- CoNLL columns and forms by name -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.conll", "a.bio", "a.iob.gz", "A.CONLL"])
def test_conll_by_its_ending(name: str) -> None:
    write(name, "-DOCSTART- O\n\nEU B-ORG\nleft O\n\nGood O\n")
    assert read(name) == [Example(("EU left",), "B-ORG O", f"{name}:3"), Example(("Good",), "O", f"{name}:6")]


def test_conll_by_its_form_and_in_folders() -> None:
    write("d/train.txt", "EU NNP B-ORG\n\nGood JJ O\n")
    write("d/valid.txt", "a DT O\n")
    splits = get(train="d", form="conll")
    assert splits.train == [Example(("EU",), "B-ORG", "d/train.txt:1"), Example(("Good",), "O", "d/train.txt:3")]
    assert splits.valid == [Example(("a",), "O", "d/valid.txt:1")]
    assert get(train="d", form="conll", source="1", target="2").train[0].target == "NNP"
    write("e/train.conll", "EU B-ORG\n")
    write("e/dev.bio", "EU B-ORG\n")
    assert get(train="e").valid == [Example(("EU",), "B-ORG", "e/dev.bio:1")]


@pytest.mark.parametrize(
    ("form", "text"), [("tsv", "a b\tc\n"), ("csv", "a b,c\n"), ("jsonl", '{"source": "a b", "target": "c"}\n')]
)
def test_a_form_stands_above_the_ending(form: Any, text: str) -> None:
    for name in ("x", "x.data", "x.conll", "x.csv.gz"):
        assert read(write(name, text), form=form) == [Example(("a b",), "c", f"{name}:1")]


def test_a_form_stands_above_parallel_endings_in_a_folder() -> None:
    for name, text in (("train.de", "x"), ("train.en", "y"), ("train.tsv", "de\ten\nein\tone\nzwei\ttwo\n")):
        write(f"d/{name}", text)
    write("d/dev.tsv", "de\ten\nein\tone\n")
    splits = get(train="d", source="de", target="en", form="tsv")
    assert [e.source for e in (*splits.train, *splits.valid)] == ["ein", "zwei", "ein"]
    assert [e.source for e in get(train="d", source="de", target="en").train] == ["x"]


def test_form_of() -> None:
    assert [form_of(name) for name in ("a.tsv", "a.txt.gz", "a.JSON", "a.iob", "a.de", "a")] == [
        *("tsv", "tsv", "jsonl", "conll", "auto", "auto")
    ]


def test_the_signature_is_the_schema() -> None:
    check(load, {"train": "a", "form": "labelled"})
    with pytest.raises(RegardError, match="expected one of auto, labelled, conll, tsv, csv, jsonl"):
        check(load, {"form": "label"})
