"""Which images are shown with their nearest neighbours."""

from dataclasses import replace

import numpy as np

from medldr.evaluation.representation.frame import Options
from medldr.evaluation.representation.neighbourhoods import nearest
from medldr.evaluation.representation.pictures import pictured_neighbours
from medldr.folders.latents_record import View

OPTIONS = Options(queries=7)


def test_queries_are_training_images_of_each_class_and_domain_in_turn(synthetic_latents):
    latents = synthetic_latents(classes=3)
    found = pictured_neighbours(latents, OPTIONS)
    rows = [each.query.row for each in found.queries]
    assert len(set(rows)) == 7
    assert set(latents.split[rows]) == {"train"}
    assert latents.label[rows].tolist() == [0, 1, 2, 0, 1, 2, 0]
    domains = latents.domain[rows].tolist()
    assert sorted(map(domains.count, "ab")) == [3, 4]
    # The second image of a class is of another domain than the first.
    assert [domains[3 + k] != domains[k] for k in range(3)] == [True] * 3
    assert [each.query.label for each in found.queries[:2]] == ["class 0", "class 1"]
    assert rows != [
        e.query.row for e in pictured_neighbours(latents, replace(OPTIONS, seed=1)).queries
    ]


def test_neighbours_are_the_nearest_two_of_each_view(synthetic_latents):
    latents = synthetic_latents()
    found = pictured_neighbours(latents, OPTIONS)
    units = latents.units
    for view in ("degraded", "restored"):
        rows = np.array([each.query.row for each in found.queries])
        near = nearest(
            latents.views[view].z[rows], latents.z, 2, owner=units[rows], owners=units
        )  # fmt: skip
        assert [[n.row for n in each.neighbours[view]] for each in found.queries] == near.tolist()
    shown = [n for each in found.queries for near in each.neighbours.values() for n in near]
    assert [n.domain for n in shown] == [latents.domain[n.row] for n in shown]
    assert {n.unseen for n in shown if n.domain == "c"} <= {True}
    assert not any(n.unseen for n in shown if n.domain != "c")


def test_queries_do_not_depend_on_the_network_or_the_order_of_rows(synthetic_latents):
    latents = synthetic_latents()
    rows = [each.query.row for each in pictured_neighbours(latents, OPTIONS).queries]
    turned = latents.select(np.arange(len(latents))[::-1])
    noise = np.random.default_rng(0).normal(size=latents.z.shape).astype(np.float32)
    other = replace(turned, views={"original": View(noise, noise)})
    found = pictured_neighbours(other, OPTIONS)
    assert [each.query.row for each in found.queries] == rows
    assert list(found.queries[0].neighbours) == ["original"]


def test_of_many_classes_some_are_drawn(synthetic_latents):
    latents = synthetic_latents(classes=12)
    found = pictured_neighbours(latents, OPTIONS)
    assert len({each.query.label for each in found.queries}) == 7


def test_where_it_makes_no_sense_there_is_nothing(synthetic_latents):
    latents = synthetic_latents(n=30)
    assert pictured_neighbours(synthetic_latents(n=1), OPTIONS) is None
    assert pictured_neighbours(replace(latents, label=np.zeros((30, 2))), OPTIONS) is None
    assert pictured_neighbours(latents.select(latents.split != "train"), OPTIONS) is None
    latents.views["restored"].z[:] = np.nan
    assert pictured_neighbours(latents, OPTIONS) is None


def test_a_class_of_one_domain_shows_that_domain_again(synthetic_latents):
    latents = synthetic_latents(classes=2)
    latents = latents.select((latents.label == 0) | (latents.domain != "b"))
    found = pictured_neighbours(latents, replace(OPTIONS, queries=4))
    shown = [(each.query.label, each.query.domain) for each in found.queries]
    assert sorted(shown) == [
        ("class 0", "a"), ("class 0", "b"), ("class 1", "a"), ("class 1", "a")
    ]  # fmt: skip


def test_few_images_show_fewer(synthetic_latents):
    latents = synthetic_latents(n=3, domains=(), unseen=(), per_group=0)
    latents = replace(latents, split=np.array(["train", "train", "test"]))
    found = pictured_neighbours(latents, OPTIONS)
    assert len(found.queries) == 2
    assert {len(near) for each in found.queries for near in each.neighbours.values()} == {2}
