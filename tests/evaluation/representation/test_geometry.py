"""Alignment and uniformity of a run against loops over pairs of explicitly drawn images."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from medldr.evaluation.intervals.bootstrap import group_weights, stream
from medldr.evaluation.representation import drawn, sphere
from medldr.evaluation.representation.frame import Options, number, where
from medldr.evaluation.representation.geometry import geometry, mean_of, mean_over_seeds
from medldr.evaluation.representation.sphere import PairScores
from medldr.folders.latents_record import View

FEW = Options(draws=60)


def unit_of(z):
    return z.astype(np.float64) / np.linalg.norm(z.astype(np.float64), axis=1, keepdims=True)


def squared(z):
    """Squared distances of all pairs of different images, in both orders, by their rows."""
    unit, apart = unit_of(z), ~np.eye(len(z), dtype=bool)
    return ((unit[:, None] - unit) ** 2).sum(axis=2), apart


def uniformity(z):
    """The log of the mean closeness of two images."""
    between, apart = squared(z)
    return np.log(np.exp(-2 * between[apart]).mean())


def alignment(z, label):
    """The mean over images of the mean squared distance from the others of their class."""
    between, apart = squared(z)
    pairs = apart & (label[:, None] == label)
    rows = pairs.any(axis=1)
    return np.mean((between * pairs)[rows].sum(axis=1) / pairs[rows].sum(axis=1))


def drawn_pairs(latents, copies):
    """Ordered pairs of a draw: images of different groups, or of one copy of a group."""
    units = latents.units
    images = [(i, c) for i in range(len(latents)) for c in range(copies[units[i]])]
    for (i, a), (j, b) in product(images, images):
        if i != j and (units[i] != units[j] or a == b):
            yield i, j


def mean_by(values, weights):
    return np.average(values, weights=weights) if np.sum(weights) > 0 else np.nan


def by_loops(latents, copies):
    """Uniformity, alignment, and alignment within and between domains of one draw."""
    z, label, domain = unit_of(latents.z), latents.label, latents.domain
    near, by_class, sizes = [], {}, {}
    for i in range(len(latents)):
        key = label[i], domain[i]
        sizes[key] = sizes.get(key, 0) + copies[latents.units[i]]
    for i, j in drawn_pairs(latents, copies):
        d = ((z[i] - z[j]) ** 2).sum()
        near.append(np.exp(-2 * d))
        if label[i] == label[j]:
            by_class.setdefault(label[i], []).append((d, domain[i], domain[j]))
    size = {k: sum(n for (one, _), n in sizes.items() if one == k) for k in by_class}
    all_of, within, between, both = [], [], [], []
    for k, pairs in by_class.items():
        all_of.append((np.mean([d for d, _, _ in pairs]), size[k]))
        far = [d for d, a, b in pairs if a != b]
        inside = {
            one: [d for d, a, b in pairs if a == one == b] for one in {a for _, a, _ in pairs}
        }
        inside = {one: held for one, held in inside.items() if held}
        counts = [sizes[k, one] * (size[k] - sizes[k, one]) for one in inside]
        if far and sum(counts):
            within.append(np.average([np.mean(held) for held in inside.values()], weights=counts))
            between.append(np.mean(far))
            both.append(size[k])
    return (
        np.log(np.mean(near)) if near else np.nan,
        mean_by(*zip(*all_of, strict=True)) if all_of else np.nan,
        mean_by(within, both), mean_by(between, both),
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("per_group", [0, 3])
def test_every_draw_is_that_of_explicit_copies(synthetic_latents, monkeypatch, per_group):
    latents = synthetic_latents(n=18, classes=2, per_group=per_group, seed=3)
    held = []
    real = drawn.number

    def spy(metric, value, draws, sample, reason):
        held.append((metric.name, np.append(value, draws), sample))
        return real(metric, value, draws, sample, reason)

    monkeypatch.setattr(drawn, "number", spy)
    scores = PairScores(latents, "original", FEW)
    every = np.ones(18, bool)
    classes = [latents.label == k for k in range(2)]
    scores.uniformity(every)
    scores.alignment(every, classes)
    scores.across(classes, [latents.domain == name for name in "abc"])
    names = np.unique(latents.units)
    copies = np.hstack([np.ones((len(names), 1)), *group_weights(
        len(names), 60, stream(0, "geometry"), 18)]).astype(int)  # fmt: skip
    loops = [by_loops(latents, dict(zip(names, column, strict=True)))
             for column in copies.T]  # fmt: skip
    expected = np.array(loops).T
    assert not np.isnan(expected).all(axis=1).any()
    for (name, values, sample), known in zip(held, expected, strict=False):
        assert values == pytest.approx(known, abs=1e-10, nan_ok=True), name
        assert sample.units == len(names)
        assert sample.grouped == bool(per_group)
    assert held[4][1] == pytest.approx(expected[3] - expected[2], abs=1e-10, nan_ok=True)


def test_numbers_are_those_of_the_whole_set(synthetic_latents):
    latents = synthetic_latents(n=120, classes=4, domains=tuple("abcd"), unseen=("c", "d"))
    found = geometry(latents, FEW)
    masks = {"train": latents.split == "train", "test": latents.split == "test",
             "all": np.ones(120, bool)}  # fmt: skip
    sets = {("all", ""): np.ones(120, bool)}
    sets |= {("domain", name): latents.domain == name for name in "abcd"}
    sets |= {("class", f"class {k}"): latents.label == k for k in range(4)}
    for (images, mask), view in product(masks.items(), latents.views):
        part = where(found, images=images, latents=view)
        z, label = latents.views[view].z, latents.label
        here = {key: rows & mask for key, rows in sets.items() if (rows & mask).any()}
        for (kind, name), rows in here.items():
            held = where(part, of=kind, name=name)
            assert {line["n"] for line in held} == {rows.sum()}
            score = alignment(z[rows], label[rows])
            assert number(held, measure="alignment").mean == pytest.approx(score, abs=1e-12)
            if kind != "class":
                score = uniformity(z[rows])
                assert number(held, measure="uniformity").mean == pytest.approx(score, abs=1e-12)
        for line in where(part, of="all"):
            assert line["held"].low < line["held"].mean < line["held"].high
    seen = np.isin(latents.domain, ["a", "b"])
    together = where(found, images="all", latents="original", of="domains", measure="uniformity")
    for line, rows in zip(together, (seen, ~seen), strict=True):
        assert line["held"].mean == pytest.approx(uniformity(latents.z[rows]), abs=1e-12)
    assert [line["name"] for line in together] == ["seen", "unseen"]


def whole(found, images="all", view="original"):
    """The numbers of all of some images, by their name."""
    lines = where(found, images=images, latents=view, of="all")
    return {line["measure"]: line["held"] for line in lines}


WITHIN, ACROSS = "alignment_within_domains", "alignment_between_domains"


def test_the_difference_is_the_squared_distance_of_centres(synthetic_latents):
    """Also where a large domain has latents close together, and a small one does not."""
    latents = synthetic_latents(n=400, classes=1, domains=("a", "b"), unseen=(), per_group=0)
    rng = np.random.default_rng(0)
    domain = np.where(np.arange(400) < 350, "a", "b")
    around = rng.normal(size=(400, 8)) * np.where(domain == "a", 0.05, 0.5)[:, None]
    z = (np.eye(8)[0] * 5 + around).astype(np.float32)
    latents = replace(latents, domain=domain, views={"original": View(z, z[:, :1])})
    found = whole(geometry(latents, FEW))
    one, two = (unit_of(z[domain == name]) for name in "ab")
    # Without the part of the distance that comes from few images.
    noise = sum(part.var(axis=0, ddof=1).sum() / len(part) for part in (one, two))
    expected = ((one.mean(axis=0) - two.mean(axis=0)) ** 2).sum() - noise
    assert found["alignment_difference"].mean == pytest.approx(expected, abs=1e-12)
    assert abs(found["alignment_difference"].mean) < 0.1 * found[ACROSS].mean


@pytest.mark.slow
def test_intervals_cover_new_patients(synthetic_latents):
    """Of many samples of groups, about 95% of intervals hold the number of all."""
    world = synthetic_latents(n=4000, classes=2, domains=(), unseen=(), per_group=1, views=False)
    # Images of one patient are alike.
    patient = np.repeat(np.arange(1000), 4)
    z = world.z + 2 * np.random.default_rng(1).normal(size=(1000, 8))[patient]
    world = replace(world, group=patient, views={"original": View(z.astype(np.float32), z[:, :2])})
    units = unit_of(world.views["original"].z)
    squared = 2 - 2 * units @ units.T
    apart = patient[:, None] != patient
    truth = np.log(np.exp(-2 * squared)[apart].mean())
    inside = []
    rng = np.random.default_rng(0)
    for _ in range(40):
        rows = np.isin(patient, rng.choice(1000, 40, replace=False))
        scores = PairScores(world.select(rows), "original", Options(draws=100))
        one = scores.uniformity(np.ones(160, bool))
        inside.append(one.low <= truth <= one.high)
    assert np.mean(inside) >= 0.85


def test_large_sets_are_drawn_from(synthetic_latents):
    latents = synthetic_latents(n=200, views=False)
    found = where(geometry(latents, replace(FEW, items=50)), images="all")
    assert {line["n"] for line in where(found, of="all")} == {50}
    held = latents.at_most(50, 0)
    assert whole(found)["uniformity"].mean == pytest.approx(uniformity(held.z), abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 12])
@pytest.mark.parametrize("domains", [(), ("a",), ("a", "b", "c")])
@pytest.mark.parametrize("per_group", [0, 4])
def test_few_images_give_numbers_or_reasons(synthetic_latents, n, domains, per_group):
    latents = synthetic_latents(n=n, domains=domains, unseen=("c",), per_group=per_group)
    check(geometry(latents, FEW))


def check(frame):
    """Every number is defined or has a reason, and never NaN."""
    assert frame
    for one in (line["held"] for line in frame):
        numbers = [value for value in (one.mean, one.low, one.high) if value is not None]
        assert np.isfinite(numbers).all()
        assert one.reason or len(numbers) == 3


def test_latents_without_direction_have_a_reason(synthetic_latents):
    latents = synthetic_latents(n=40)
    z = latents.views["degraded"].z.copy()
    for bad in (np.nan, np.inf, 0.0):
        z[np.flatnonzero(latents.split == "test")[0]] = bad
        views = {**latents.views, "degraded": View(z, latents.views["degraded"].logits)}
        found = geometry(replace(latents, views=views), FEW)
        assert whole(found, "test", "degraded")["uniformity"].reason == sphere.NO_DIRECTION
        assert whole(found, "test", "degraded")["alignment_difference"].mean is None
        assert whole(found, "all", "degraded")["alignment"].reason == sphere.NO_DIRECTION
        assert whole(found, "test")["uniformity"].mean is not None
        assert whole(found, "train", "degraded")["uniformity"].mean is not None


def test_equal_latents_have_no_interval(synthetic_latents):
    latents = synthetic_latents(n=40, views=False)
    z = np.ones_like(latents.z)
    found = geometry(replace(latents, views={"original": View(z, z[:, :3])}), FEW)
    assert whole(found)["uniformity"].mean == pytest.approx(0, abs=1e-12)
    assert whole(found)["alignment"].mean == pytest.approx(0, abs=1e-12)
    check(found)


def test_several_labels_have_no_alignment(synthetic_latents):
    latents = synthetic_latents(n=40)
    label = np.random.default_rng(0).integers(2, size=(40, 3)).astype(np.float64)
    label[0, 0] = np.nan
    found = geometry(replace(latents, label=label), FEW)
    held = whole(found, "test")
    assert held["alignment"].reason == held[ACROSS].reason == sphere.SEVERAL_LABELS
    assert held["uniformity"].low < held["uniformity"].mean < held["uniformity"].high
    assert where(found, of="class") == []
    check(found)


def test_one_domain_has_no_pairs_between_domains(synthetic_latents):
    for domains in ((), ("a",)):
        found = whole(geometry(synthetic_latents(n=60, domains=domains, unseen=()), FEW))
        assert found[ACROSS].reason == sphere.ONE_DOMAIN
        assert found["alignment"].low is not None


def test_no_images_have_no_geometry(synthetic_latents):
    assert geometry(synthetic_latents(n=5).select(np.zeros(5, bool)), FEW) == []


def test_means_over_seeds(synthetic_latents):
    runs = [geometry(synthetic_latents(n=80, seed=seed), FEW) for seed in range(3)]
    assert mean_over_seeds(runs[:1]) is runs[0]
    found = mean_over_seeds(runs)
    places = [
        {"images": "test", "latents": "original", "of": "all", "measure": "alignment"},
        {"images": "all", "latents": "restored", "of": "domain", "name": "c",
         "measure": "uniformity"},
        {"images": "all", "latents": "degraded", "of": "all", "measure": "alignment_difference"},
        {"images": "all", "latents": "original", "of": "class", "name": "class 1",
         "measure": WITHIN},
    ]  # fmt: skip
    for place in places:
        values = [number(run, **place).mean for run in runs]
        assert number(found, **place).mean == pytest.approx(np.mean(values))
    values, held = [number(run, **places[0]).mean for run in runs], number(found, **places[0])
    half = 4.302652729911275 * np.std(values, ddof=1) / 3**0.5
    assert held.sd == pytest.approx(np.std(values, ddof=1))
    assert (held.low, held.high) == pytest.approx((np.mean(values) - half, np.mean(values) + half))
    assert (held.n, held.planned) == (3, 3)


def test_a_mean_leaves_out_seeds_without_a_number(synthetic_latents):
    from medldr.evaluation.intervals.estimate import Estimate

    none = Estimate(reason="why")
    found = mean_of(sphere.ALIGNMENT, [Estimate(0.2), none, Estimate(0.4)])
    assert (found.mean, found.count) == (pytest.approx(0.3), "n 2 of 3")
    assert mean_of(sphere.ALIGNMENT, [none, none]).reason == "why"
    assert mean_of(sphere.ALIGNMENT, [none, Estimate(0.2)]).low is None
    runs = [geometry(synthetic_latents(n=80, views=views), FEW) for views in (True, False)]
    assert {line["latents"] for line in mean_over_seeds(runs)} == {"original"}
