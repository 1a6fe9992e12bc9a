"""Every metric of the table equals an independent reference on random predictions.

References are the functions in ``tests/reference/metrics`` that are called like a metric: whoever
adds a metric adds a file there. Each takes `Given` and returns a number, or one per class.
"""

import functools
import importlib.util
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from medldr.config import EvaluationConfig
from medldr.evaluation import domain_means, evaluate, predictions_of, score
from medldr.evaluation.metrics.items import Items, Shots
from medldr.evaluation.metrics.score import measures
from medldr.metrics import ALIASES, METRICS, TASKS, metric_facts

FOLDER = Path(__file__).parents[1] / "reference" / "metrics"
CASES = [(name, task) for name, metric in METRICS.items() for task in metric.tasks or TASKS]
IMAGES, CLASSES, BINS, SPECIFICITY, PREVALENCE = 150, 4, 12, 0.8, 0.05
TRAINED_ON, SHOTS = (300, 101, 60, 7), (100, 20)  # training images by class, limits of groups


@dataclass(frozen=True)
class Given:
    """Predictions of a test split, and what some metrics need beside them."""

    task: str
    label: np.ndarray
    prob: np.ndarray
    domain: np.ndarray
    group: np.ndarray
    val_label: np.ndarray
    val_prob: np.ndarray
    bins: int = BINS
    positive: int = 0
    specificity: float = SPECIFICITY
    prevalence: float = PREVALENCE
    trained_on: tuple = TRAINED_ON
    shots: tuple = SHOTS


def references():
    """All that the folder holds, by the name of the metric."""
    found = {}
    for path in sorted(FOLDER.glob("*.py")):
        spec = importlib.util.spec_from_file_location(f"reference_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found |= {name: value for name, value in vars(module).items() if name in METRICS}
    return found


REFERENCES = references()


def draw(task, seed):
    rng = np.random.default_rng(seed)
    if task == "multi-label":
        label = rng.integers(0, 2, (IMAGES, CLASSES)).astype(float)
        label[rng.random(label.shape) < 0.2] = np.nan
        return label, rng.random((IMAGES, CLASSES))
    classes = 2 if task == "binary" else CLASSES
    return rng.integers(0, classes, IMAGES), rng.dirichlet(np.ones(classes), IMAGES)


@functools.cache
def given_and_found(task):
    """Random predictions, and what `medldr.evaluation` says of them by metric."""
    label, prob = draw(task, 1)
    val_label, val_prob = draw(task, 2)
    domain = np.array(["north", "south", "west"])[np.arange(IMAGES) % 3]
    group = np.array([f"patient {n // 10}" for n in range(IMAGES)])
    given = Given(task, label, prob, domain, group, val_label, val_prob)
    names = [f"class {k}" for k in range(prob.shape[1])]
    table = predictions_of(task, label, prob, class_names=names, domain=domain, group=group)
    settings = EvaluationConfig(
        splits=["test"], draws=100, bins=BINS, specificity=SPECIFICITY, per_group=True,
        positive_class=names[given.positive] if task == "binary" else None,
        prevalence=PREVALENCE if task == "binary" else None,
        shots=SHOTS if task in ("multi-class", "ordinal") else None,
    )  # fmt: skip
    tables = {"val": predictions_of(task, val_label, val_prob, class_names=names), "test": table}
    split = evaluate(tables, settings, trained_on=TRAINED_ON)["splits"]["test"]
    found = {name: number["value"] for name, number in split["metrics"].items()}
    found |= {name: split[name]["accuracy"]["value"] for name in ("worst_domain", "worst_group")}
    found |= {name: number["value"] for name, number in split.get("at_prevalence", {}).items()}
    found |= {
        name: [fit[name]["value"] for fit in split["calibration_fit"].values()]
        for name in ("calibration_intercept", "calibration_slope")
    }
    found["error_at_coverage"] = [
        number["value"] for number in split.get("error_at_coverage", {}).values()
    ]
    found |= {
        name: [of_class[name]["value"] for of_class in split["classes"].values()]
        for name, metric in METRICS.items()
        if metric.levels == ("class",)
    }
    return given, score(table) | domain_means(table) | found


def test_each_has_an_independent_reference():
    for name in METRICS:
        assert name in REFERENCES, f"write {FOLDER.name}/{name}.py with a function {name}(given)"
        assert not REFERENCES[name].__globals__.get("medldr")


@pytest.mark.parametrize(("name", "task"), CASES)
def test_it_equals_its_reference(name, task):
    given, found = given_and_found(task)
    expected = np.asarray(REFERENCES[name](given), dtype=np.float64)
    assert np.isfinite(expected).all()
    assert np.asarray(found[name]) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", [n for n, metric in METRICS.items() if metric.function])
def test_the_function_that_its_row_names_computes_it(name):
    for task in METRICS[name].tasks:
        label, prob = draw(task, 3)
        threshold = 0.5 if task == "binary" else None
        made = measures(
            Items(label, prob, task, threshold=threshold, shots=Shots(TRAINED_ON, *SHOTS))
        )
        found = {key for sums in made for key in sums.value()}
        wanted = [name] if "split" in METRICS[name].levels else []
        wanted += [f"class/0/{name}"] if "class" in METRICS[name].levels else []
        assert set(wanted) <= found


def test_their_facts_are_whole():
    for name, metric in METRICS.items():
        assert metric.better in ("higher", "lower") or name.startswith("calibration_")
        assert metric.meaning.endswith("."), name
        assert set(metric.tasks) <= set(TASKS), name
        assert set(metric.cards) <= set(metric.tasks), name
        assert set(metric.levels) <= {"split", "class", "domain"}, name
        apart = not metric.levels and (metric.tasks or name.startswith("worst_"))
        assert bool(metric.definition) == bool("split" in metric.levels or apart), name
        assert all(metric_facts(alias) is metric for alias in metric.aliases), name


def test_no_two_metrics_share_a_name_or_a_title():
    titles = [metric.title for metric in METRICS.values()]
    assert len(set(titles)) == len(titles)
    assert not set(ALIASES) & set(METRICS)
