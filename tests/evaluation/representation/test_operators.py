"""Decisions of a run's own classifier: scikit-learn's numbers, and draws of groups by hand."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import entropy
from sklearn.metrics import accuracy_score, balanced_accuracy_score, recall_score

from medldr.evaluation.representation.operators import (
    NO_CLASS,
    NOT_FINITE,
    SEVERAL,
    TWO_CLASSIFIERS,
    operators,
)
from medldr.evaluation.representation.options import Options
from medldr.folders.latents_record import View

FAST = Options(draws=200)


def rows_of(latents, split):
    rows = latents.split == split
    return latents.label[rows], {k: v.logits[rows].astype(float) for k, v in latents.views.items()}


def test_numbers_are_scikit_learns(synthetic_latents):
    latents = synthetic_latents(apart=0.6)
    found = operators(latents, FAST)
    assert [part.split for part in found.parts] == ["train", "id_val", "test"]
    assert [part.unseen for part in found.parts] == [False, False, True]
    for part in found.parts:
        label, logits = rows_of(latents, part.split)
        assert (part.images, part.chance) == (len(label), pytest.approx(1 / 3))
        for view, held in part.views.items():
            told = logits[view].argmax(axis=1)
            assert held.accuracy.mean == pytest.approx(accuracy_score(label, told))
            assert held.balanced.mean == pytest.approx(balanced_accuracy_score(label, told))
            recalls = recall_score(label, told, average=None)
            assert [each.mean for each in held.by_class] == pytest.approx(list(recalls))


def test_entropies_are_scipys(synthetic_latents):
    latents = synthetic_latents(apart=0.6)
    found = operators(latents, FAST)
    counts = np.array(latents.spec.class_counts)
    assert found.mix == pytest.approx(tuple(counts / counts.sum()))
    assert found.floor == pytest.approx(entropy(counts))
    _, logits = rows_of(latents, "test")
    for view, held in found.last.views.items():
        prob = softmax(logits[view], axis=1)
        assert held.entropy.mean == pytest.approx(entropy(prob, axis=1).mean())
        # Cross-entropy is the entropy of the mix and how far predictions are from it.
        apart = entropy(np.array(found.mix)[:, None], prob.T, axis=0).mean()
        assert held.to_mix.mean == pytest.approx(found.floor + apart)
        assert [each.mean for each in held.mean] == pytest.approx(list(prob.mean(axis=0)))
        assert held.entropy.low < held.entropy.mean < held.entropy.high


def test_views_of_two_classifiers_are_not_compared(synthetic_latents):
    latents = synthetic_latents(apart=0.6)
    for one, two in zip(
        operators(latents, FAST).parts,
        operators(latents, FAST, own_classifier=True).parts,
        strict=True,
    ):
        assert two.views == one.views
        for pair, difference in two.differences.items():
            if "original" in pair:
                assert (difference.mean, difference.reason) == (None, TWO_CLASSIFIERS)
            else:
                assert difference == one.differences[pair]
                assert difference.low is not None


def test_domains_of_a_split_are_scored_apart(synthetic_latents):
    latents = synthetic_latents(apart=0.6)
    part = operators(latents, FAST).parts[0]
    assert list(part.views["original"].by_domain) == ["a", "b"]
    for domain, held in part.views["degraded"].by_domain.items():
        rows = (latents.split == "train") & (latents.domain == domain)
        told = latents.views["degraded"].logits[rows].argmax(axis=1)
        assert held.mean == pytest.approx(balanced_accuracy_score(latents.label[rows], told))
        assert held.low < held.mean < held.high


def test_differences_are_paired_over_drawn_groups(synthetic_latents):
    latents = synthetic_latents(apart=0.6)
    part = operators(latents, replace(FAST, draws=4_000)).last
    held = part.differences["restored", "degraded"]
    rows = np.flatnonzero(latents.split == "test")
    groups = np.unique(latents.group[rows])
    members = [rows[latents.group[rows] == group] for group in groups]
    rng = np.random.default_rng(7)
    drawn = []
    for _ in range(500):
        here = np.concatenate([members[i] for i in rng.integers(len(groups), size=len(groups))])
        label, scores = latents.label[here], []
        for view in ("restored", "degraded"):
            right = latents.views[view].logits[here].argmax(axis=1) == label
            scores.append(np.mean([right[label == k].mean() for k in np.unique(label)]))
        drawn.append(scores[0] - scores[1])
    assert part.groups == len(groups)
    assert held.mean == pytest.approx(
        part.views["restored"].balanced.mean - part.views["degraded"].balanced.mean
    )
    assert held.high - held.low == pytest.approx(2 * 2.0 * np.std(drawn), rel=0.15)


def test_a_run_without_d_and_r_has_no_differences(synthetic_latents):
    found = operators(synthetic_latents(views=False), FAST)
    assert list(found.last.views) == ["original"]
    assert found.last.differences == {}


def test_a_test_of_seen_domains_is_preferred_to_their_validation(synthetic_latents):
    latents = synthetic_latents()
    split = latents.split.astype("<U8")
    split[np.flatnonzero(split == "id_val")[::2]] = "id_test"
    found = operators(replace(latents, split=split), FAST)
    assert [part.split for part in found.parts] == ["train", "id_test", "test"]


def test_a_split_that_is_not_looked_at_alone_is_nothing(synthetic_latents):
    latents = synthetic_latents()
    assert operators(latents.select(np.zeros(len(latents), bool)), FAST) is None


def test_data_without_domains_or_groups(synthetic_latents):
    found = operators(synthetic_latents(domains=(), unseen=(), per_group=0), FAST)
    assert not found.last.unseen
    assert found.last.groups is None
    assert found.last.views["original"].by_domain == {}
    assert found.last.views["original"].accuracy.low is not None


def test_a_class_without_images_has_a_reason(synthetic_latents):
    latents = synthetic_latents()
    kept = latents.select((latents.split != "test") | (latents.label != 1))
    held = operators(kept, FAST).last
    assert held.views["original"].by_class[1].mean is None
    assert held.views["original"].by_class[1].reason == NO_CLASS
    # A guess at random among three classes is right for one in three images of each.
    assert (held.chance, held.lacking) == (pytest.approx(1 / 3), 1)
    guess = np.random.default_rng(0).integers(3, size=200_000)
    truth = np.arange(200_000) % 2 * 2
    recalls = recall_score(truth, guess, average=None, labels=[0, 2])
    assert held.chance == pytest.approx(recalls.mean(), abs=0.01)


def test_logits_that_are_not_finite_have_a_reason(synthetic_latents):
    latents = synthetic_latents()
    bad = latents.views["degraded"].logits.copy()
    bad[:] = np.inf
    views = {**latents.views, "degraded": View(latents.views["degraded"].z, bad)}
    found = operators(replace(latents, views=views), FAST).last
    degraded = found.views["degraded"]
    assert {degraded.accuracy.reason, degraded.entropy.reason, degraded.by_class[0].reason} == {
        NOT_FINITE
    }
    assert found.differences["restored", "degraded"].reason == NOT_FINITE
    assert found.differences["restored", "original"].mean is not None


def test_very_certain_predictions_have_finite_entropies(synthetic_latents):
    latents = synthetic_latents(views=False)
    sure = View(latents.z, latents.views["original"].logits * np.float32(1e30))
    held = operators(replace(latents, views={"original": sure}), FAST).last.views["original"]
    assert held.entropy.mean == pytest.approx(0, abs=1e-12)
    assert np.isfinite(held.to_mix.mean)


def test_one_class_is_no_question(synthetic_latents):
    assert operators(synthetic_latents(classes=1), FAST) is None


def test_images_of_one_class_have_its_recall_alone(synthetic_latents):
    latents = synthetic_latents()
    found = operators(latents.select(latents.label == 2), FAST).last
    recall, *others = found.views["degraded"].by_class[::-1]
    assert found.views["degraded"].balanced.mean == recall.mean
    assert [each.mean for each in others] == [None, None]
    assert (found.chance, found.lacking) == (pytest.approx(1 / 3), 2)


def test_several_labels_have_recalls_and_no_entropy(synthetic_latents):
    latents = synthetic_latents()
    labels = np.eye(3)[latents.label]
    labels[:, 2] = np.where(np.arange(240) % 5 == 0, np.nan, labels[:, 2])
    spec = replace(latents.spec, task="multi-label")
    found = operators(replace(latents, label=labels, spec=spec), FAST)
    rows = latents.split == "test"
    told = latents.views["degraded"].logits[rows] > 0
    held = found.last.views["degraded"]
    recalls, balanced = [], []
    for k in range(3):
        known = ~np.isnan(labels[rows, k])
        truth, said = labels[rows, k][known], told[:, k][known]
        recalls.append(recall_score(truth, said))
        balanced.append(balanced_accuracy_score(truth, said))
    assert [each.mean for each in held.by_class] == pytest.approx(recalls)
    assert held.balanced.mean == pytest.approx(np.mean(balanced))
    assert held.entropy.reason == held.mean[0].reason == SEVERAL
    assert (found.several, found.floor, found.last.chance) == (True, None, 0.5)
