"""The comparison page and its terminal table say what `compare` found, no more and no less."""

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from medldr.errors import InputError
from medldr.evaluation.comparison.compare import make_comparison
from medldr.evaluation.comparison.comparison import (
    Comparison,
    Difference,
    Margin,
    Method,
    Missing,
    Score,
    Size,
)
from medldr.evaluation.intervals.estimate import Estimate
from medldr.folders.evaluation_record import EvaluationRecord, read_evaluation
from medldr.reporting import (
    DEMONSTRATION,
    compare_runs,
    write_comparison,
    write_report,
)
from medldr.reporting.pages.comparison import (
    comparison_verdict,
    difference_figure,
    leading_metric,
    overview,
)
from medldr.reporting.read.run import RunFiles, read_run
from medldr.reporting.sections.run.result import run_overview
from medldr.reporting.sections.run.verdict import leading
from medldr.reporting.writers.terminal import print_document

DOMAINS = {"domains": ("a", "b", "c"), "held_out": ("c",)}


def printed(document, width=80):
    out = Console(file=io.StringIO(), width=width, highlight=False)
    print_document(document, out)
    return out.file.getvalue()


def compared(result, metric="accuracy"):
    return printed(overview(result, metric))


@pytest.fixture
def runs(run_folder):
    """Two methods, two seeds each, and a run that failed on a patient's file."""

    def build(**texts):
        made = [
            run_folder(f"fracture_{method}-{mark * 8}-s{seed}", seed=seed + 10 * k, latent=bool(k),
                       run={"seed": seed, "precision": "bfloat16" if k else "float32"}, **texts)
            for k, (method, mark) in enumerate((("erm", "a"), ("latentdr_pool", "b")))
            for seed in (0, 1)
        ]  # fmt: skip
        bad = run_folder("fracture_sa-cccccccc-s0")
        bad.run.write_text(json.dumps({"status": "failed", "error": "OSError: DOE_JOHN.nii"}))
        return [*made, bad]

    return build


def test_a_comparison_page_is_whole_and_true_to_the_comparison(runs, read, tmp_path):
    folders = runs(**DOMAINS)
    result = make_comparison(folders)
    path = write_comparison(
        result, tmp_path / "c.html", "Two <methods>", remark=DEMONSTRATION, folders=folders[:4]
    )
    found = read(path)
    assert found.errors == []
    assert found.banners[0] == DEMONSTRATION
    assert found.sections == [
        "result", "metrics", "domains", "published", "curves", "runs", "notes",
    ]  # fmt: skip
    assert "Two <methods>" in found.text
    assert [url for url in found.urls if not url.startswith(("#", "data:"))] == []
    assert len(set(found.ids)) == len(found.ids)
    for row in (*result.scores, *(d for d in result.differences if d.family == "reference")):
        if row.metric in ("accuracy", "auc", "balanced_accuracy", "ece") and not row.domain:
            assert row.estimate.mean in found.values
    place = "test", "auc", "fracture_latentdr_pool"  # it leads, as classes are unequal
    one = result.estimate(*place)
    rows = found.table("Method", "Runs")
    cells = next(row for row in rows if row[0].startswith("LatentDR (Pool)"))
    assert cells[1] == "2"
    assert cells[2] == (f"{one.mean:.3f} {one.low:.3f} to {one.high:.3f} SD {one.sd:.3f}")
    paired = result.difference(*place).estimate
    cells = next(row for row in rows if row[0].startswith("LatentDR (Pool)"))
    numbers = f"{paired.mean:+.3f} {paired.low:+.3f} to {paired.high:+.3f} "
    assert paired.p is None  # two seeds
    assert cells[3] == numbers.replace("-", "−").strip()


def test_runs_without_a_result_are_rows_and_name_no_patient(runs, tmp_path, read):
    path = write_comparison(make_comparison(runs()), tmp_path / "c.html", "t")
    found = read(path)
    row = next(row for row in found.table("Method", "Runs") if "fracture_sa" in row[0])
    assert "no result" in row[0]
    assert row[1] == "failed"
    assert "DOE_" not in path.read_text()
    assert "MRN-" not in path.read_text()
    assert "Missing: 1 run without a result." in found.text


