"""Non-inferiority in words, on the terminal, on the page and in its figure."""

from dataclasses import replace

import pytest

from medldr.evaluation.comparison.compare import make_comparison
from medldr.evaluation.comparison.comparison import (
    Comparison,
    Difference,
    Margin,
    Method,
    Size,
)
from medldr.evaluation.intervals.estimate import Estimate
from medldr.reporting import compare_runs
from medldr.reporting.pages import comparison as parts
from medldr.reporting.pages.comparison import judgements


def found(metric="accuracy", value=0.02, verdict="non-inferior", **changes):
    reference = Method("erm", seeds=(0, 1, 2))
    method = replace(Method("mixup", seeds=(0, 1, 2)), **changes)
    estimate, seeds = Estimate(0.01, low=-0.012, high=0.03), len(method.seeds)
    difference = Difference(
        "test", None, metric, "mixup", "erm", estimate, seeds=seeds, non_inferiority=verdict
    )
    return Comparison("binary", "erm", (reference, method), {"test": Size(90)},
                      differences=(difference,), margin=Margin(metric, value))  # fmt: skip


def test_each_verdict_is_a_sentence_with_its_interval_and_margin():
    assert judgements(found())[0] == (
        "Test, n = 90 images: mixup is non-inferior to erm in accuracy at a margin of 2 "
        "percentage points: the whole 95% CI of the difference (−1.2 to +3.0) is better than that."
    )
    assert "is inferior to erm" in judgements(found(verdict="inferior"))[0]
    undecided = judgements(found(verdict="cannot tell"))[0]
    assert "cannot be told" in undecided
    assert "includes the margin of 2 percentage points" in undecided
    assert "AUC at a margin of 0.025: " in judgements(found("auc", 0.025))[0]
    assert "before results are seen" in judgements(found())[-1]


@pytest.mark.parametrize(("seeds", "said"), [((0,), "a single seed"), ((0, 1), "two seeds")])
def test_fewer_than_three_seeds_cannot_tell(seeds, said):
    told = judgements(found(verdict="cannot tell", seeds=seeds))[0]
    assert f"cannot be told from {said}" in told
    assert "includes the margin" not in told


def test_oracles_are_passed_over_and_a_missing_interval_gives_its_reason():
    assert len(judgements(found(oracle=True))) == 1
    none = found(verdict=None)
    (difference,) = none.differences
    bare = difference._replace(estimate=Estimate(0.01, reason="no interval: few groups"))
    none = replace(none, differences=(bare,))
    assert judgements(none)[0].endswith("is not judged: no interval: few groups.")


def test_without_a_margin_there_is_no_sentence():
    assert judgements(replace(found(), margin=None)) == []


@pytest.fixture
def pair(run_folder):
    names = enumerate(("erm", "sa"))
    return [run_folder(f"m_{name}-{k}-s0", seed=k, latent=bool(k)) for k, name in names]


def test_terminal_and_page_say_it(pair, read, tmp_path, capsys):
    result = compare_runs(pair, tmp_path / "c.html", margin=5)
    printed = " ".join(capsys.readouterr().out.split())
    page = " ".join(read(tmp_path / "c.html").text.split())
    for text in judgements(result):
        text = text.replace("m_erm", "ERM").replace("m_sa", "LatentDR (Pool)")
        assert text in printed
        assert text in page
    assert "The dashed line is the margin of non-inferiority." in page


@pytest.mark.parametrize(("metric", "at"), [("accuracy", -0.05), ("nll", 0.3)])
def test_the_line_is_on_the_side_of_worse(pair, metric, at, monkeypatch):
    asked = {}

    def figure(name, metric, rows, **words):
        asked[metric] = words["margin"]

    monkeypatch.setattr(parts, "forest_figure", figure)
    margin = 5 if metric == "accuracy" else 0.3
    shown = make_comparison(pair, margin=margin, metric=metric)
    for other in ("accuracy", "nll", "auc"):
        parts.difference_figure(shown, other)
    assert asked == {"accuracy": None, "nll": None, "auc": None} | {metric: pytest.approx(at)}
