"""Maps of latents against plain linear algebra and scikit-learn, and where there can be none."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from sklearn.manifold import TSNE, trustworthiness

from medldr.evaluation.representation import planes
from medldr.evaluation.representation.frame import Options
from medldr.evaluation.representation.maps import maps
from medldr.folders.latents_record import View


@pytest.fixture
def few(monkeypatch):
    """t-SNE with fewer iterations, where its quality does not matter."""
    monkeypatch.setattr(planes, "ITERATIONS", 250)


def with_z(latents, z):
    view = View(np.asarray(z, dtype=np.float32), latents.views["original"].logits)
    return replace(latents, views={"original": view})


def by_kind(found):
    return {(one.method, one.part): one for one in found.maps}


def rows_of(one, latents):
    place = {row: i for i, row in enumerate(latents.row.tolist())}
    return [place[row] for row in one.row.tolist()]


def distances(xy):
    return np.linalg.norm(xy[:, None] - xy, axis=2)


def test_the_principal_plane_is_that_of_the_singular_vectors(synthetic_latents, few):
    latents = synthetic_latents(60, dim=5)
    one = by_kind(maps(latents, Options()))["pca", "all"]
    z = latents.z[rows_of(one, latents)].astype(np.float64)
    z -= z.mean(axis=0)
    u, s, _ = np.linalg.svd(z, full_matrices=False)
    plane = u[:, :2] * s[:2] / np.abs(z).max()
    np.testing.assert_allclose(distances(one.xy), distances(plane), atol=1e-9)
    assert one.share == pytest.approx((s[:2] ** 2).sum() / (s**2).sum())
    assert one.perplexity is None


@pytest.mark.slow
def test_t_sne_keeps_neighbours_and_is_scikit_learns(synthetic_latents):
    latents = synthetic_latents(120, dim=60, apart=2)
    one = by_kind(maps(latents, Options()))["t-sne", "all"]
    z = latents.z[rows_of(one, latents)].astype(np.float64)
    assert trustworthiness(z, one.xy, n_neighbors=8) > 0.85
    assert trustworthiness(z, one.xy[::-1], n_neighbors=8) < 0.6
    scaled = (z - z.mean(0)) / np.abs(z - z.mean(0)).max()
    u, s, _ = np.linalg.svd(scaled, full_matrices=False)
    theirs = TSNE(perplexity=30, max_iter=500, random_state=0, init="pca").fit((u * s)[:, :50])
    # Starts differ in their scale alone: the same map up to its orientation.
    ours = planes.t_sne(z, seed=0)
    turned = planes.turned_onto(theirs.embedding_.astype(float), ours.xy)
    assert np.corrcoef(turned.ravel(), ours.xy.ravel())[0, 1] > 0.9


def test_equal_seeds_give_equal_maps(synthetic_latents, few):
    latents = synthetic_latents(90)
    first, second = (maps(latents, Options(points=50)) for _ in range(2))
    for one, other in zip(first.maps, second.maps, strict=True):
        np.testing.assert_array_equal(one.xy, other.xy)
        np.testing.assert_array_equal(one.row, other.row)
    other = by_kind(maps(latents, Options(points=50, seed=1)))["pca", "all"]
    assert set(other.row.tolist()) != set(first.maps[0].row.tolist())


def test_columns_belong_to_their_points(synthetic_latents, few):
    latents = synthetic_latents(90)
    for one in maps(latents, Options(points=40)).maps:
        rows = rows_of(one, latents)
        assert len(set(rows)) == len(one) == len(one.xy)
        for name in ("split", "domain", "unseen", "label"):
            np.testing.assert_array_equal(getattr(one, name), getattr(latents, name)[rows])
        if one.part == "unseen":
            assert one.unseen.all()
            assert one.images == latents.unseen.sum()


def test_a_small_domain_is_shown_whole_and_any_beginning_is_balanced(synthetic_latents, few):
    latents = synthetic_latents(600)
    domain = np.where(np.arange(600) < 12, "c", np.where(np.arange(600) % 2, "a", "b"))
    split = np.where(domain == "c", "test", np.where(np.arange(600) % 5, "train", "id_val"))
    latents = replace(latents, domain=domain, split=split)
    one = by_kind(maps(latents, Options(points=100)))["pca", "all"]
    assert Counter(zip(one.domain.tolist(), one.split.tolist(), strict=True)) == {
        ("a", "train"): 22, ("b", "train"): 22, ("a", "id_val"): 22, ("b", "id_val"): 22,
        ("c", "test"): 12,
    }  # fmt: skip
    assert set(Counter(zip(one.domain[:25], one.split[:25], strict=True)).values()) == {5}


def test_a_second_run_shows_the_same_images_turned_to_fit(synthetic_latents):
    latents = synthetic_latents(90)
    rng = np.random.default_rng(3)
    turn, _ = np.linalg.qr(rng.normal(size=(8, 8)))
    first = maps(latents, Options(points=60))
    # The same latents in other coordinates, and with other rows first.
    mixed = with_z(latents, latents.z @ turn + 7).select(rng.permutation(90))
    second = maps(mixed, Options(points=60, seed=5), first)
    for one, other in zip(first.maps, second.maps, strict=True):
        assert not one.fitted
        assert other.fitted
        np.testing.assert_array_equal(one.row, other.row)
        np.testing.assert_array_equal(one.label, other.label)
    pca = [made.maps[0].xy / np.abs(made.maps[0].xy).max() for made in (first, second)]
    np.testing.assert_allclose(*pca, atol=1e-3)
    pair = [by_kind(made)["t-sne", "all"].xy for made in (first, second)]
    assert np.corrcoef(pair[0].ravel(), pair[1].ravel())[0, 1] > 0.95


def test_images_that_one_run_lacks_are_left_out_and_others_data_is_not_fitted(
    synthetic_latents, few
):
    latents = synthetic_latents(90)
    first = maps(latents, Options(points=60))
    less = latents.select(np.arange(90) % 3 > 0)
    one = by_kind(maps(less, Options(), first))["pca", "all"]
    expected = [row for row in first.maps[0].row.tolist() if row % 3 > 0]
    assert one.fitted
    assert one.row.tolist() == expected
    for other in (replace(latents, label=(latents.label + 1) % 3), synthetic_latents(90, seed=1)):
        assert not any(made.fitted for made in maps(other, Options(), first).maps)
    named = replace(latents.spec, class_names=("x", "y", "z"))
    assert not maps(replace(latents, spec=named), Options(), first).maps[0].fitted


def test_turning_is_the_best_of_all_turns_and_mirrorings():
    rng = np.random.default_rng(0)
    xy, target = rng.normal(size=(2, 20, 2))
    found = planes.turned_onto(xy, target)
    centred, goal = xy - xy.mean(0), target - target.mean(0)
    errors = []
    for angle in np.linspace(0, 2 * np.pi, 2001):
        c, s = np.cos(angle), np.sin(angle)
        turns = np.array([[[c, -s], [s, c]], [[c, s], [s, -c]]])
        errors += ((centred @ turns - goal) ** 2).sum(axis=(1, 2)).tolist()
    assert ((found - goal) ** 2).sum() <= min(errors)
    assert ((found - goal) ** 2).sum() == pytest.approx(min(errors), rel=1e-4)
    np.testing.assert_allclose(distances(found), distances(xy))


def test_perplexity_is_lowered_below_the_number_of_images(synthetic_latents):
    for n in (4, 5, 12):
        one = by_kind(maps(synthetic_latents(n, per_group=0), Options()))["t-sne", "all"]
        assert len(one) == n
        assert one.perplexity == pytest.approx((n - 1) / 3)
        assert one.perplexity < n
        assert np.isfinite(one.xy).all()
    assert by_kind(maps(synthetic_latents(100), Options()))["t-sne", "all"].perplexity == 30


@pytest.mark.parametrize("n", [0, 1, 3])
def test_too_few_images_have_no_map_and_a_reason(synthetic_latents, n):
    latents = synthetic_latents(12).select(np.arange(n))
    for one in maps(latents, Options()).maps:
        assert len(one) == 0
        assert len(one.label) == len(one.row) == 0
        assert one.reason == "fewer than 4 images have latents that are finite"


def test_images_with_a_nan_are_left_out_and_counted(synthetic_latents, few):
    latents = synthetic_latents(40, domains=(), unseen=())
    z = latents.z.copy()
    z[3, 2], z[7, 0], z[8] = np.nan, np.inf, -np.inf
    one = by_kind(maps(with_z(latents, z), Options()))["t-sne", "all"]
    assert (one.images, one.left_out, len(one)) == (40, 3, 37)
    assert not {3, 7, 8} & set(one.row.tolist())
    assert np.isfinite(one.xy).all()
    gone = maps(with_z(latents, np.full_like(z, np.nan)), Options())
    assert {(made.left_out, made.reason) for made in gone.maps if made.part == "all"} == {
        (40, "fewer than 4 images have latents that are finite")
    }


def test_equal_latents_have_no_map_and_extreme_ones_have_one(synthetic_latents, few):
    latents = synthetic_latents(20)
    for one in maps(with_z(latents, np.full((20, 8), 0.3)), Options()).maps:
        assert one.reason == "all latents are the same"
        assert len(one) == 0
    # Two places alone, a single dimension, and numbers whose squares float32 cannot hold.
    two = np.eye(2, 8)[latents.label % 2]
    for z in (two, latents.z[:, :1], latents.z * 1e30, latents.z * 1e-30):
        for one in maps(with_z(latents, z), Options()).maps:
            assert not one.reason
            assert one.xy.shape == (one.images, 2)
            assert np.isfinite(one.xy).all()


def test_the_test_alone_is_unseen_domains_or_else_the_split(synthetic_latents, few):
    latents = synthetic_latents(60, domains=(), unseen=())
    split = np.where(np.arange(60) % 2, "test", "train")
    found = by_kind(maps(replace(latents, split=split), Options()))
    assert set(found) == {("pca", "all"), ("t-sne", "all"), ("t-sne", "test")}
    assert set(found["t-sne", "test"].split.tolist()) == {"test"}
    found = by_kind(maps(replace(latents, split=np.full(60, "test")), Options()))
    assert set(found) == {("pca", "all"), ("t-sne", "all")}
    assert ("t-sne", "unseen") in by_kind(maps(synthetic_latents(60), Options()))
