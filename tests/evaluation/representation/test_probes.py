"""Linear probes: scikit-learn's own predictions, intervals by hand, and data that allow none."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from medldr.evaluation.representation import probes as module
from medldr.evaluation.representation.frame import Options, number, where
from medldr.evaluation.representation.probes import (
    LABELS,
    from_labels,
    in_order,
    not_trained_on,
    probes,
    sampled,
)
from medldr.folders.latents_record import View

FAST = Options(draws=200)


def accuracy(found, target="class", view="original", minus=""):
    return number(found.frame, target=target, latents=view, minus=minus)


def fact(found, column, target="class"):
    (value,) = {line[column] for line in where(found.frame, target=target)}
    return value


def by_hand(latents, truth, view, seed=0):
    """Balanced accuracy and predictions as scikit-learn makes them in one call."""
    order = list(dict.fromkeys(latents.units.tolist()))  # groups as they appear
    units = np.array([order.index(unit) for unit in latents.units.tolist()])
    regression = LogisticRegression(C=0.01, class_weight="balanced", max_iter=1_000)
    told = cross_val_predict(
        make_pipeline(StandardScaler(), regression), latents.views[view].z.astype(float), truth,
        groups=units, cv=StratifiedGroupKFold(5, shuffle=True, random_state=seed),
    )  # fmt: skip
    return balanced_accuracy_score(truth, told), told


def domain_numbers(latents):
    return np.array([latents.spec.domains.index(name) for name in latents.domain.tolist()])


def test_probes_are_scikit_learns_with_groups_apart(synthetic_latents):
    latents = synthetic_latents(apart=0.4)
    found = probes(latents, FAST)
    for view in ("original", "degraded", "restored"):
        class_score, _ = by_hand(latents, latents.label, view)
        domain_score, _ = by_hand(latents, domain_numbers(latents), view)
        assert accuracy(found, "class", view).mean == pytest.approx(class_score, abs=1e-12)
        assert accuracy(found, "domain", view).mean == pytest.approx(domain_score, abs=1e-12)
    for target in ("class", "domain"):
        assert fact(found, "folds", target) == 5
        assert fact(found, "chance", target) == pytest.approx(1 / 3)
    sizes = (fact(found, "images"), fact(found, "groups"), fact(found, "training_images"))
    assert sizes == (240, len(np.unique(latents.group)), (latents.split == "train").sum())


def test_the_seed_deals_groups_into_folds(synthetic_latents):
    latents = synthetic_latents(apart=0.3, n=120)
    found = probes(latents, replace(FAST, seed=3))
    score, _ = by_hand(latents, latents.label, "original", seed=3)
    assert accuracy(found).mean == pytest.approx(score, abs=1e-12)


def test_intervals_are_of_drawn_groups(synthetic_latents):
    latents = synthetic_latents(apart=0.4)
    found = probes(latents, replace(FAST, draws=2_000))
    told = {view: by_hand(latents, latents.label, view)[1] for view in latents.views}
    rng, groups = np.random.default_rng(5), np.unique(latents.group)
    members = {group: np.flatnonzero(latents.group == group) for group in groups}
    drawn = {view: [] for view in told}
    for _ in range(400):
        rows = np.concatenate([members[g] for g in rng.choice(groups, len(groups))])
        for view, predicted in told.items():
            label = latents.label[rows]
            right = predicted[rows] == label
            drawn[view].append(np.mean([right[label == k].mean() for k in range(3)]))

    def spread(values):
        return 2 * 1.96 * np.std(values)

    for view, values in drawn.items():
        width = accuracy(found, view=view).high - accuracy(found, view=view).low
        assert width == pytest.approx(spread(values), rel=0.15)
    held = accuracy(found, view="restored", minus="degraded")
    paired = np.array(drawn["restored"]) - np.array(drawn["degraded"])
    assert held.high - held.low == pytest.approx(spread(paired), rel=0.15)
    restored, degraded = (accuracy(found, view=view).mean for view in ("restored", "degraded"))
    assert held.mean == restored - degraded
    assert held.low < held.mean < held.high


def test_labels_alone_are_the_best_rule_of_counts(synthetic_latents):
    latents = synthetic_latents(views=False)
    # Domain a has most of class 0, so that the class tells of the domain.
    label = np.where((latents.domain == "a") & (np.arange(240) % 3 > 0), 0, latents.label)
    found = probes(replace(latents, label=label), FAST)
    domain = domain_numbers(latents)
    best = max(
        balanced_accuracy_score(domain, np.array(rule)[label]) for rule in np.ndindex(3, 3, 3)
    )
    alone = accuracy(found, "domain", LABELS).mean
    assert alone == pytest.approx(best, abs=1e-12)
    assert alone > fact(found, "chance", "domain") + 0.1
    beyond = accuracy(found, "domain", "original", LABELS)
    assert beyond.mean == accuracy(found, "domain").mean - alone


def test_equal_class_mixes_leave_labels_at_chance():
    label, domain = np.tile([0, 1], 6), np.repeat([0, 1, 2], 4)
    assert balanced_accuracy_score(domain, from_labels(label, domain)) == pytest.approx(1 / 3)


def test_runs_are_compared_on_the_same_images_alone(synthetic_latents):
    latents = synthetic_latents(n=150, apart=0.4, shift=1.0, views=False)
    other = synthetic_latents(n=150, apart=0.4, shift=0.0, views=False)
    one, two = probes(latents, FAST), probes(other, FAST)
    found = two.minus(one, "domain")
    assert found.mean == accuracy(two, "domain").mean - accuracy(one, "domain").mean
    assert found.high < 0
    fewer = probes(latents.select(np.arange(120)), FAST)
    assert fewer.minus(one, "domain").reason == "the runs were not probed on the same images"
    assert one.minus(one, "domain").mean == 0
    assert one.minus(one, "domain").low is None


def test_at_most_so_many_images_with_the_same_shares(synthetic_latents):
    latents = synthetic_latents(n=600, per_group=4, views=False)
    found = probes(latents, replace(FAST, items=200))
    assert fact(found, "images") == 200
    kept = sampled(latents, replace(FAST, items=200))
    whole, part = ([np.mean((x.domain == d) & (x.label == k)) for d in "abc" for k in range(3)]
                   for x in (latents, kept))  # fmt: skip
    assert np.abs(np.array(whole) - part).max() < 1 / 200 + 1e-9
    assert (np.diff(kept.row) > 0).all()


def test_domains_of_images_without_one_are_not_told(synthetic_latents):
    latents = synthetic_latents(views=False)
    domain = np.where(np.arange(240) % 4 == 0, "", latents.domain)
    found = probes(replace(latents, domain=domain), FAST)
    assert [fact(found, "images", target) for target in ("class", "domain")] == [240, 180]


@pytest.mark.parametrize(
    ("change", "target", "reason"),
    [
        ({"domains": (), "unseen": ()}, "domain", "the data have no domains"),
        ({"domains": ("a",), "unseen": ()}, "domain", "there are no two domains with two"),
        ({"classes": 1}, "class", "there are no two classes with two"),
        ({"n": 1}, "class", "there are no two classes with two"),
        ({"n": 3}, "class", "there are no two classes with two"),
    ],
)
def test_what_cannot_be_told_says_why(synthetic_latents, change, target, reason):
    found = probes(synthetic_latents(**change), FAST)
    (line,) = where(found.frame, target=target)
    assert line["held"].reason.startswith(reason)
    assert (line["held"].mean, line["chance"]) == (None, "")
    assert found.minus(found, target).reason == line["held"].reason


def test_twelve_images_are_told_in_fewer_folds(synthetic_latents):
    found = probes(synthetic_latents(n=12, classes=2, per_group=0, domains=("a", "b")), FAST)
    assert 2 <= fact(found, "folds") <= 5
    assert accuracy(found).mean is not None
    assert fact(found, "groups") == ""


def test_a_class_of_one_group_is_left_out(synthetic_latents):
    latents = synthetic_latents(classes=3, views=False)
    label = np.where(latents.label == 2, 0, latents.label)
    label[latents.group == latents.group[0]] = 2
    found = probes(replace(latents, label=label), FAST)
    assert found.notes == ("left out, with images of a single group: class 2",)
    assert fact(found, "images") == (label != 2).sum()
    assert fact(found, "chance") == 0.5


def test_a_view_that_is_not_finite_has_a_reason(synthetic_latents):
    latents = synthetic_latents(n=80)
    z = latents.views["degraded"].z.copy()
    z[3, 2] = np.nan
    views = {**latents.views, "degraded": View(z, latents.views["degraded"].logits)}
    found = probes(replace(latents, views=views), FAST)
    assert accuracy(found, view="degraded").mean is None
    assert accuracy(found, view="degraded").reason == module.NOT_FINITE
    assert accuracy(found, view="restored", minus="degraded").reason == module.NOT_FINITE
    assert accuracy(found, view="restored", minus="original").mean is not None
    assert found.minus(found, "class", "degraded").reason == module.NOT_FINITE


def test_several_labels_have_no_class_but_a_domain(synthetic_latents):
    latents = synthetic_latents(n=80)
    labels = np.eye(3)[latents.label]
    labels[0, 0] = np.nan
    spec = replace(latents.spec, task="multi-label")
    found = probes(replace(latents, label=labels, spec=spec), FAST)
    assert number(found.frame, target="class").reason == "images have several labels, not one class"
    told = where(found.frame, target="domain", minus="")
    assert [line["latents"] for line in told] == list(latents.views)
    assert fact(found, "images", "domain") == 80


def test_fits_that_do_not_converge_are_counted(synthetic_latents, monkeypatch):
    monkeypatch.setattr("medldr.evaluation.representation.probes.MOST_STEPS", 1)
    found = probes(synthetic_latents(n=120, views=False), FAST)
    assert found.notes[0].startswith("5 fits for the class did not converge")


def test_images_of_training_take_part_only_where_others_lack_a_class_or_domain(synthetic_latents):
    latents = synthetic_latents()
    held = not_trained_on(latents)
    np.testing.assert_array_equal(held.row, latents.row[latents.split != "train"])
    for lacking in ((latents.label == 1), (latents.domain == "a")):
        # One group of other images is not enough to be both fitted and tested.
        new = np.flatnonzero(lacking & (latents.split != "train"))
        kept = latents.units == latents.units[new[0]]
        latents.split[:] = np.where(lacking & ~kept, "train", latents.split)
        assert not_trained_on(latents) is latents
        latents = synthetic_latents()


def in_another_order(latents, seed=1):
    """The same images as a run with other splits keeps them: other order, other group numbers."""
    order = np.random.default_rng(seed).permutation(len(latents))
    mixed = latents.select(order)
    group = np.unique(mixed.group, return_index=True)
    numbers = dict(zip(group[0].tolist(), np.argsort(np.argsort(group[1])).tolist(), strict=True))
    return replace(mixed, group=np.array([numbers[name] for name in mixed.group.tolist()]))


@pytest.mark.parametrize("items", [2_000, 70])
def test_runs_are_paired_whatever_the_order_of_their_images(synthetic_latents, items):
    options = replace(FAST, items=items, draws=50)
    latents = synthetic_latents(n=150, apart=0.4, views=False)
    one, other = (probes(held, options) for held in (latents, in_another_order(latents)))
    assert [one.minus(other, target).mean for target in ("class", "domain")] == [0, 0]
    assert one.frame == other.frame


def test_other_data_with_rows_of_the_same_numbers_are_not_paired(synthetic_latents):
    latents = synthetic_latents(n=80, views=False)
    one = probes(latents, FAST)
    for change in ({"class_names": ("x", "y", "z")}, {"domains": ("a", "b", "c", "d")}):
        other = replace(latents, spec=replace(latents.spec, **change))
        reason = probes(other, FAST).minus(one, "class").reason
        assert reason == "the runs were not probed on the same images"


def test_images_are_put_in_the_order_of_the_table(synthetic_latents):
    latents = synthetic_latents(n=30)
    latents.group[4] = -1
    held = in_order(latents.select(np.arange(30)[::-1]))
    np.testing.assert_array_equal(held.row, np.arange(30))
    np.testing.assert_array_equal(held.z, latents.z)
    first = list(dict.fromkeys(latents.group[latents.group >= 0].tolist()))
    expected = [first.index(g) if g >= 0 else -1 for g in latents.group.tolist()]
    assert held.group.tolist() == expected
    alone = in_order(synthetic_latents(n=5, per_group=0))
    assert (alone.group == -1).all()
