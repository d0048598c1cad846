"""Tables of reading, pre-training and fine-tuning: what was measured as rows, and what was not said so."""

import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))

import reading_tables as tables


def record(figures: Any, **more: Any) -> Any:
    return {"figures": figures, **more}


def test_what_is_not_measured_is_said() -> None:
    said = {make({}) for name, make in tables.tables.items() if name != "answer_babi"}
    assert said == {tables.NOTHING}


def test_models_are_rows_and_the_published_one_the_last() -> None:
    dcn = {"squad_f1": 0.761, "squad_exact_match": 0.6555, "epochs": 12.34, "seconds": 1040.4}
    lines = tables.answer_squad({"answer_squad": record({"dcn": dcn, "bilstm": {"failed": "it did"}})}).splitlines()
    assert lines[2] == "| dynamic coattention (`dcn`) | 76.1% | 65.5% | 12.3 | 1040 s |"
    assert lines[3] == "| Bi-LSTM with attention and a pointer (`bilstm`) | no result | | | |"
    assert lines[4].startswith("| published")
    assert len(lines) == 5


def test_seeds_have_a_mean_and_a_range() -> None:
    reader = {"cloze_accuracy": [0.5, 0.52, 0.6], "mrr": [0.7]}
    figures = {"attention_over_attention": reader, "attention_sum": reader}
    [_, _, row, _] = tables.answer_cloze({"answer_cloze": record(figures)}).splitlines()
    assert row == "| `attention_over_attention` | 1 | 54.0% (50.0% to 60.0%) | 70.0% |"


def test_each_device_has_its_memory() -> None:
    one = {"device": "cuda", "questions_per_second": 2345.6, "peak_mib_by_length": {"100": 512.4, "200": 1024.0}}
    own = {**one, "device": "cpu", "questions_per_second": 31.0}
    results = {
        "answer_speed": record(one, hardware={"gpu": "H200", "cores": 16}),
        "answer_speed_cpu": record(own, hardware={"gpu": None, "cores": 2}),
    }
    [_, _, gpu, cpu] = tables.answer_speed(results).splitlines()
    assert gpu == "| H200 | 2,346 | 512 MiB | 1,024 MiB |"
    assert cpu == "| 2 CPU cores | 31 | 512 MiB | 1,024 MiB |"


def test_fine_tuning_has_its_goals() -> None:
    rows = [{"score": 0.82, "exact_match": 0.73}, {"failed": "it did"}]
    squad = {"measure": "squad_f1", "goal": 0.82, "exact_match": 0.73, "exact_match_goal": 0.725, "ours": rows}
    figures = {"tasks": {"squad": {**squad, "plain": []}}, "speed": {}}
    [_, _, f1, exact] = tables.pretrained({"pretrained": record(figures)}).splitlines()
    assert f1 == "| squad | squad_f1 | 1 | 82.0% | 82.0% | – |"
    assert exact == "| squad | exact match | 1 | 73.0% | 72.5% | – |"
