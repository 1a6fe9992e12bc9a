"""Which queries are chosen, that every point is of what it says, and where there is no map."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from medldr.evaluation.representation import planes
from medldr.evaluation.representation import queries as module
from medldr.evaluation.representation.frame import Options
from medldr.evaluation.representation.queries import (
    Inserted,
    chosen_class,
    chosen_queries,
    queries,
)
from medldr.folders.latents_record import View

OPTIONS = Options(draws=20, points=100)


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """t-SNE with fewer iterations: its quality does not matter here."""
    monkeypatch.setattr(planes, "ITERATIONS", 250)


@pytest.fixture
def by_coordinates(monkeypatch):
    """Instead of t-SNE, the first two coordinates, by which points can be told."""
    calls = []

    def plane(z, seed, start=None):
        calls.append(np.asarray(z))
        return planes.Plane(np.asarray(z, dtype=float)[:, :2], perplexity=9.0)

    monkeypatch.setattr(module, "t_sne", plane)
    return calls


def put_in(latents, options=OPTIONS, times=5):
    rng = np.random.default_rng(0)
    return [
        Inserted(int(row), *rng.normal(size=(2, times, latents.z.shape[1])).astype(np.float32))
        for row in chosen_queries(latents, options)
    ]


def a_batch(latents, size=8):
    return np.flatnonzero(latents.split == "train")[:size]


def points(xy):
    return Counter(map(tuple, np.asarray(xy, dtype=float).tolist()))


def test_queries_are_training_images_of_all_classes(synthetic_latents):
    latents = synthetic_latents(200)
    chosen = chosen_queries(latents, Options(queries=6))
    assert set(latents.split[chosen].tolist()) == {"train"}
    assert Counter(latents.label[chosen].tolist()) == {0: 2, 1: 2, 2: 2}
    np.testing.assert_array_equal(chosen, chosen_queries(latents, Options(queries=6)))
    assert set(chosen) != set(chosen_queries(latents, Options(queries=6, seed=1)))
    several = replace(latents, label=np.eye(3)[latents.label])
    assert len(chosen_queries(several, Options(queries=6))) == 6
    assert len(chosen_queries(latents.select(latents.split == "test"), Options())) == 0


def test_the_class_has_most_images_in_its_rarest_domain(synthetic_latents):
    latents = synthetic_latents(12, domains=("a", "b"), unseen=())
    domain = np.array(list("aaaaaaaabbab"))
    latents = replace(
        latents, split=np.full(12, "train"), domain=domain,
        label=np.array([0] * 6 + [1] * 4 + [2] * 2),
    )  # fmt: skip
    assert chosen_class(latents) == 1
    assert chosen_class(replace(latents, domain=np.full(12, "a"))) is None
    assert chosen_class(replace(latents, domain=np.full(12, ""))) is None
    assert chosen_class(replace(latents, label=np.eye(3)[latents.label])) is None


def test_every_point_is_of_what_it_says(synthetic_latents, by_coordinates):
    latents = synthetic_latents(240)
    held, batch = put_in(latents), a_batch(latents)
    found = queries(latents, held, batch, OPTIONS)
    at = {name: view.z[:, :2] for name, view in latents.views.items()}
    assert points(found.batch.query) == points(at["original"][batch])
    assert points(found.batch.moved["degraded"]) == points(at["degraded"][batch])
    assert points(found.batch.moved["restored"]) == points(at["restored"][batch])
    own = [one.query for one in held]
    assert points(found.inserted.query) == points(at["original"][own])
    for name in ("degraded", "restored"):
        every = np.concatenate([getattr(one, name) for one in held])[:, :2]
        assert points(found.inserted.moved[name]) == points(every)
    assert found.batches == 5
    place = {tuple(xy): i for i, xy in enumerate(at["original"].tolist())}
    rows = [place[tuple(xy)] for xy in found.inserted.background.tolist()]
    assert len(rows) == len(set(rows)) == 75  # three quarters of the points
    assert not set(rows) & {*own, *batch.tolist()}
    assert set(latents.split[rows].tolist()) == {"train"}
    names = np.array(latents.spec.class_names)
    np.testing.assert_array_equal(found.inserted.kind, names[latents.label[rows]])
    np.testing.assert_array_equal(found.batch.background, found.inserted.background)
    assert set(found.batch.kind.tolist()) == {""}
    assert len(by_coordinates[0]) == 75 + 8 * 3 + len(own) * (1 + 2 * 5)  # all on one map
    assert found.perplexity == (9.0, 9.0)


def test_the_panel_of_one_class_is_of_its_training_images_by_domain(
    synthetic_latents, by_coordinates
):
    latents = synthetic_latents(160)
    found = queries(latents, [], a_batch(latents), OPTIONS)
    k = chosen_class(latents)
    assert found.class_name == latents.spec.class_names[k]
    place = {tuple(xy): i for i, xy in enumerate(latents.z[:, :2].astype(float).tolist())}
    rows = [place[tuple(xy)] for xy in found.one_class.background.tolist()]
    own = [place[tuple(xy)] for xy in found.one_class.query.tolist()]
    assert set(latents.label[rows + own].tolist()) == {k}
    assert set(latents.split[rows + own].tolist()) == {"train"}
    np.testing.assert_array_equal(found.one_class.kind, latents.domain[rows])
    assert found.one_class.names == ("a", "b")
    restored = latents.views["restored"].z[own][:, :2]
    np.testing.assert_array_equal(found.one_class.moved["restored"], restored)
    assert not set(rows) & set(own)
    assert found.inserted is None


def test_without_a_batch_or_queries_their_panels_are_missing(synthetic_latents, by_coordinates):
    latents = synthetic_latents(160)
    none = np.zeros(0, dtype=np.int64)
    found = queries(latents, [], none, OPTIONS)
    assert found.batch is found.inserted is None
    assert len(found.one_class.query) > 0
    assert found.perplexity == (None, 9.0)
    found = queries(latents, put_in(latents), none, OPTIONS)
    assert found.batch is None
    assert len(found.inserted.query) == 6


def test_a_large_batch_shows_as_many_queries_as_the_papers(synthetic_latents, by_coordinates):
    latents = synthetic_latents(400)
    found = queries(latents, [], a_batch(latents, 200), OPTIONS)
    assert len(found.batch.query) == 96


def test_a_nan_leaves_an_image_out_and_is_counted(synthetic_latents, by_coordinates):
    latents = synthetic_latents(120)
    train = np.flatnonzero(latents.split == "train")
    views = {name: View(view.z.copy(), view.logits) for name, view in latents.views.items()}
    views["original"].z[train[0]] = np.nan
    views["restored"].z[train[1], 3] = np.inf
    holed = replace(latents, views=views)
    held = put_in(holed)
    held[0].restored[2] = np.nan
    found = queries(holed, [*held, replace(held[0], query=int(train[0]))], a_batch(holed), OPTIONS)
    assert found.left_out == 2
    assert len(found.batch.query) == 6
    assert len(found.inserted.query) == len(held)
    assert len(found.inserted.moved["restored"]) == 5 * len(held) - 1
    for scene in (found.batch, found.inserted, found.one_class):
        for xy in (scene.background, scene.query, *scene.moved.values()):
            assert np.isfinite(xy).all()
    for view in views.values():
        view.z[:] = np.nan
    gone = queries(replace(latents, views=views), held, a_batch(latents), OPTIONS)
    assert gone.reason == "fewer than 4 images have latents that are finite"
    assert gone.batch is gone.inserted is gone.one_class is None


@pytest.mark.parametrize("n", [1, 3, 12])
def test_few_images_have_a_map_or_a_reason(synthetic_latents, n):
    latents = synthetic_latents(12, per_group=0).select(np.arange(n))
    latents = replace(latents, split=np.full(n, "train"))
    found = queries(latents, put_in(latents), np.arange(n), OPTIONS)
    if n < 4:
        assert found.reason
        assert found.batch is None
    else:
        assert not found.reason
        assert found.perplexity[0] <= 30
        assert np.isfinite(found.batch.query).all()


def test_equal_latents_and_several_labels(synthetic_latents):
    latents = synthetic_latents(40)
    constant = View(np.ones_like(latents.z), latents.views["original"].logits)
    views = {**latents.views, "original": constant}
    same = queries(replace(latents, views=views), [], a_batch(latents), OPTIONS)
    assert same.reason == "all latents are the same"
    several = replace(latents, label=np.eye(3)[latents.label])
    found = queries(several, put_in(several), a_batch(several), OPTIONS)
    assert found.inserted.names == ()
    assert found.one_class is None
