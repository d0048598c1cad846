"""`regard align`: links by attention to a given target, joined, measured, compared, drawn."""

import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from command_line import Regard

from regard.api import Model, load, merge, prepare
from regard.cli import align as verb
from regard.errors import RegardError
from regard.find import find
from regard.look.align import Join, Links, by_word, choose, from_pharaoh, join, swapped, to_pharaoh, words
from regard.text import Tokenizer
from regard.train.run import Run
from regard.types import Example, Sequences

# Words backwards. Spaces are unknown to the vocabulary, which does no harm.
texts = [("abc de f", "f ed cba"), ("fed", "def"), ("ab  cd", "dc ba "), ("a b c d e", "e d"), ("", "")]


small = {
    "source": {"tokenizer": "character", "embed": {"dim": 16}},
    "target": {"tokenizer": "character"},
    "encoder": {"hidden": 16, "layers": 1},
    "decoder": {"embed": 16, "hidden": 16, "layers": 1},
}


def made(pairs: Path, folder: Path, seed: int = 0, **options: object) -> Model:
    """An untrained model that looks here and there rather than everywhere alike."""
    ready = prepare("translate", merge(small, {"data": {"train": str(pairs)}, "train": {"seed": seed}, **options}))
    with torch.no_grad():
        for weight in ready.network.parameters():
            weight.mul_(3.0)
    return Model(Run.create(folder, ready.config, ready.task.keep(), ready.network), ready.task, ready.network.eval())


@pytest.fixture(scope="module")
def run(pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(pairs, tmp_path_factory.mktemp("runs") / "there").run.folder


@pytest.fixture(scope="module")
def back(pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(pairs, tmp_path_factory.mktemp("runs") / "back", seed=1).run.folder


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("align") / "test.tsv"
    path.write_text("".join(f"{one}\t{other}\n" for one, other in texts), encoding="utf-8")
    return path


def stepwise(model: Model, source: str, target: str) -> np.ndarray:
    """Weights between words by feeding the target token after token, one pair alone."""
    sides = {role: field.text for role, field in model.task.fields.items()}
    with torch.no_grad():
        batch = Sequences.pad([sides["source"].encode(source)]).to(next(model.network.parameters()).device)
        state = model.network.decoder.start(model.network.encode(batch))
        rows = []
        for token in [Tokenizer.start, *sides["target"].encode(target)[:-1]]:
            state, look, _ = model.network.decoder.step(state, torch.tensor([[token]], device=batch.values.device))
            rows.append(look.by_key.double().reshape(-1, batch.values.shape[1]).mean(0))
    tokens = sides["target"].tokens(target), sides["source"].tokens(source)
    return by_word(torch.stack(rows).cpu().numpy(), *tokens, words(target), words(source))


@pytest.fixture(scope="module")
def expected(run: Path) -> list[np.ndarray]:
    return [stepwise(load(run, "cpu"), *pair) for pair in texts]


def line(links: frozenset[tuple[int, int]]) -> str:
    return to_pharaoh(links) + "\n"


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"decoder": {"place": "before"}},
        {"decoder": {"place": "after", "feed": True}},
        {"attention": {"heads": 2}},
        {"attention": {"score": "feature_wise"}},
    ],
)
def test_the_given_target_is_read(pairs: Path, tmp_path: Path, options: dict[str, object]) -> None:
    """All pairs in one batch, as each alone, step by step."""
    model = made(pairs, tmp_path / "run", **options)
    found = verb.forced(model, [Example((one,), other) for one, other in texts])
    for rows, pair in zip(found, texts, strict=True):
        assert rows == pytest.approx(stepwise(model, *pair), abs=1e-5)
        assert rows.shape == (len(pair[1].split()), len(pair[0].split()))
    assert np.ptp(found[0]) > 0.01


