"""The report, every number of it worked by hand."""

from pathlib import Path

import pytest

from regard.errors import RegardError
from regard.serve.judge_report import report
from regard.serve.judge_sheet import Sheet
from regard.serve.judge_store import Question, begin


@pytest.fixture
def judged(sheet: Sheet, tmp_path: Path) -> Path:
    """Line 2: both judges, ben with a gap; 1, where alpha and beta are the same, and 4, where all are: only ana."""
    alpha, beta, gamma = (sheet.names.index(name) for name in ("alpha", "beta", "gamma"))
    given: list[tuple[str, int, list[int], Question, int]] = [
        *(("ana", 2, [s], "adequacy", v) for s, v in ((alpha, 5), (beta, 3), (gamma, 1))),
        *(("ana", 2, [s], "fluency", v) for s, v in ((alpha, 4), (beta, 4), (gamma, 2))),
        *(("ana", 2, [s], "place", v) for s, v in ((alpha, 1), (beta, 1), (gamma, 3))),
        *(("ben", 2, [s], "adequacy", v) for s, v in ((alpha, 1), (alpha, 4), (beta, 3))),  # the first was changed
        *(("ben", 2, [s], "place", v) for s, v in ((alpha, 2), (beta, 1), (gamma, 3))),
        *(("ana", 1, s, "adequacy", v) for s, v in (([alpha, beta], 4), ([gamma], 2))),
        *(("ana", 1, s, "place", v) for s, v in (([alpha, beta], 1), ([gamma], 2))),
        ("ana", 4, [alpha, beta, gamma], "adequacy", 5),
    ]
    path = tmp_path / "j.sqlite"
    with begin(path, sheet) as store:
        for judge, line, systems, question, value in given:
            store.show(judge, line, sheet.groups(line)[::-1])
            store.keep(judge, line, systems, question, value)
    return path


def test_counts(judged: Path) -> None:
    found = report(judged)
    assert found["judges"] == ["ana", "ben"]
    assert found["lines"] == {"judged": 3, "of": 4}
    assert found["marks"] == 23


def test_systems(judged: Path) -> None:
    systems = {one["name"]: one for one in report(judged)["systems"]}
    assert list(systems) == ["beta", "alpha", "gamma"]  # by rank
    means = {name: (one["adequacy"]["mean"], one["adequacy"]["marks"]) for name, one in systems.items()}
    assert means == {"alpha": (4.5, 4), "beta": (3.75, 4), "gamma": (8 / 3, 3)}
    assert systems["alpha"]["fluency"] == {"mean": 4.0, "low": None, "high": None, "marks": 1}
    # Lines with 5 4, 4 and 5: from the middle line alone to the last alone.
    assert (systems["alpha"]["adequacy"]["low"], systems["alpha"]["adequacy"]["high"]) == (4.0, 5.0)
    # ana: 1½ 1½ 3 for line 2, 1½ 1½ 3 for line 1, 2 2 2 for line 4; ben: 2 1 3.
    assert {name: one["rank"] for name, one in systems.items()} == {"alpha": 1.75, "beta": 1.5, "gamma": 2.75}
    assert {one["ranked"] for one in systems.values()} == {4}


def test_pairs(judged: Path) -> None:
    pairs = {tuple(one.pop("systems")): one for one in report(judged)["pairs"]}
    assert pairs == {
        ("alpha", "beta"): {"wins": 0.0, "ties": 0.75, "losses": 0.25, "judged": 4},
        ("alpha", "gamma"): {"wins": 0.75, "ties": 0.25, "losses": 0.0, "judged": 4},
        ("beta", "gamma"): {"wins": 0.75, "ties": 0.25, "losses": 0.0, "judged": 4},
    }


def test_agreement_of_marks(judged: Path) -> None:
    """Units 5 4 and 3 3: δ² of 3 4, 3 5, 4 5 is 1.5², 2.5², 1; α = 1 − 3 · 1 / (2 · 2.25 + 2 · 6.25 + 1)."""
    found = report(judged)
    assert found["alpha"]["adequacy"] == pytest.approx(5 / 6)
    assert found["alpha"]["fluency"] is None
    [both] = found["kappa"]
    assert both["judges"] == ["ana", "ben"]
    assert both["adequacy"] == pytest.approx(1 / 3)  # p_o = 1/2, p_e = 1/4
    assert both["fluency"] is None


def test_agreement_of_ranks(judged: Path) -> None:
    """Of line 2, ana: = > >, ben: < > >, and all of it turned round.

    κ: p_o = 4/6, p_e = (2 · 3 + 2 · 3) / 36. α: n = 12, two disagreements; 2 ties, 5 each of better and worse.
    """
    found = report(judged)
    assert found["kappa"][0]["better"] == pytest.approx(0.5)
    assert found["alpha"]["better"] == pytest.approx(1 - 11 * 2 / (2 * 5 + 2 * 5 + 5 * 5))


def test_what_was_shown_once_is_one_unit(sheet: Sheet, tmp_path: Path) -> None:
    """alpha and beta wrote the same for line 1; units 4 5 and 2 2 are as far apart, in steps, as 5 4 and 3 3 above."""
    path, gamma = tmp_path / "j.sqlite", sheet.names.index("gamma")
    with begin(path, sheet) as store:
        for judge, value in (("ana", 4), ("ben", 5)):
            for group in store.show(judge, 1, sheet.groups(1)):
                store.keep(judge, 1, group, "adequacy", 2 if gamma in group else value)
                store.keep(judge, 1, group, "place", 2 if gamma in group else 1)
    found = report(path)
    assert found["alpha"]["adequacy"] == pytest.approx(5 / 6)
    assert found["kappa"][0]["adequacy"] == pytest.approx(1 / 3)
    assert found["kappa"][0]["better"] == found["alpha"]["better"] == 1.0
    assert {pair["judged"] for pair in found["pairs"]} == {2}


def test_nothing_judged_yet(sheet: Sheet, tmp_path: Path) -> None:
    path = tmp_path / "j.sqlite"
    begin(path, sheet, count=2).close()
    found = report(path)
    assert (found["judges"], found["lines"], found["marks"], found["kappa"]) == ([], {"judged": 0, "of": 2}, 0, [])
    assert [one["name"] for one in found["systems"]] == ["alpha", "beta", "gamma"]
    assert {one["rank"] for one in found["systems"]} == {None}
    assert set(found["alpha"].values()) == {None}


def test_a_report_changes_nothing(judged: Path) -> None:
    before = judged.read_bytes()
    report(judged)
    assert judged.read_bytes() == before
    assert [p.name for p in judged.parent.glob("j.sqlite*")] == ["j.sqlite"]
    with pytest.raises(RegardError, match="no such file"):
        report(judged.parent / "none.sqlite")


def test_a_report_while_it_is_judged(sheet: Sheet, judged: Path) -> None:
    with begin(judged, sheet) as store:
        store.show("cid", 3, sheet.groups(3))
        store.keep("cid", 3, [0], "fluency", 5)
        assert report(judged)["judges"] == ["ana", "ben", "cid"]
        store.keep("cid", 3, [0], "fluency", 4)
        assert store.marks("cid", 3) == {(0, "fluency"): 4}