@pytest.mark.parametrize(
    ("shares", "stated", "margin", "leads"),
    [
        ((0.5, 0.5), None, None, "accuracy"),
        ((0.2, 0.8), None, None, "auc"),
        ((0.2, 0.8), "accuracy", None, "accuracy"),
        ((0.2, 0.8), None, Margin("accuracy", 0.02), "accuracy"),
    ],
)
def test_the_metric_that_leads_is_that_of_the_page_of_a_run(shares, stated, margin, leads):
    counts = {name: {"n": round(100 * of), "known": 100}
              for name, of in zip("ab", shares, strict=True)}  # fmt: skip
    scored = EvaluationRecord(
        task="binary", splits={"test": {"n": 100, "class_counts": counts}}, primary=stated
    )
    size = Size(100, class_shares=dict(zip("ab", shares, strict=True)))
    scores = tuple(
        Score("test", None, key, "a", Estimate(0.5)) for key in ("accuracy", "auc", "ece")
    )
    found = Comparison("binary", "a", (Method("a"),), {"test": size}, scores=scores, margin=margin)
    files = {"r": RunFiles("r", {}, evaluation=scored)}
    assert leading_metric(found, files) == leads
    assert leading(scored)[0] == (leads if margin is None else "auc")


@pytest.mark.parametrize(("seeds", "said"), [(1, "differences of these networks"), (3, "crosses")])
def test_a_figure_of_few_seeds_says_nothing_of_the_line(seeds, said):
    estimate = Estimate(0.02, low=0.01, high=0.03, p=0.001 if seeds > 2 else None)
    score = Score("test", None, "accuracy", "b", Estimate(0.5))
    minus = Difference("test", None, "accuracy", "b", "a", estimate, estimate.p, seeds)
    found = Comparison("binary", "a", tuple(map(Method, "ab")), {"test": Size(10)},
                       scores=(score,), differences=(minus,))  # fmt: skip
    caption = difference_figure(found, "accuracy").caption
    assert said in caption
    assert ("no clear difference" in caption) == (seeds == 3)


@pytest.mark.parametrize("oracle", ["a", "b"])
def test_no_word_of_direction_is_said_of_an_oracle(oracle):
    estimate = Estimate(0.02, low=0.01, high=0.03, p=0.001)
    differences = (Difference("test", None, "accuracy", "b", "a", estimate, 0.001, seeds=3),)
    methods = tuple(Method(name, oracle=name == oracle) for name in "ab")
    found = Comparison("binary", "a", methods, {"test": Size(10)}, differences=differences)
    assert comparison_verdict(found, "accuracy").word == "not compared"
    plain = replace(found, methods=tuple(map(Method, "ab")))
    assert comparison_verdict(plain, "accuracy").word == "better"


@pytest.mark.parametrize(
    ("missing", "said"), [("a-0-s1", "Every run is of the reference"), ("b-1-s0", "one: b-1-s0)")]
)
def test_why_nothing_is_compared_with_a_reference_that_is_alone(missing, said):
    alone = (Method("a", runs=("a-0-s0",)),)
    lost = (Missing(missing, "failed"),)
    found = Comparison("binary", "a", alone, {"test": Size(10)}, missing=lost)
    verdict = comparison_verdict(found, "accuracy")
    assert verdict.word == "not compared"
    assert said in verdict.text
    assert "control" not in verdict.text


def test_an_oracle_carries_that_word_into_page_and_table(run_folder, tmp_path, read):
    oracle = {"rule": "oracle_auc", "split": "test", "oracle": True}
    folders = [run_folder("x_erm-1-s0"), run_folder("x_best-2-s0", seed=3, selection=oracle)]
    result = make_comparison(folders)
    found = read(write_comparison(result, tmp_path / "c.html", "t"))
    assert any("ORACLE SELECTION in best (oracle)" in banner for banner in found.banners)
    assert "(oracle)" in compared(result)