def test_links_on_stdout(regard: Regard, run: Path, data: Path, expected: list[np.ndarray]) -> None:
    said = regard("align", run, "--data", data)
    assert (said.code, said.err) == (0, "")
    assert said.out == "".join(line(choose(rows)) for rows in expected)
    assert said.out.endswith("\n\n"), "a pair without words has a line without links"
    assert len(set(said.out.split())) > 5
    assert said.out.split("\n")[1] == "0-0"
    said = regard("align", run, "--data", data, "--how", "threshold", "--threshold", "0.25")
    assert said.out == "".join(line(choose(rows, "threshold", 0.25)) for rows in expected)
    said = regard("align", run, "--data", data, "--how", "threshold")
    assert said.out == "".join(line(choose(rows, "threshold", 0.3)) for rows in expected)


@pytest.mark.parametrize("how", ["intersection", "union", "grow", None])
def test_both_directions(
    regard: Regard, run: Path, back: Path, data: Path, expected: list[np.ndarray], how: str | None
) -> None:
    """The other run reads our targets as its sources."""
    other = load(back, "cpu")
    theirs = [stepwise(other, target, source) for source, target in texts]
    both = [(choose(one), swapped(choose(two))) for one, two in zip(expected, theirs, strict=True)]
    said = regard("align", run, "--data", data, "--other", back, *(["--join", how] if how else []))
    assert said.out == "".join(line(join(*one, how or "grow")) for one in both)  # type: ignore[arg-type]
    assert len({frozenset(one & two) for one, two in both} | {frozenset(one | two) for one, two in both}) > 4


def test_against_gold(regard: Regard, run: Path, data: Path, tmp_path: Path, expected: list[np.ndarray]) -> None:
    """Our own links as gold are all right; the figures are on stderr, or after the file that was written."""
    gold = tmp_path / "gold"
    gold.write_text(regard("align", run, "--data", data).out)
    said = regard("align", run, "--data", data, "--gold", gold)
    assert said.code == 0
    assert said.out == gold.read_text()
    told = dict(row.split() for row in said.err.splitlines()[1:])
    assert said.err.splitlines()[0] == f"compared with {gold}"
    assert (told["aer"], told["precision"], told["recall"], told["f1"]) == ("0", "1", "1", "1")
    assert (told["off_by_one"], told["attention_match"]) == ("0", "1")
    most = np.concatenate([rows.max(axis=1) for rows in expected if rows.size])
    assert float(told["attention_mass"]) == pytest.approx(most.mean(), rel=1e-3)

    written = tmp_path / "links.txt"
    said = regard("align", run, "--data", data, "--gold", gold, "-o", written)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(f"5 pairs written to {written}\ncompared with {gold}\n")
    assert written.read_text() == gold.read_text()


def test_gold_of_another_form(regard: Regard, run: Path, data: Path, tmp_path: Path) -> None:
    gold = tmp_path / "gold.key"
    links = [from_pharaoh(one) for one in regard("align", run, "--data", data).out.split("\n")]
    rows = [(n, i, j) for n, some in enumerate(links, 1) for i, j in sorted(some)]
    gold.write_text("".join(f"{n} {j + 1} {i + 1} S\n" for n, i, j in rows))
    assert "aer              0\n" in regard("align", run, "--data", data, "--gold", gold, "--gold-reversed").err
    gold.write_text("".join(f"{n} {i} {j}\n" for n, i, j in rows))
    assert "aer              0\n" in regard("align", run, "--data", data, "--gold", gold, "--gold-base", "0").err
    gold.write_text("1 4 1\n")
    assert f"{gold}:1: link 4 1 for 3 source and 3" in regard("align", run, "--data", data, "--gold", gold).line()


