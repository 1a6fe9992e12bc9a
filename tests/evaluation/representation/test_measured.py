"""All topics mean the same by the test, where an unseen hospital chose the model as in WILDS."""

from dataclasses import replace

import numpy as np
import pytest

from medldr.evaluation.representation import planes
from medldr.evaluation.representation.frame import Options, number, where
from medldr.evaluation.representation.geometry import geometry
from medldr.evaluation.representation.maps import maps
from medldr.evaluation.representation.neighbourhoods import neighbourhoods
from medldr.evaluation.representation.operators import operators

OPTIONS = Options(draws=20, neighbours=3)


@pytest.fixture
def wilds(synthetic_latents):
    """Training in a and b, the model chosen in v, the test in c; all four have images."""
    latents = synthetic_latents(n=160, domains=tuple("abvc"), unseen=("v", "c"))
    latents.split[latents.domain == "v"] = "val"
    return latents


def splits(frame):
    return list(dict.fromkeys(line["split"] for line in frame))


@pytest.fixture
def map_parts(monkeypatch):
    monkeypatch.setattr(planes, "ITERATIONS", 250)
    return lambda latents: {one.part: one for one in maps(latents, OPTIONS).maps}


def test_the_hospital_that_chose_the_model_is_not_tested(wilds, map_parts):
    test = wilds.domain == "c"
    held = where(geometry(wilds, OPTIONS), images="test", of="all")
    assert {line["n"] for line in held} == {test.sum()}
    judged = operators(wilds, OPTIONS)
    assert splits(judged) == ["train", "id_val", "test"]
    assert {line["images"] for line in where(judged, split="test")} == {test.sum()}
    near = neighbourhoods(wilds, OPTIONS)
    np.testing.assert_array_equal(near.parts()["unseen"], test)
    assert not (near.parts()["seen"] | near.parts()["training"])[wilds.domain == "v"].any()
    assert set(map_parts(wilds)) == {"all", "unseen"}
    assert map_parts(wilds)["unseen"].images == test.sum()


def test_all_unseen_domains_together_are_those_of_the_test(wilds):
    frame = where(geometry(wilds, OPTIONS), images="all", latents="original", of="domains")
    test = wilds.unseen & (wilds.split == "test")
    counts = {line["name"]: line["n"] for line in frame}
    assert counts == {"seen": (~wilds.unseen).sum(), "unseen": test.sum()}
    alone = where(geometry(wilds.select(test), OPTIONS), images="all", latents="original", of="all")
    for measure in ("alignment", "uniformity"):
        held = number(frame, name="unseen", measure=measure)
        assert held.mean == pytest.approx(number(alone, measure=measure).mean)


def test_without_a_test_split_another_stands_for_it_everywhere(wilds, map_parts):
    rest = wilds.select(wilds.split != "test")
    (count,) = {x["n"] for x in where(geometry(rest, OPTIONS), images="test", of="all")}
    assert count == (rest.split == "val").sum()
    assert splits(operators(rest, OPTIONS)) == ["train", "id_val", "val"]
    assert map_parts(rest)["validation"].images == (rest.split == "val").sum()
    assert "unseen" not in neighbourhoods(rest, OPTIONS).parts()
    # The test of seen domains comes before what chose the model.
    split = np.where(rest.split == "id_val", "id_test", rest.split)
    tested = replace(rest, split=split)
    (count,) = {x["n"] for x in where(geometry(tested, OPTIONS), images="test", of="all")}
    assert count == (split == "id_test").sum()
    assert splits(operators(tested, OPTIONS)) == ["train", "id_test"]
    assert map_parts(tested)["test"].images == (split == "id_test").sum()
