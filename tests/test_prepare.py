"""Downloads as their authors lay them out become the files that the benchmarks read."""

import gzip
import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def prepare() -> ModuleType:
    path = Path(__file__).resolve().parent.parent / "benchmarks" / "prepare.py"
    spec = importlib.util.spec_from_file_location("benchmarks_prepare", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def written(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode()


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    raw = text.encode()
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)


def test_snli(prepare: ModuleType, tmp_path: Path) -> None:
    one = {"gold_label": "neutral", "sentence1": "Boys (2) run.", "sentence2": "They run."}
    one |= {"sentence1_binary_parse": "( ( Boys -LRB- ) ( run . ) )", "sentence2_binary_parse": "( They ( run . ) )"}
    for part in ("train", "dev", "test"):
        rows = [one, {**one, "gold_label": "-"}]
        write(tmp_path / f"snli_1.0_{part}.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert prepare.main(["snli", str(tmp_path), "--out", str(tmp_path / "out")]) == 0
    for part in ("train", "dev", "test"):
        assert written(tmp_path / "out" / f"{part}.tsv.gz") == "neutral\tBoys -LRB- run .\tThey run .\n"


def test_multi30k(prepare: ModuleType, tmp_path: Path) -> None:
    for part in ("train", "val", "test_2016_flickr"):
        for language in ("de", "en", "fr"):
            write(tmp_path / "raw" / f"{part}.{language}.gz", f"A {part}.\n")
            write(tmp_path / "tok" / f"{part}.lc.norm.tok.{language}", f"a {part} .\n")
    assert prepare.main(["multi30k", str(tmp_path), "--out", str(tmp_path / "out")]) == 0
    assert written(tmp_path / "out" / "val.fr.gz") == "A val.\n"
    assert written(tmp_path / "out" / "tok" / "test_2016_flickr.de.gz") == "a test_2016_flickr .\n"
    assert len(list((tmp_path / "out").rglob("*.gz"))) == 18


def test_e2e_and_ptb(prepare: ModuleType, tmp_path: Path) -> None:
    for name in ("trainset", "devset", "testset_w_refs"):
        write(tmp_path / f"{name}.csv", f'mr,ref\n"name[A], near[B]",{name}\n')
    for part in ("train", "valid", "test"):
        write(tmp_path / f"ptb.{part}.txt", f" a {part} <unk> \n")
    assert prepare.main(["e2e", str(tmp_path), "--out", str(tmp_path / "out")]) == 0
    assert prepare.main(["ptb", str(tmp_path), "--out", str(tmp_path / "out")]) == 0
    assert written(tmp_path / "out" / "test.csv.gz") == 'mr,ref\n"name[A], near[B]",testset_w_refs\n'
    assert written(tmp_path / "out" / "ptb.valid.txt.gz") == " a valid <unk> \n"


def test_aeslc(prepare: ModuleType, tmp_path: Path) -> None:
    for part in ("train", "dev", "test"):
        write(tmp_path / part / "b.subject", "Hi,\n@home I am.\nBye\n\n@subject\nWhere\n\n@ann0\nat home")
        write(tmp_path / part / "a.subject", "Text\n\n@subject\nTitle\n")
    assert prepare.main(["aeslc", str(tmp_path), "--out", str(tmp_path / "out")]) == 0
    assert [json.loads(line) for line in written(tmp_path / "out" / "dev.jsonl.gz").splitlines()] == [
        {"id": "a.subject", "body": "Text", "subject": "Title"},
        {"id": "b.subject", "body": "Hi,\n@home I am.\nBye", "subject": "Where", "ann0": "at home"},
    ]


def test_what_is_missing_is_named(
    prepare: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        prepare.main(["ptb", str(tmp_path)])
    assert end.value.code == 2
    assert "ptb.train.txt is missing; expected the unpacked download of docs/datasets.md" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
