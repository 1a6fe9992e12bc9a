"""What a run's page says first: by intervals, not by signs, and nothing that is not known."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medldr.folders.evaluation_record import EvaluationRecord
from medldr.folders.run_record import RunRecord
from medldr.reporting import print_run, write_report
from medldr.reporting.document import Bullets, Paragraph
from medldr.reporting.pages.run import run_page
from medldr.reporting.read.run import RunFiles
from medldr.reporting.sections.run.result import first_figure, results_table
from medldr.reporting.sections.run.tables import domains as domain_section
from medldr.reporting.sections.run.verdict import leading, scored_verdict

KEYS = ("accuracy", "auc", "sensitivity_at_specificity", "specificity_at_threshold", "ece")
POINT = {"specificity": 0.9, "threshold": 0.4, "split": "val"}
DIRECTIONS = re.compile(
    r"\b(better|worse|best|worst|higher|lower|highest|lowest|gain|loss|above|below)\b", re.I
)
DENIED = "not clearly better than guessing"


def number(value, low=None, high=None):
    return {"value": value, "low": low, "high": high}


def part(mix, **metrics):
    counts = dict(zip(("well", "ill"), mix, strict=True))
    return {
        "n": sum(mix),
        "class_counts": {name: {"n": n, "known": sum(mix)} for name, n in counts.items()},
        "metrics": metrics,
    }


def record(splits, **more):
    return EvaluationRecord(
        task="binary", class_names=("well", "ill"), positive_class="ill", operating_point=POINT,
        splits=splits, **more,
    )  # fmt: skip


def binary(mix=(20, 20), **metrics):
    return record({"test": part(mix, **metrics)})


@pytest.mark.parametrize(
    ("low", "high", "word", "tone"),
    [
        (0.55, 0.9, "better than guessing", "good"),
        (0.45, 0.9, "not clearly better than guessing", "open"),
        (0.1, 0.45, "worse than guessing", "bad"),
        (None, None, "not clearly better than guessing", "open"),
    ],
)
def test_a_network_is_better_than_guessing_only_where_the_whole_interval_is(low, high, word, tone):
    found = scored_verdict(binary(accuracy=number(0.7, low, high)))
    assert (found.word, found.tone) == (word, tone)
    ends = "" if low is None else f" (95% CI {100 * low:.1f} to {100 * high:.1f}%)"
    assert found.text == f"Accuracy 70.0%{ends} on 40 test images; guessing reaches 50.0%."


@pytest.mark.parametrize(
    ("mix", "more", "few"),
    [
        ((2, 2), {}, "images (4)"),
        ((20, 20), {"n_groups": 9, "unit": "group"}, "groups (9)"),
        ((20, 20), {"n_groups": 9, "unit": "item"}, ""),
    ],
)
def test_few_images_or_groups_are_never_better_than_guessing(mix, more, few):
    found = scored_verdict(record({"test": part(mix, accuracy=number(1.0, 1.0, 1.0)) | more}))
    assert (found.word, found.tone) == (
        (DENIED, "open") if few else ("better than guessing", "good")
    )
    assert found.text.endswith(f"; guessing reaches 50.0%. Too few {few} to tell.") == bool(few)


def test_small_domains_have_no_numbers_on_the_page_or_in_the_verdict():
    sizes, metrics = {"a": (20, 20), "b": (1, 2)}, {"accuracy": number(1.0, 0.9, 1.0)}
    domains = {name: part(mix, **metrics) for name, mix in sizes.items()}
    scored = record({"test": part((21, 22), **metrics) | {"domains": domains}})
    assert "better than guessing in a; too few images (3) in b." in scored_verdict(scored).more[-1]
    for table in (results_table(scored), *domain_section(scored).tables):
        cells = {row.heading.strip(): row.cells for row in table.rows}
        assert [cells[name][0].content for name in "ab"] == [40, 3]
        assert [any(cell.estimate for cell in cells[name]) for name in "ab"] == [True, False]


def test_the_area_under_the_curve_of_the_figure_is_told_where_accuracy_judges():
    scored = binary(accuracy=number(0.7, 0.6, 0.8), auc=number(0.8, 0.7, 0.9))
    assert first_figure(scored)[0] == "roc"
    assert scored_verdict(scored).more == ("AUC 0.800 (95% CI 0.700 to 0.900).",)


def test_where_classes_are_unequal_the_auc_leads_and_accuracy_stands_beside_chance():
    scored = binary(
        (90, 10), accuracy=number(0.91, 0.86, 0.95), auc=number(0.8, 0.7, 0.9),
        sensitivity_at_specificity=number(0.85), specificity_at_threshold=number(0.59),
    )  # fmt: skip
    assert leading(scored)[0] == "auc"
    found = scored_verdict(scored)
    assert found.text.startswith("AUC 0.800 (95% CI 0.700 to 0.900)")
    pair, accuracy = found.more
    assert pair == (
        "Sensitivity 85.0% at specificity 59.0% (threshold set for 90% specificity on validation)."
    )
    assert accuracy.endswith("(95% CI 86.0 to 95.0%); always “well” (most frequent): 90.0%.")


def test_classes_that_tie_have_no_most_frequent_one():
    found = scored_verdict(binary(accuracy=number(0.7, 0.6, 0.8), auc=number(0.7)))
    assert "well" not in " ".join((found.text, *found.more))


def test_the_primary_metric_leads_where_guessing_has_no_level_of_it():
    scored = binary(accuracy=number(0.7, 0.6, 0.8), macro_f1=number(0.5))
    found = scored_verdict(scored.model_copy(update={"primary": "macro_f1"}))
    assert found.text.startswith("Macro F1 0.500 on 40 test images; Accuracy 70.0%")
    assert found.word == "better than guessing"


def test_several_unseen_domains_are_told_apart_by_their_own_intervals():
    domains = {
        name: part((20, 20), accuracy=number(0.7, low, 0.9))
        for name, low in (("a", 0.6), ("b", 0.4))
    }
    whole = part((40, 40), accuracy=number(0.7, 0.6, 0.8)) | {"domains": domains}
    found = scored_verdict(scored := record({"test": whole}))
    assert "from a, b, unseen in training" in found.text
    said = "better than guessing in a; not clearly better than guessing in b."
    assert f"Accuracy by unseen domain: {said}" in found.more
    name, draw = first_figure(scored)
    assert name == "domains"
    assert draw().alt == "Accuracy (%): a 70.0 (60.0 to 90.0); b 70.0 (40.0 to 90.0)."


@pytest.mark.parametrize(
    ("status", "word"),
    [("failed", "failed"), ("interrupted", "interrupted"), ("done", "not evaluated")],
)
def test_a_run_without_results_says_so_first(status, word):
    page = run_page(RunFiles("r", {}, RunRecord(status=status)))
    assert page.verdict.word == word
    said = " ".join((page.verdict.text, *page.verdict.more))
    assert "This run has not been evaluated yet" in said


def test_without_a_test_split_no_test_result_is_claimed():
    found = scored_verdict(record({"val": part((20, 20), accuracy=number(0.9, 0.8, 1.0))}))
    assert (found.word, found.tone) == ("no test result", "open")
    assert "these are validation results" in found.text


def test_the_terminal_has_the_verdict_a_table_and_the_path(run_folder, capsys):
    files = run_folder(task="binary", names=("well", "ill"))
    write_report(files)
    print_run(files)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(("Better than guessing.", "Not clearly better"))
    assert lines[-1] == f"page: {files.report}"
    assert len(lines) <= 25


shares = st.floats(0, 1)


@st.composite
def evaluations(draw):
    """Random results of two splits, three domains, two or three subgroups, and a gap."""

    def any_number(values=shares):
        low, value, high = sorted(draw(st.tuples(values, values, values)))
        return number(value, low, high) if draw(st.integers(0, 3)) else number(value)

    def any_part(n):
        ill = draw(st.integers(0, n))
        return part((n - ill, ill), **{key: any_number() for key in KEYS})

    def subgroup(n):
        ill = draw(st.integers(0, n))
        metrics = {key: any_number() for key in ("accuracy", "auc")}
        return {"n": n, "classes": {"ill": ill, "well": n - ill}, "metrics": metrics}

    domains = {name: any_part(30) | {"seen": draw(st.booleans())} for name in "abc"}
    values = {name: subgroup(20) for name in "FMX"[: draw(st.integers(2, 3))]}
    test = any_part(90) | {"domains": domains, "subgroups": {"sex": {"values": values}}}
    gap = {key: any_number(st.floats(-1, 1)) for key in KEYS}
    return record(
        {"test": test, "id_test": any_part(40)},
        primary=draw(st.sampled_from([None, "auc", "accuracy"])),
        gap={"seen": "id_test", "metrics": gap},
    )


def beside(found, against):
    """Whether an interval lies on one side of a value."""
    return None not in (found.low, found.high) and not found.low <= against <= found.high


def clear_of_guessing(of):
    most = max(count.n / of.n for count in of.class_counts.values())
    return any(beside(of.metrics[k], level) for k, level in (("accuracy", most), ("auc", 0.5)))


@settings(max_examples=60, deadline=None)
@given(evaluations())
def test_no_direction_is_named_where_no_interval_has_one(scored):
    page = run_page(RunFiles("r", {}, RunRecord(status="done"), evaluation=scored))
    split, gap = scored.splits["test"], scored.gap.metrics
    said = [page.verdict.word, page.verdict.text, *page.verdict.more]
    for section in page.sections:
        if section.anchor in ("result", "domains", "subgroups", "classes"):
            said += [block.text for block in section.of(Paragraph)]
            said += [text for block in section.of(Bullets) for text in block.items]
            said += [note for table in section.tables for note in table.notes]
    for text in (text.partition(" The class mix differs")[0] for text in said):
        if not DIRECTIONS.search(text.lower().replace(DENIED, "")):
            continue
        if "guessing" in text:
            assert any(map(clear_of_guessing, (split, *split.domains.values()))), text
        elif "unseen domains" in text:
            assert any(beside(number, 0) for number in gap.values()), text
        else:
            ends = re.search(r" minus .*CI ([+−])[\d.]+ to ([+−])", text)
            assert ends, text
            assert ends[1] == ends[2], text