def test_the_picture(regard: Regard, run: Path, data: Path, tmp_path: Path, expected: list[np.ndarray]) -> None:
    gold, picture = tmp_path / "gold", tmp_path / "look.json"
    gold.write_text("\n\n\n3-0 1p1\n\n")
    said = regard("align", run, "--data", data, "--gold", gold, "--picture", picture, "--row", "4")
    assert said.code == 0
    assert said.err.endswith(f"picture written to {picture}\n")
    drawn = json.loads(picture.read_text())
    assert [token["text"] for token in drawn["rows"]] == ["e", "d"]
    assert [token["text"] for token in drawn["columns"]] == ["a", "b", "c", "d", "e"]
    assert drawn["links"] == [[0, 3], [1, 1]]
    assert np.array(drawn["weights"]) == pytest.approx(expected[3], abs=1e-5)
    regard("align", run, "--data", data, "--picture", tmp_path / "look.png")
    assert (tmp_path / "look.png").read_bytes().startswith(b"\x89PNG")


# --- eflomal ---

fake = """
class Aligner:
    def align(self, source, target, links_filename_fwd, links_filename_rev):
        pairs = list(zip(source, target))
        assert all(line == " ".join(line.split()) + "\\n" for pair in pairs for line in pair)
        for path in (links_filename_fwd, links_filename_rev):
            with open(path, "w") as file:
                for one, other in pairs:
                    print(*(f"{i}-{i}" for i in range(min(len(one.split()), len(other.split())))), file=file)
"""


def as_program(folder: Path, content: str) -> None:
    (folder / verb.program).write_text(content)
    os.chmod(folder / verb.program, 0o755)


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No eflomal, whatever is installed here; a folder for one, in the path of programs."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(verb, "find_spec", lambda _: None)
    return tmp_path / "bin"


