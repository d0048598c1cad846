"""Files as people have them: each is read as it was meant, or refused in one line that says what to do."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from regard.data.load import load
from regard.data.problems import problems
from regard.data.splits import Splits
from regard.errors import RegardError
from regard.fields import Field
from regard.fields.label import Label
from regard.fields.number import Number
from regard.fields.record import Record
from regard.fields.tags import Tags
from regard.fields.text import Text
from regard.fields.tokens import Tokens

text = Text(end=True)
classify: tuple[Field, ...] = (text, Label())
translate: tuple[Field, ...] = (text, Tokens())
relate: tuple[Field, ...] = (text, text, Number(1, 5))
tag: tuple[Field, ...] = (text, Tags())
describe: tuple[Field, ...] = (Record(end=True), Tokens())
reviews = [(f"a film about the number {n} and more", ("good", "bad")[n % 2]) for n in range(12)]
pairs = [(f"das ist der Satz Nummer {n}", f"this is sentence number {n}") for n in range(12)]


def read(path: Path, content: str | bytes, fields: Sequence[Field], **options: object) -> Splits:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return load("builtin:none", fields, (("text", "label"),), train=str(path), **options)  # type: ignore[arg-type]


def rows(found: Splits) -> list[tuple[str, ...]]:
    examples = sorted([*found.train, *found.valid, *found.test], key=lambda e: int(e.where.rpartition(":")[2]))
    return [(*e.inputs, e.target) for e in examples]


def table(lines: Sequence[Sequence[str]], between: str = "\t") -> str:
    return "".join(between.join(line) + "\n" for line in lines)


@pytest.mark.parametrize(
    ("header", "fields", "lines"),
    [
        (("0", "1"), classify, reviews),
        (("Quelle", "Ziel"), translate, pairs),
        (("Ausgangstext", "Übersetzung"), translate, pairs),
        (("français", "anglais"), translate, pairs),
        (("русский", "английский"), translate, pairs),
        (("中文", "英文"), translate, pairs),
        (("Daten", "Beschreibung"), describe, [(f"name[The {n}]", f"The {n} is a pub.") for n in range(12)]),
    ],
)
def test_headers(
    header: tuple[str, ...], fields: Sequence[Field], lines: list[tuple[str, str]], tmp_path: Path
) -> None:
    found = read(tmp_path / "a.tsv", table([header, *lines]), fields)
    assert rows(found) == lines
    assert f"reading '{header[0]}' and '{header[1]}'" in found.notes[0]


def test_columns_that_pandas_numbered(tmp_path: Path) -> None:
    lines = [("", "0", "1"), *((str(n), *line) for n, line in enumerate(reviews))]
    assert rows(read(tmp_path / "a.csv", table(lines, ","), classify)) == reviews


def test_numbers_are_no_header(tmp_path: Path) -> None:
    lines = [(str(n), str(n + 1)) for n in range(12)]
    assert rows(read(tmp_path / "a.tsv", table(lines), translate)) == lines


def test_a_name_that_is_twice_in_the_header(tmp_path: Path) -> None:
    lines = [("text", "text", "label"), *((f"{one} more", one, label) for one, label in reviews)]
    with pytest.raises(RegardError, match="'text' is twice in the header; choose columns by number"):
        read(tmp_path / "a.tsv", table(lines), classify)
    assert rows(read(tmp_path / "a.tsv", table(lines), classify, source="2", target="3")) == reviews


def test_line_ends_of_old_macs(tmp_path: Path) -> None:
    found = read(tmp_path / "a.tsv", table(reviews).replace("\n", "\r"), classify)
    assert rows(found) == reviews
    assert "carriage return" in found.notes[0]


def test_spaces_around_labels_are_none_of_them(tmp_path: Path) -> None:
    assert rows(read(tmp_path / "a.csv", table(reviews, ", "), classify)) == reviews


def test_labels_that_differ_in_case(tmp_path: Path) -> None:
    lines = [(one, label.upper() if n < 2 else label) for n, (one, label) in enumerate(reviews)]
    found = read(tmp_path / "a.tsv", table(lines), classify)
    found.train.extend([*found.valid, *found.test])
    [problem] = [one for one in problems(found, classify) if one.kind == "labels"]
    assert "2 labels written in several ways" in str(problem)


def test_decimal_commas(tmp_path: Path) -> None:
    lines = [(f"a man {n} sleeps", f"somebody {n} sleeps", f"{1 + n / 4:.2f}") for n in range(12)]
    written = [(a, b, score.replace(".", ",")) for a, b, score in lines]
    assert rows(read(tmp_path / "a.csv", table([("s1", "s2", "score"), *written], ";"), relate)) == lines
    assert Number(0, 5000).tidied("1,250") == "1,250"  # a thousand, perhaps


def test_scores_that_are_all_the_same() -> None:
    with pytest.raises(RegardError, match="every score is 3; expected at least two different scores"):
        Number(1, 5).fit(["3", "3.0"])


@pytest.mark.parametrize("name", ["a.txt", "a.tsv"])
def test_conll_under_another_name(name: str, tmp_path: Path) -> None:
    found = read(tmp_path / name, "The\tO\nMill\tB\n\nA\tO\nfox\tO\nran\tO\n\nHe\tO\nhid\tO\n", tag)
    assert sorted(rows(found)) == [("A fox ran", "O O O"), ("He hid", "O O"), ("The Mill", "O B")]
    assert "read as CoNLL" in found.notes[0]
    assert rows(read(tmp_path / name, "The Mill\tO B\n\nA fox ran\tO O O\n", tag))[0] == ("The Mill", "O B")


def test_conll_u(tmp_path: Path) -> None:
    columns = "\t_" * 6
    sentence = f"# text = du vin\n1-2\tdu\t_\t_{columns}\n1\tde\t_\tADP{columns}\n2\tle\t_\tDET{columns}\n"
    sentence += f"3\tvin\t_\tNOUN{columns}\n\n"
    found = read(tmp_path / "a.conllu", sentence + sentence.replace("vin", "pain"), tag)
    assert sorted(rows(found)) == [("de le pain", "ADP DET NOUN"), ("de le vin", "ADP DET NOUN")]
    assert "columns 2 and 4" in found.notes[0]
    named = read(tmp_path / "a.conllu", sentence, tag, source="2", target="1")
    assert rows(named) == [("de le vin", "1 2 3")]


def test_lists_in_json(tmp_path: Path) -> None:
    lines = [{"tokens": ["The", "Mill", str(n)], "tags": ["O", "B", "O"]} for n in range(3)]
    assert rows(read(tmp_path / "a.jsonl", "\n".join(map(json.dumps, lines)), tag))[0] == ("The Mill 0", "O B O")
    with pytest.raises(RegardError, match=r"a.jsonl:1: 'tokens' has 'The Mill' in it; expected tokens without spaces"):
        read(tmp_path / "a.jsonl", '{"tokens": ["The Mill"], "tags": ["O"]}\n', tag)


def test_objects_in_json(tmp_path: Path) -> None:
    nested = [{"id": n, "translation": {"de": source, "en": target}} for n, (source, target) in enumerate(pairs)]
    found = read(tmp_path / "a.json", json.dumps(nested, indent=1), translate)
    assert sorted(rows(found)) == sorted(pairs)
    assert "'translation.de' and 'translation.en'" in found.notes[0]
    records = [{"source": {"name": f"The {n}", "open": True}, "target": f"The {n} is open."} for n in range(3)]
    found = read(tmp_path / "a.jsonl", "\n".join(map(json.dumps, records)), describe)
    assert rows(found)[0] == ('{"name": "The 0", "open": true}', "The 0 is open.")


@pytest.mark.parametrize("indent", [1, 4])
def test_one_object_for_the_whole_file(indent: int, tmp_path: Path) -> None:
    whole = json.dumps({"data": [{"text": one, "label": label} for one, label in reviews]}, indent=indent)
    for content in (whole, whole.replace("[\n", "[", 1), '{"data": [\n' + '{"text": "a", "label": "b"},\n' * 9 + "]}"):
        with pytest.raises(RegardError, match="one JSON object on several lines; expected an array of objects"):
            read(tmp_path / "a.json", content, classify)


def test_tabs_within_text(tmp_path: Path) -> None:
    lines = ["\tIt was a dark night.", "The wind blew.", "He said:\tgo\tnow", "", "The end."]
    found = read(tmp_path / "a.txt", "\n".join(lines) + "\n", (text,))
    assert [row[0] for row in rows(found)] == [line for line in lines if line]
    with pytest.raises(RegardError, match=r"a.txt:1: 2 fields; expected 1 \(text\)"):
        read(tmp_path / "a.txt", table(reviews), (text,))


def test_roles_in_messages(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match=r"1 field; expected 2 \(text, label\).*data.form=labelled"):
        read(tmp_path / "a.txt", table([(label, one) for one, label in reviews], " "), classify)
    with pytest.raises(RegardError, match=r"2 fields; expected 3 \(text, text, number\)"):
        read(tmp_path / "a.txt", table(reviews), relate)