@pytest.mark.parametrize("metric", ["accuracy", "auc", "nll"])
def test_the_terminal_comparison_fits_80_columns_and_keeps_every_number(runs, metric):
    result = make_comparison(runs(**DOMAINS))
    text = compared(result, metric)
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    factor, digits = (100, 1) if metric == "accuracy" else (1, 3)
    for score in result.scores:
        if score.metric == metric and score.domain is None and score.split == "test":
            mean = score.estimate
            assert f"{factor * mean.mean:.{digits}f} ±{factor * mean.sd:.{digits}f}" in text
            assert f"{factor * mean.low:.{digits}f}–{factor * mean.high:.{digits}f}" in text
    for difference in result.differences:
        place = difference.family, difference.metric, difference.domain, difference.split
        if place == ("reference", metric, None, "test"):
            found = difference.estimate
            ends = (f"{factor * end:+.{digits}f}" for end in (found.low, found.high))
            assert " to ".join(ends).replace("-", "−") in text
            assert f"{factor * found.mean:+.{digits}f}".replace("-", "−") in text
    assert "fracture_sa-cccccccc-s0" in text
    assert "failed" in text
    assert "precision differs" in text
    assert "Test, unseen domain (c)" in text


def test_a_run_that_never_recognises_a_class_says_so_first(run_folder, read):
    files = run_folder(skill=0.0, seed=3, n=12, names=tuple("abcdef"))
    scored = read_evaluation(files)
    recall = {n: c.metrics["recall"].value for n, c in scored.splits["test"].classes.items()}
    lost = [name for name, value in recall.items() if value == 0]
    assert lost  # or this test says nothing
    (banner,) = run_overview(read_run(files)).banners
    assert banner.text.startswith("Degenerate predictions (test): This run never recognises “")
    assert f"“{lost[0]}” (recall 0 of {scored.splits['test'].classes[lost[0]].n})" in banner.text
    assert read(write_report(files)).banners[0] == banner.text


def test_an_unknown_metric_is_an_input_error_with_the_nearest_name(runs):
    with pytest.raises(InputError, match=r"'acuracy'.*Did you mean 'accuracy'"):
        compared(make_comparison(runs()), "acuracy")


@pytest.mark.parametrize("task", ["multi-class", "binary", "ordinal", "multi-label"])
def test_the_table_of_a_run_fits_80_columns_and_keeps_every_number(run_folder, task):
    names = [f"a long class name, number {i}" for i in range(2 if task == "binary" else 3)]
    domains = {"domains": ("the university hospital", "b", "c"), "held_out": ("b", "c")}
    files = run_folder(task=task, names=names, **domains)
    scored = json.loads(files.evaluation.read_text())
    text = printed(run_overview(read_run(files)))
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    for split in scored["splits"].values():
        assert f"{100 * split['metrics']['accuracy']['value']:.1f}" in text
        assert f"{split['metrics']['auc']['value']:.3f}" in text
    assert "Test, unseen" in text
    assert len(text.splitlines()) <= 24  # and the path of the page


def test_undefined_numbers_of_a_run_are_explained_below_its_table(run_folder):
    text = printed(run_overview(read_run(run_folder(only=0))))
    assert "a only one class in the labels" in " ".join(text.split())


def test_compare_runs_prints_the_table_and_writes_the_page(runs, tmp_path, capsys, read):
    folders = [files.path for files in runs()]
    result = compare_runs(folders, tmp_path / "c.html", metric="auc")
    said = capsys.readouterr().out
    assert said.startswith("Not compared. LatentDR (Pool) and ERM cannot be compared as methods")
    assert f"page: {tmp_path / 'c.html'}\n" in said
    assert read(tmp_path / "c.html").table("Method", "Runs", "AUC")  # the metric leads there too
    assert result.reference == "fracture_erm"
    assert "curves" in read(tmp_path / "c.html").sections
