"""All topics mean the same by the test, where an unseen hospital chose the model as in WILDS."""

from dataclasses import replace

import numpy as np
import pytest

from medldr.evaluation.representation import planes
from medldr.evaluation.representation.geometry import geometry
from medldr.evaluation.representation.maps import maps
from medldr.evaluation.representation.neighbourhoods import neighbourhoods
from medldr.evaluation.representation.operators import operators
from medldr.evaluation.representation.options import Options
from medldr.evaluation.representation.sphere import alignment, uniformity

OPTIONS = Options(draws=20, neighbours=3)


@pytest.fixture
def wilds(synthetic_latents):
    """Training in a and b, the model chosen in v, the test in c; all four have images."""
    latents = synthetic_latents(n=160, domains=tuple("abvc"), unseen=("v", "c"))
    latents.split[latents.domain == "v"] = "val"
    return latents


@pytest.fixture
def map_parts(monkeypatch):
    monkeypatch.setattr(planes, "ITERATIONS", 250)
    return lambda latents: {one.part: one for one in maps(latents, OPTIONS).maps}


def test_the_hospital_that_chose_the_model_is_not_tested(wilds, map_parts):
    test = wilds.domain == "c"
    held = geometry(wilds, OPTIONS)
    assert (held.main.split, held.main.of, held.main.unseen) == ("test", test.sum(), True)
    judged = operators(wilds, OPTIONS)
    assert [part.split for part in judged.parts] == ["train", "id_val", "test"]
    assert judged.last.images == test.sum()
    near = neighbourhoods(wilds, OPTIONS)
    np.testing.assert_array_equal(near.parts()["unseen"], test)
    assert not (near.parts()["seen"] | near.parts()["training"])[wilds.domain == "v"].any()
    assert set(map_parts(wilds)) == {"all", "unseen"}
    assert map_parts(wilds)["unseen"].images == test.sum()


def test_all_unseen_domains_together_are_those_of_the_test(wilds):
    together = geometry(wilds, OPTIONS).parts["all"]["original"].together
    test = wilds.unseen & (wilds.split == "test")
    assert (together[False].n, together[False].domains) == (test.sum(), 1)
    assert together[False].uniformity.mean == pytest.approx(uniformity(wilds.z[test]).mean)
    score = alignment(wilds.z[test], wilds.label[test]).mean
    assert together[False].alignment.mean == pytest.approx(score)
    assert (together[True].n, together[True].domains) == ((~wilds.unseen).sum(), 2)


def test_without_a_test_split_another_stands_for_it_everywhere(wilds, map_parts):
    rest = wilds.select(wilds.split != "test")
    assert geometry(rest, OPTIONS).main.split == "val"
    assert [part.split for part in operators(rest, OPTIONS).parts] == ["train", "id_val", "val"]
    assert map_parts(rest)["validation"].images == (rest.split == "val").sum()
    assert "unseen" not in neighbourhoods(rest, OPTIONS).parts()
    # The test of seen domains comes before what chose the model.
    split = np.where(rest.split == "id_val", "id_test", rest.split)
    tested = replace(rest, split=split)
    assert geometry(tested, OPTIONS).main.split == "id_test"
    assert [part.split for part in operators(tested, OPTIONS).parts] == ["train", "id_test"]
    assert map_parts(tested)["test"].images == (split == "id_test").sum()
