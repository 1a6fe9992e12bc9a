"""`latents.safetensors` is read as it was written, and refused where it is another's."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from medldr.errors import InputError
from medldr.folders.files import RunFolder, load_tensors, save_tensors
from medldr.folders.latents_record import VIEWS, read_latents, write_latents


def test_latents_are_read_as_they_were_written(tmp_path, synthetic_latents):
    files, made = RunFolder(tmp_path), synthetic_latents(n=40)
    write_latents(files, made)
    found = read_latents(files, made.spec)
    for name in ("row", "split", "domain", "group", "label"):
        np.testing.assert_array_equal(getattr(found, name), getattr(made, name))
    assert tuple(found.views) == VIEWS
    for name, view in made.views.items():
        np.testing.assert_array_equal(found.views[name].z, view.z)
        np.testing.assert_array_equal(found.views[name].logits, view.logits)


def test_a_method_without_d_and_r_and_data_without_domains_and_groups(tmp_path, synthetic_latents):
    files = RunFolder(tmp_path)
    made = synthetic_latents(n=10, domains=(), unseen=(), per_group=0, views=False)
    write_latents(files, made)
    found = read_latents(files, made.spec)
    assert list(found.views) == ["original"]
    assert set(found.domain.tolist()) == {""}
    assert set(found.group.tolist()) == {-1}
    assert not found.unseen.any()
    assert len(set(found.units.tolist())) == 10  # every image by itself


def test_groups_stay_together_and_images_without_one_apart(synthetic_latents):
    made = synthetic_latents(n=6)
    made.group[:] = [0, 0, -1, 1, -1, 1]
    units = made.units.tolist()
    assert units[0] == units[1]
    assert units[3] == units[5]
    assert len(set(units)) == 4


def test_a_selection_takes_every_column(synthetic_latents):
    made = synthetic_latents(n=30)
    part = made.select(made.split == "train")
    assert set(part.split.tolist()) == {"train"}
    assert len(part) == len(part.z) == len(part.views["restored"].logits) == len(part.label)
    few = made.at_most(7, seed=1)
    assert len(few) == 7
    assert (np.diff(few.row) > 0).all()
    assert few.row.tolist() == made.row[made.some(7, seed=1)].tolist()
    assert made.at_most(30) is made
    assert made.some(30).tolist() == list(range(30))


def test_the_test_is_one_split_and_what_chose_the_model_is_none_of_its_unseen_images(
    synthetic_latents,
):
    made = synthetic_latents(n=60, domains=("a", "v", "c"), unseen=("v", "c"))
    made.split[made.domain == "v"] = "val"  # a hospital that no training image came from
    assert made.unseen[made.domain == "v"].all()
    for mask in (made.unseen_test, made.tested):
        np.testing.assert_array_equal(mask, made.domain == "c")
    rest = made.select(made.split != "test")
    assert not rest.unseen_test.any()
    assert rest.tested_split == "val"
    np.testing.assert_array_equal(rest.tested, rest.domain == "v")
    seen = made.select(made.domain == "a")
    assert (seen.tested_split, seen.tested.sum()) == ("id_val", (seen.split == "id_val").sum())
    first = np.arange(len(seen)) < 2
    held = replace(seen, split=np.where(first, "id_test", seen.split))
    np.testing.assert_array_equal(held.tested, first)
    training = seen.select(seen.split == "train")
    assert (training.tested_split, training.tested.any()) == ("", False)


@pytest.mark.parametrize("change", ["missing", "short", "other classes", "domain"])
def test_a_file_that_does_not_fit_is_refused_with_the_cure(tmp_path, synthetic_latents, change):
    files, made = RunFolder(tmp_path), synthetic_latents(n=12)
    write_latents(files, made)
    held = load_tensors(files.latents)
    if change == "missing":
        del held["row"]
    elif change == "short":
        held["label"] = held["label"][:-1]
    elif change == "other classes":
        held["original.logits"] = torch.zeros(12, 9)
    else:
        held["domain"] = torch.full((12,), 7)
    save_tensors(files.latents, held)
    with pytest.raises(InputError, match=r"does not hold the latents of this run.*medldr evaluate"):
        read_latents(files, made.spec)
