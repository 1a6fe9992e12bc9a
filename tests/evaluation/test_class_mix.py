"""Class mix against NumPy by hand, and when a gap says that mixes differ."""

import numpy as np
import pytest

from medldr.config import EvaluationConfig
from medldr.evaluation import class_mix, compare, evaluate, load_run, predictions_of


def test_total_variation_is_the_share_of_items_that_would_need_another_class():
    rng = np.random.default_rng(0)
    one, other = rng.integers(0, 4, 200), rng.choice(4, 200, p=[0.5, 0.2, 0.2, 0.1])
    counts = [np.bincount(labels, minlength=4) for labels in (one, other)]
    moved = np.maximum(counts[0] - counts[1], 0).sum() / 200
    shares = [class_mix.shares(np.eye(4)[labels]) for labels in (one, other)]
    assert class_mix.distance(*shares, "multi-class") == pytest.approx(moved)


def test_of_several_labels_the_widest_counts_and_unknown_ones_do_not():
    one, other = np.array([0.1, 0.5, np.nan]), np.array([0.3, 0.45, 0.9])
    assert class_mix.distance(one, other, "multi-label") == pytest.approx(0.2)
    said = class_mix.note(one, other, ["a", "b", "c"], "multi-label", (400, 400))
    assert "a 10% seen, 30% unseen" in said
    assert "largest difference 20 percentage points" in said
    assert "nan" not in said


def table(split, positives, n=100, per_patient=1):
    label = np.array([1] * positives + [0] * (n - positives))
    prob = np.stack([1 - 0.2 - 0.6 * label, 0.2 + 0.6 * label], axis=1)
    names, domain = ("normal", "tumour"), [f"{split}_scanner"] * n
    ids = [f"{split}{i}" for i in range(n)]
    group = [f"{split}_{i // per_patient}" for i in range(n)] if per_patient > 1 else None
    return predictions_of("binary", label, prob, split=split, ids=ids, domain=domain, group=group,
                          class_names=names)  # fmt: skip


@pytest.mark.parametrize(("unseen", "told"), [(45, True), (25, False)])
def test_a_gap_says_that_mixes_differ_beyond_five_points(unseen, told, run_folder):
    tables = {"id_test": table("id_test", 20), "test": table("test", unseen)}
    config = EvaluationConfig(draws=100)
    gap = evaluate(tables, config, seen=["id_test_scanner"])["gap"]
    run = load_run(run_folder("a", tables))
    notes = {gap["note"], *(entry["note"] for entry in compare([run])["gaps"])}
    (note,) = notes
    assert (note is not None) is told
    if told:
        assert note == (
            "The class mix differs: normal 80% seen, 55% unseen; tumour 20% seen, 45% unseen "
            "(total variation distance 25 percentage points, reported above 5). Part of the gap "
            "may come from it."
        )


def test_the_mix_of_few_patients_with_many_images_is_told_too(run_folder):
    tables = {"id_test": table("id_test", 20, per_patient=10), "test": table("test", 45)}
    gap = evaluate(tables, EvaluationConfig(draws=100), seen=["id_test_scanner"])["gap"]
    run = load_run(run_folder("a", tables))
    for note in (gap["note"], *(entry["note"] for entry in compare([run])["gaps"])):
        assert "The class mix differs: normal 80% seen, 55% unseen" in note
