"""What a model costs: counted by hand, timed over all phases."""

from pathlib import Path
from random import Random

import pytest

from regard import api, cost
from regard.encode.resan import Resan

OPTIONS = {"embed": {"width": 4}, "drop": 0.0, "train": {"steps": 2, "every": 2, "rows": 8, "device": "cpu"}}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    random, path = Random(1), tmp_path_factory.mktemp("data") / "lines.tsv"
    lines = {" ".join(random.choices(["red", "blue", "old", "dog"], k=random.randint(2, 6))) for _ in range(80)}
    path.write_text("".join(f"{line}\t{line[0]}\n" for line in sorted(lines)))
    return path


def trained(data: Path, out: Path, encoder: str) -> Path:
    given = {"data": {"train": str(data)}, "encoder": {"name": encoder, "hidden": 4}}
    api.train("classify", out=out, quiet=True, **api.merge(OPTIONS, given))
    return out


def test_parameters_are_those_without_words(data: Path, tmp_path: Path) -> None:
    """Of a bigru of 4 → 4 each way: 2 · 3 · (4·4 + 4·4 + 2·4), its source2token 2 · (8·8 + 8), the head 8 → 300 → 4."""
    found = cost.cost(str(trained(data, tmp_path / "run", "bigru")))
    labels = len({line.split("\t")[1] for line in data.read_text().splitlines()})
    assert found["parameters"] == 6 * 40 + 2 * 72 + 8 * 300 + 300 + 301 * labels
    assert found["epoch_seconds"] > 0 < found["test_seconds"]
    assert found["memory_mib"] > 50


def test_an_epoch_is_of_all_examples_though_fewer_are_timed(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that ticks once a look: 40 steps take 1 s; an epoch is as many times that as it has examples."""
    run = trained(data, tmp_path / "run", "bigru")
    ticks = iter(range(10**6))
    monkeypatch.setattr(cost.time, "perf_counter", lambda: float(next(ticks)))
    whole = cost.cost(str(run))["epoch_seconds"]
    monkeypatch.setattr(cost, "ENOUGH", 20)
    part = cost.cost(str(run))["epoch_seconds"]
    examples = len(api.load(run, trust=True).data().train)
    assert whole == pytest.approx(examples / (cost.TIMED * 8), rel=0.15)  # batches of 8, some not full
    assert part == pytest.approx(whole, rel=0.15)


def test_time_is_that_of_all_phases(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = trained(data, tmp_path / "run", "resan")
    phases: list[str] = []
    plain = Resan.advance

    def advance(part: Resan, progress: float) -> None:
        plain(part, progress)
        phases.append(part.phase)

    monkeypatch.setattr(Resan, "advance", advance)
    cost.cost(str(run))
    warm, timed = phases[: cost.WARM], phases[-cost.TIMED :]
    assert set(warm) == {"supervised", "policy", "both"}
    assert [timed.count(phase) for phase in ("supervised", "policy", "both")] == [20, 4, 16]  # 0.5, 0.1, 0.4 of 40
