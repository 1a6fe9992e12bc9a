"""The primary metric: stated before training, leads afterwards, and a later change is said."""

import numpy as np
import pytest

from medldr.config import EvaluationConfig, load_config, run_hash
from medldr.errors import InputError
from medldr.evaluation import check, compare, evaluate, load_run, predictions_of
from medldr.evaluation.comparison.compare import make_comparison
from medldr.evaluation.primary import primary_of
from medldr.folders.evaluation_record import EvaluationRecord
from medldr.reporting.sections.comparison.tables import main_metrics
from medldr.reporting.sections.run.verdict import leading, scored_verdict
from medldr.types import DataSpec

RUN = "phantom_histology_erm"


def table(seed=0):
    prob = np.random.default_rng(seed).random(60)
    return predictions_of("binary", np.arange(60) % 2, np.stack([1 - prob, prob], 1))


def scored(primary=None):
    content = evaluate({"test": table()}, EvaluationConfig(draws=100, primary=primary))
    return content, EvaluationRecord.model_validate(content)


@pytest.mark.parametrize(
    ("task", "primary", "said"),
    [
        ("binary", "mae", "'mae' cannot lead a study of a binary task"),
        ("multi-class", "sensitivity_at_specificity", "cannot lead a study of a multi-class task"),
        ("binary", "ece", "'ece' cannot lead"),  # no interval, so no test
        ("binary", "acuracy", "Did you mean 'accuracy'"),
    ],
)
def test_a_metric_that_the_task_does_not_have_is_refused_before_training(task, primary, said):
    names = ("a", "b") if task == "binary" else ("a", "b", "c")
    spec = DataSpec(task, names, (1,) * len(names), 1, (8, 8))
    with pytest.raises(InputError, match=r"evaluation\.primary") as error:
        check(EvaluationConfig(primary=primary), spec, ["test"])
    assert said in str(error.value)


def test_it_is_no_part_of_the_identity_of_a_run():
    configs = [load_config(RUN, [f"evaluation.primary={p}"]) for p in ("auc", "nll")]
    assert run_hash(configs[0]) == run_hash(configs[1]) == run_hash(load_config(RUN))


def test_it_leads_the_verdict_and_the_table_of_a_run():
    content, found = scored("auc")
    assert content["primary"] == "auc"
    assert "primary" not in scored()[0]
    assert scored_verdict(found).text.startswith("AUC 0.")
    assert leading(found)[:2] == ("auc", "accuracy")
    assert scored_verdict(scored()[1]).text.startswith("Accuracy ")


def folders(run_folder, primaries, began):
    made = []
    for method in ("erm", "sam"):
        for seed, (now, then) in enumerate(zip(primaries, began, strict=True)):
            made.append(
                run_folder(f"{method}-{seed}", {"test": table(seed)}, label=method, identity=method,
                           seed=seed, config={"primary": now}, primary=then)
            )  # fmt: skip
    return made


def test_it_leads_a_comparison_and_is_what_a_margin_is_of(run_folder):
    made = folders(run_folder, ["auc"] * 3, ["auc"] * 3)
    found = make_comparison(made, margin=0.05)
    assert found.primary == "auc"
    assert main_metrics(found, "test")[0] == "auc"
    assert found.margin.metric == "auc"
    assert not any("primary" in note for note in found.notes)


def test_a_change_after_training_began_is_said(run_folder):
    made = folders(run_folder, ["auc", "auc"], ["auc", "accuracy"])
    (note,) = [note for note in compare(made)["notes"] if "primary" in note]
    assert note.startswith("erm-1, sam-1: ")
    assert "accuracy when training began and is auc now" in note


def test_runs_of_several_studies_have_none_in_common(run_folder):
    made = folders(run_folder, ["auc", None], ["auc", None])
    assert primary_of(load_run(folder).evaluation for folder in made) == "accuracy"
