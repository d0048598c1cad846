"""Measures of a task: all figures together, the one to keep weights by, and which way is better."""

import pytest

from regard.errors import RegardError
from regard.measure import Results
from regard.train.metrics import MetricSet
from regard.types import Example, Prediction


def test_all_figures_together() -> None:
    results = Results([Example(("a",), "b")], [Prediction("b", 0.0)], nats=0.0, tokens=1, right=1)
    found = MetricSet(("exact_match", {"name": "perplexity"}), "perplexity").measure(results)
    assert found == {"exact_match": 1.0, "perplexity": 1.0}


def test_which_way_is_better() -> None:
    low, high = MetricSet(("perplexity",), "perplexity"), MetricSet(("bleu", "chrf"), "chrf")
    assert low.better(1.0, 2.0)
    assert not low.better(2.0, 2.0)
    assert high.better(2.0, 1.0)
    assert not high.better(1.0, 2.0)


def test_the_best_is_one_of_them() -> None:
    with pytest.raises(RegardError, match="best_metric='perplexty' is not one of metrics; did you mean 'perplexity'"):
        MetricSet(("perplexity", "bleu"), "perplexty")
    with pytest.raises(RegardError, match=r"best_metric='x+… is not one of metrics") as caught:
        MetricSet(("bleu",), "x" * 10_000)
    assert len(str(caught.value)) < 200