@pytest.fixture(params=["package", "program"])
def somewhere(request: pytest.FixtureRequest, nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An eflomal that links words in order."""
    if request.param == "program":
        call = "import argparse\np = argparse.ArgumentParser()\nfor n in 'stfr': p.add_argument('-' + n)\n"
        call += "a = p.parse_args()\nAligner().align(open(a.s), open(a.t), a.f, a.r)\n"
        as_program(nowhere, f"#!{sys.executable}\n{fake}{call}")
        return
    (nowhere / "eflomal.py").write_text(fake)
    monkeypatch.syspath_prepend(nowhere)
    monkeypatch.setattr(verb, "find_spec", find_spec)
    monkeypatch.setitem(sys.modules, "eflomal", sys)  # to be taken out again afterwards, whatever is there then
    monkeypatch.delitem(sys.modules, "eflomal")


@pytest.mark.usefixtures("nowhere")
def test_no_eflomal_is_one_line(regard: Regard, run: Path, data: Path) -> None:
    said = regard("align", run, "--data", data, "--eflomal").line()
    assert said == "--eflomal: eflomal is not installed; pip install eflomal, or remove --eflomal"


@pytest.mark.usefixtures("somewhere")
def test_eflomal_beside_ours(regard: Regard, run: Path, data: Path, expected: list[np.ndarray], tmp_path: Path) -> None:
    out = tmp_path / "links.txt"
    said = regard("align", run, "--data", data, "--eflomal", "-o", out)
    assert (said.code, said.err) == (0, "")
    theirs = (tmp_path / "links.eflomal.txt").read_text()
    assert theirs == "0-0 1-1 2-2\n0-0\n0-0 1-1\n0-0 1-1\n\n"
    told = dict(row.split() for row in said.out.split("compared with eflomal\n")[1].splitlines())
    ours = [choose(rows) for rows in expected]
    shared = sum(len(one & from_pharaoh(two)) for one, two in zip(ours, theirs.split("\n"), strict=False))
    assert float(told["matched"]) == pytest.approx(shared / sum(map(len, ours)), rel=1e-3)
    assert {"off_by_one", "attention_match", "attention_mass"} < set(told)
    gold = tmp_path / "gold"
    gold.write_text(theirs)
    said = regard("align", run, "--data", data, "--eflomal", "--gold", gold)
    assert said.err.splitlines()[1].split() == ["attention", "eflomal"]
    assert said.err.splitlines()[2].split()[::2] == ["aer", "0"]


def test_eflomal_that_fails(nowhere: Path) -> None:
    as_program(nowhere, "#!/bin/sh\nexit 3\n")
    with pytest.raises(RegardError, match=r"eflomal failed \(.*exit status 3"):
        verb.statistical([Example(("a",), "b")], "grow")
    as_program(nowhere, "#!/bin/sh\n: > $6\n: > $8\n")
    with pytest.raises(RegardError, match="eflomal returned 0 lines for 1 pairs"):
        verb.statistical([Example(("a",), "b")], "grow")


@pytest.mark.usefixtures("somewhere")
def test_eflomal_counts_in_the_training_pairs_too(
    regard: Regard, pairs: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And where they are gone, in those given, and says so."""
    given, true = [], verb.statistical

    def counted(examples: list[Example], how: Join) -> list[Links]:
        given.append(len(examples))
        return true(examples, how)

    monkeypatch.setattr(verb, "statistical", counted)
    mine = tmp_path / "pairs.tsv"
    mine.write_bytes(pairs.read_bytes())
    model = made(mine, tmp_path / "run")
    assert regard("align", model.run.folder, "--data", data, "--eflomal").code == 0
    trained = len(model.data().train)
    mine.unlink()
    said = regard("align", model.run.folder, "--data", data, "--eflomal")
    assert given == [trained + len(texts), len(texts)]
    assert said.err.startswith("eflomal sees only these pairs, not the training data: ")


# --- what cannot be done ---


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--threshold", "0.2"], "--threshold without --how threshold"),
        (["--how", "threshold", "--threshold", "0"], "--threshold: got 0.0; expected a number above 0 and at most 1"),
        (["--join", "union"], "--join without --other; expected two directions"),
        (["--gold-base", "1"], "--gold-base or --gold-reversed without --gold"),
        (["--gold-reversed"], "--gold-base or --gold-reversed without --gold"),
        (["--row", "2"], "--row without --picture"),
        (["--picture", "look.doc"], "'look.doc': unknown file type; expected a name ending in .png"),
        (["--picture", "look.png", "--row", "6"], "--row 6; expected 1 to 5"),
        (["--picture", "look.png", "--row", "0"], "--row: got 0; expected a whole number from 1"),
        (["--gold", "no-such-file"], "no-such-file: no such file"),
        (["--how", "best"], "'best'"),
    ],
)
def test_what_cannot_be_asked(
    regard: Regard,
    run: Path,
    data: Path,
    options: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert said in regard("align", run, "--data", data, *options).line()
    assert not list(tmp_path.iterdir())


def test_the_other_run_is_another(regard: Regard, run: Path, data: Path) -> None:
    line = regard("align", run, "--data", data, "--other", f"{run}/../{run.name}").line()
    assert line.endswith("is the same run as RUN; expected a run for the reverse direction")


def test_data_that_cannot_be_used(regard: Regard, run: Path, tmp_path: Path) -> None:
    assert regard("align", run).line() == "missing option '--data'; see regard align --help"
    (tmp_path / "one.tsv").write_text("abc\n")
    assert "one.tsv:1: 1 field; expected 2" in regard("align", run, "--data", tmp_path / "one.tsv").line()
    (tmp_path / "long.tsv").write_text("abc\tcba\na\t" + "a" * 1500 + "\n")
    assert "long.tsv:2: 1,501 tokens" in regard("align", run, "--data", tmp_path / "long.tsv").line()


def test_a_run_of_another_task() -> None:
    model = SimpleNamespace(
        task=find("tasks", "classify")(), run=SimpleNamespace(folder="runs/x"), config={"task": "classify"}
    )
    with pytest.raises(RegardError, match="runs/x is a run of task classify; expected a task that generates text"):
        verb._writes(model)  # type: ignore[arg-type]
