"""Decisions of a run's own classifier: scikit-learn's numbers, and draws of groups by hand."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import entropy
from sklearn.metrics import accuracy_score, balanced_accuracy_score, recall_score

from medldr.evaluation.representation.frame import Options, number, where
from medldr.evaluation.representation.operators import (
    NO_CLASS,
    NOT_FINITE,
    SEVERAL,
    TWO_CLASSIFIERS,
    operators,
)
from medldr.folders.latents_record import View

FAST = Options(draws=200)


def rows_of(latents, split):
    rows = latents.split == split
    return latents.label[rows], {k: v.logits[rows].astype(float) for k, v in latents.views.items()}


def parts(frame):
    """The lines of each split, in order."""
    return {split: where(frame, split=split) for split in dict.fromkeys(x["split"] for x in frame)}


def one(frame, metric="balanced_accuracy", *, split="test", view="original", minus="", domain="",
        name=""):  # fmt: skip
    of = {"split": split, "latents": view, "minus": minus, "domain": domain, "class": name}
    return number(frame, metric=metric, **of)


def by_class(frame, metric="recall", view="original", split="test"):
    lines = where(frame, split=split, latents=view, metric=metric)
    return [line["held"] for line in lines if line["class"]]


def test_numbers_are_scikit_learns(synthetic_latents):
    latents = synthetic_latents(apart=0.6)
    found = operators(latents, FAST)
    assert list(parts(found)) == ["train", "id_val", "test"]
    for split, part in parts(found).items():
        label, logits = rows_of(latents, split)
        assert {(x["unseen"], x["images"], x["chance"]) for x in part} == {
            (split == "test", len(label), 1 / 3)
        }
        for view in latents.views:
            told = logits[view].argmax(axis=1)
            held = one(found, "accuracy", split=split, view=view)
            assert held.mean == pytest.approx(accuracy_score(label, told))
            held = one(found, split=split, view=view)
            assert held.mean == pytest.approx(balanced_accuracy_score(label, told))
            recalls = recall_score(label, told, average=None)
            held = by_class(found, split=split, view=view)
            assert [each.mean for each in held] == pytest.approx(list(recalls))


def test_entropies_are_scipys(synthetic_latents):
    latents = synthetic_latents(apart=0.6)
    found = operators(latents, FAST)
    counts = np.array(latents.spec.class_counts)
    _, logits = rows_of(latents, "test")
    for view in latents.views:
        prob = softmax(logits[view], axis=1)
        held = one(found, "entropy", view=view)
        assert held.mean == pytest.approx(entropy(prob, axis=1).mean())
        assert held.low < held.mean < held.high
        # Cross-entropy is the entropy of the mix and how far predictions are from it.
        apart = entropy((counts / counts.sum())[:, None], prob.T, axis=0).mean()
        assert one(found, "to_mix", view=view).mean == pytest.approx(entropy(counts) + apart)
        means = [each.mean for each in by_class(found, "probability", view)]
        assert means == pytest.approx(list(prob.mean(axis=0)))


def test_views_of_two_classifiers_are_not_compared(synthetic_latents):
    latents = synthetic_latents(apart=0.6)
    shared, own = operators(latents, FAST), operators(latents, FAST, own_classifier=True)
    for line, other in zip(shared, own, strict=True):
        if line["minus"] and "original" in (line["latents"], line["minus"]):
            assert (other["held"].mean, other["held"].reason) == (None, TWO_CLASSIFIERS)
        else:
            assert line == other
    assert one(own, view="restored", minus="degraded").low is not None


def test_domains_of_a_split_are_scored_apart(synthetic_latents):
    latents = synthetic_latents(apart=0.6)
    found = operators(latents, FAST)
    assert {line["domain"] for line in where(found, split="train")} == {"", "a", "b"}
    for domain in "ab":
        held = one(found, split="train", view="degraded", domain=domain)
        rows = (latents.split == "train") & (latents.domain == domain)
        told = latents.views["degraded"].logits[rows].argmax(axis=1)
        assert held.mean == pytest.approx(balanced_accuracy_score(latents.label[rows], told))
        assert held.low < held.mean < held.high


def test_differences_are_paired_over_drawn_groups(synthetic_latents):
    latents = synthetic_latents(apart=0.6)
    found = operators(latents, replace(FAST, draws=4_000))
    held = one(found, view="restored", minus="degraded")
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
    assert {line["groups"] for line in where(found, split="test")} == {len(groups)}
    assert held.mean == pytest.approx(
        one(found, view="restored").mean - one(found, view="degraded").mean
    )
    assert held.high - held.low == pytest.approx(2 * 2.0 * np.std(drawn), rel=0.15)


def test_a_run_without_d_and_r_has_no_differences(synthetic_latents):
    found = operators(synthetic_latents(views=False), FAST)
    assert {(line["latents"], line["minus"]) for line in found} == {("original", "")}


def test_a_test_of_seen_domains_is_preferred_to_their_validation(synthetic_latents):
    latents = synthetic_latents()
    split = latents.split.astype("<U8")
    split[np.flatnonzero(split == "id_val")[::2]] = "id_test"
    found = operators(replace(latents, split=split), FAST)
    assert list(parts(found)) == ["train", "id_test", "test"]


def test_a_split_that_is_not_looked_at_alone_is_nothing(synthetic_latents):
    latents = synthetic_latents()
    assert operators(latents.select(np.zeros(len(latents), bool)), FAST) == []


def test_data_without_domains_or_groups(synthetic_latents):
    found = operators(synthetic_latents(domains=(), unseen=(), per_group=0), FAST)
    facts = {(line["unseen"], line["groups"], line["domain"]) for line in found}
    assert facts == {(False, "", "")}
    assert one(found, "accuracy", split="id_val").low is not None


def test_a_class_without_images_has_a_reason(synthetic_latents):
    latents = synthetic_latents()
    kept = latents.select((latents.split != "test") | (latents.label != 1))
    found = operators(kept, FAST)
    assert (by_class(found)[1].mean, by_class(found)[1].reason) == (None, NO_CLASS)
    # A guess at random among three classes is right for one in three images of each.
    (line, *_) = where(found, split="test")
    assert (line["chance"], line["classes_without_images"]) == (pytest.approx(1 / 3), 1)
    guess = np.random.default_rng(0).integers(3, size=200_000)
    truth = np.arange(200_000) % 2 * 2
    recalls = recall_score(truth, guess, average=None, labels=[0, 2])
    assert line["chance"] == pytest.approx(recalls.mean(), abs=0.01)


def test_logits_that_are_not_finite_have_a_reason(synthetic_latents):
    latents = synthetic_latents()
    bad = latents.views["degraded"].logits.copy()
    bad[:] = np.inf
    views = {**latents.views, "degraded": View(latents.views["degraded"].z, bad)}
    found = operators(replace(latents, views=views), FAST)
    assert {line["held"].reason for line in where(found, latents="degraded")} == {NOT_FINITE}
    assert one(found, view="restored", minus="degraded").reason == NOT_FINITE
    assert one(found, view="restored", minus="original").mean is not None


def test_very_certain_predictions_have_finite_entropies(synthetic_latents):
    latents = synthetic_latents(views=False)
    sure = View(latents.z, latents.views["original"].logits * np.float32(1e30))
    found = operators(replace(latents, views={"original": sure}), FAST)
    assert one(found, "entropy").mean == pytest.approx(0, abs=1e-12)
    assert np.isfinite(one(found, "to_mix").mean)


def test_one_class_is_no_question(synthetic_latents):
    assert operators(synthetic_latents(classes=1), FAST) == []


def test_images_of_one_class_have_its_recall_alone(synthetic_latents):
    latents = synthetic_latents()
    found = operators(latents.select(latents.label == 2), FAST)
    recall, *others = by_class(found, view="degraded")[::-1]
    assert one(found, view="degraded").mean == recall.mean
    assert [each.mean for each in others] == [None, None]
    assert {line["classes_without_images"] for line in found} == {2}


def test_several_labels_have_recalls_and_no_entropy(synthetic_latents):
    latents = synthetic_latents()
    labels = np.eye(3)[latents.label]
    labels[:, 2] = np.where(np.arange(240) % 5 == 0, np.nan, labels[:, 2])
    spec = replace(latents.spec, task="multi-label")
    found = operators(replace(latents, label=labels, spec=spec), FAST)
    rows = latents.split == "test"
    told = latents.views["degraded"].logits[rows] > 0
    recalls, balanced = [], []
    for k in range(3):
        known = ~np.isnan(labels[rows, k])
        truth, said = labels[rows, k][known], told[:, k][known]
        recalls.append(recall_score(truth, said))
        balanced.append(balanced_accuracy_score(truth, said))
    assert [each.mean for each in by_class(found, view="degraded")] == pytest.approx(recalls)
    assert one(found, view="degraded").mean == pytest.approx(np.mean(balanced))
    reasons = {one(found, "entropy").reason, by_class(found, "probability")[0].reason}
    assert (reasons, {line["chance"] for line in found}) == ({SEVERAL}, {0.5})
