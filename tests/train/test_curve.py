"""The learning curve is a picture of the log's validations."""

from pathlib import Path

from matplotlib.image import imread

from regard.train.curve import draw
from regard.train.log import Log


def test_one_panel_for_the_loss_and_one_a_measure(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.jsonl")
    widths = []
    for measures in ({"a": 1.0}, {"a": 1.0, "b": 2.0, "signature": "x|y"}):
        log.add(len(widths) + 1, loss=2.0, valid=measures)
        path = draw(tmp_path)
        assert path == tmp_path / "curve.png"
        widths.append(imread(path).shape[1])
    assert widths[1] > 1.4 * widths[0]  # three panels after two: text is not drawn


def test_nothing_to_draw_yet(tmp_path: Path) -> None:
    assert draw(tmp_path) is None
    Log(tmp_path / "log.jsonl").add(1, note="no validation")
    assert draw(tmp_path) is None
    assert not (tmp_path / "curve.png").exists()


def test_odd_figures_and_names_do_not_stop_it(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.jsonl")
    log.add(1, loss=2.0, valid={"bleu": 1.0})
    log.add(2, loss=1.0, valid={"$x^$": float("inf"), "bleu": 2.0})  # a measure that came later, and a strange name
    log.add(3, loss=float("nan"), valid={"$x^$": 1.0, "bleu": 3.0})
    assert draw(tmp_path) is not None
