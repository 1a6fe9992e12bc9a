"""What latents tell of the domain: scikit-learn's own answers, and data whose answer is known."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from medldr.evaluation.comparison.findings import direction
from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.representation.frame import Options
from medldr.evaluation.representation.leaks import (
    ALONE,
    AT_RANDOM,
    DIFFERENCE,
    NO_CLASS,
    STOPPED,
)
from medldr.evaluation.representation.leaks import leaks as measure
from medldr.folders.latents_record import View

FAST = Options(draws=200)


def leaks(latents, options):
    return measure(latents, latents.split != "train", options)


@pytest.fixture
def held(synthetic_latents):
    """Three domains, all seen, three classes; patients of two images each, of one split each."""

    def make(n=600, shift=0.25, z=None, label=None, **given):
        made = synthetic_latents(
            n, unseen=(), shift=shift, apart=0.5, per_group=2, views=False, **given
        )
        made = replace(made, split=np.where(made.units % 10 < 7, "train", "id_val"))
        if label is not None:
            made = replace(made, label=label)
        if z is not None:
            made = replace(made, views={"original": View(z.astype(np.float32), z[:, :1])})
        return made

    return make


def numbers_of(latents, domain):
    return np.unique(domain, return_inverse=True)[1], latents.split == "train"


def by_hand(x, latents, domain):
    """Balanced accuracy within class, cell by cell, and what scikit-learn names."""
    truth, train = numbers_of(latents, domain)
    label = latents.label
    cells = {(k, d): ((label == k) & (truth == d) & train).sum()
             for k in np.unique(label) for d in np.unique(truth)}  # fmt: skip
    weight = np.array([1 / cells[k, d] for k, d in zip(label[train], truth[train], strict=True)])
    mean, sd = x[train].mean(0), x[train].std(0)
    fitted = LogisticRegression(C=0.01).fit(
        (x[train] - mean) / sd, truth[train], sample_weight=weight / weight.mean()
    )
    told = fitted.predict((x[~train] - mean) / sd)
    right, label, truth = told == truth[~train], label[~train], truth[~train]
    return _within(right, label, truth), right, label, truth


def _within(right, label, truth):
    classes = []
    for k in np.unique(label):
        there = np.unique(truth[label == k])
        recalls = [right[(label == k) & (truth == d)].mean() for d in there]
        classes += [np.mean(recalls)] if len(there) > 1 else []
    return np.mean(classes)


def test_the_probe_is_scikit_learns_judged_within_class(held):
    latents = held()
    found = leaks(latents, FAST).metrics
    expected, *_ = by_hand(latents.z.astype(float), latents, latents.domain)
    assert 0.4 < expected < 0.9
    assert found["domain_probe"].value == pytest.approx(expected, abs=1e-12)
    beyond = found["domain_probe"].value - found[ALONE].value
    assert found[DIFFERENCE].value == pytest.approx(beyond, abs=1e-12)


def test_its_interval_is_of_drawn_patients(held):
    latents = held()
    found = leaks(latents, replace(FAST, draws=2_000)).metrics["domain_probe"]
    _, right, label, truth = by_hand(latents.z.astype(float), latents, latents.domain)
    units = latents.units[latents.split != "train"]
    rng, groups = np.random.default_rng(5), np.unique(units)
    members = {group: np.flatnonzero(units == group) for group in groups}
    drawn = []
    for _ in range(400):
        rows = np.concatenate([members[g] for g in rng.choice(groups, len(groups))])
        drawn.append(_within(right[rows], label[rows], truth[rows]))
    assert found.high - found.low == pytest.approx(2 * 1.96 * np.std(drawn), rel=0.15)


def test_the_counts_are_those_of_the_images(held):
    latents = held()
    found = leaks(latents, FAST)
    new = latents.split == "id_val"
    assert (found.split, found.domains, found.fitted, found.n, found.n_groups) == (
        "id_val", 3, (~new).sum(), new.sum(), len(np.unique(latents.group[new])),
    )  # fmt: skip
    alone = leaks(replace(latents, group=np.full(len(latents), -1)), FAST)
    assert alone.n_groups is None


def test_latents_that_are_the_domain_tell_it_always_and_neighbours_share_it(held):
    latents = held()
    z = np.eye(3)[numbers_of(latents, latents.domain)[0]]
    found = leaks(held(z=z), FAST).metrics
    assert found["domain_probe"].value == 1.0
    assert found[ALONE].value == pytest.approx(1 / 3)
    assert direction(Estimate.of(found[DIFFERENCE])) == "higher"
    assert found["robustness_index"].value == 0.0
    assert found[AT_RANDOM].value == pytest.approx(0.5, abs=0.03)


def test_latents_that_are_the_class_have_neighbours_of_the_class(held):
    found = leaks(held(z=np.eye(3)[held().label]), FAST).metrics
    assert found["robustness_index"].value == 1.0


def test_shuffled_domains_are_told_by_chance(held):
    latents = held(1500, shift=1.0)
    order = np.random.default_rng(1).permutation(np.unique(latents.units))
    of_unit = dict(zip(latents.units.tolist(), latents.domain.tolist(), strict=True))
    shuffled = dict(zip(np.unique(latents.units).tolist(), [of_unit[u] for u in order.tolist()],
                        strict=True))  # fmt: skip
    domain = np.array([shuffled[u] for u in latents.units.tolist()])
    found = leaks(replace(latents, domain=domain), FAST).metrics
    assert found["domain_probe"].value == pytest.approx(1 / 3, abs=0.06)
    assert direction(Estimate.of(found[DIFFERENCE])) == "unclear"


def test_a_mix_of_classes_alone_leaks_nothing(held):
    latents = held(4000)
    rng, (domain, _) = np.random.default_rng(2), numbers_of(latents, latents.domain)
    label = np.where(rng.random(len(domain)) < 0.8, domain, rng.integers(3, size=len(domain)))
    z = 4 * np.eye(3)[label] + rng.normal(size=(len(label), 3))
    found = leaks(held(4000, z=z, label=label), FAST).metrics
    # A probe that is judged over all classes at once would name most domains by their class.
    assert found["domain_probe"].value == pytest.approx(found[ALONE].value, abs=0.05)
    assert direction(Estimate.of(found[DIFFERENCE])) == "unclear"


def test_a_class_of_a_single_domain_does_not_count(held):
    latents = held()
    domain, _ = numbers_of(latents, latents.domain)
    # Class 3 is that of the first domain, which has no other; the rest has two domains.
    latents = replace(latents, label=np.where(domain == 0, 3, latents.label))
    found = leaks(latents, FAST).metrics
    _, right, label, truth = by_hand(latents.z.astype(float), latents, latents.domain)
    cells = [right[(label == k) & (truth == d)].mean() for k in range(3) for d in (1, 2)]
    assert found["domain_probe"].value == pytest.approx(np.mean(cells), abs=1e-12)
    none = leaks(held(label=domain), FAST).metrics
    assert (none["domain_probe"].value, none["domain_probe"].reason) == (None, NO_CLASS)


def test_each_label_and_none_of_them_are_classes_of_their_own(held):
    latents = held()
    rng = np.random.default_rng(3)
    labels = (rng.random((len(latents), 2)) < 0.4).astype(float)
    labels[:5, 0] = np.nan
    spec = replace(latents.spec, task="multi-label", class_names=("p", "q"))
    found = leaks(replace(latents, label=labels, spec=spec), FAST).metrics
    assert set(found) == {"domain_probe", ALONE, DIFFERENCE}
    assert found[ALONE].value == pytest.approx(1 / 3, abs=0.08)
    domain, train = numbers_of(latents, latents.domain)
    kinds = [labels[:, 0] == 1, labels[:, 1] == 1, (labels == 0).all(axis=1)]
    x, weight = latents.z.astype(float), np.zeros(train.sum())
    for kind in kinds:
        for d in range(3):
            cell = (kind & (domain == d))[train]
            weight[cell] += 1 / cell.sum()
    mean, sd = x[train].mean(0), x[train].std(0)
    fitted = LogisticRegression(C=0.01).fit(
        (x[train] - mean) / sd, domain[train], sample_weight=weight / weight.mean()
    )
    right = fitted.predict((x[~train] - mean) / sd) == domain[~train]
    recalls = [right[kind[~train] & (domain[~train] == d)].mean()
               for kind in kinds for d in range(3)]  # fmt: skip
    assert found["domain_probe"].value == pytest.approx(np.mean(recalls), abs=1e-12)


def test_neighbours_are_those_of_held_back_images_among_all(held):
    latents = held(200)
    found = leaks(latents, replace(FAST, neighbours=5)).metrics["robustness_index"].value
    unit = latents.z / np.linalg.norm(latents.z, axis=1, keepdims=True)
    same = same_domain = 0.0
    asked = np.flatnonzero(latents.split == "id_val")
    for i in asked:
        away = 1 - unit @ unit[i]
        away[latents.units == latents.units[i]] = np.inf
        near = np.argsort(away)[:5]
        cell = (latents.label[asked] == latents.label[i]) & (
            latents.domain[asked] == latents.domain[i]
        )
        alike = latents.label[near] == latents.label[i]
        here = latents.domain[near] == latents.domain[i]
        same += (alike & ~here).sum() / cell.sum()
        same_domain += (~alike & here).sum() / cell.sum()
    assert found == pytest.approx(same / (same + same_domain), abs=1e-9)


def test_nothing_is_said_of_one_domain_or_of_latents_that_are_no_numbers(held):
    latents = held()
    one = latents.select(latents.domain == "a")
    assert leaks(one, FAST) is None
    held_of_one = latents.select((latents.split == "train") | (latents.domain == "a"))
    assert leaks(held_of_one, FAST) is None
    assert leaks(held(z=np.full((len(latents), 4), np.nan)), FAST) is None
    some = latents.z.astype(float)
    some[np.arange(len(some)) % 9 == 0] = np.inf
    assert leaks(held(z=some), FAST).n < leaks(latents, FAST).n


def test_a_fit_that_was_stopped_says_so(held, monkeypatch):
    monkeypatch.setattr("medldr.evaluation.representation.leaks.STEPS", 2)
    found = leaks(held(), FAST).metrics["domain_probe"]
    assert found.value is not None
    assert found.reason == STOPPED
