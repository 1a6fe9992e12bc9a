"""Several images as one item: brought to one grid by their affines, or refused."""

import dataclasses

import numpy as np
import pytest

from medldr.data.files.combined import (
    facts_of_item,
    look_of_item,
    misfit,
    of_one_patient,
    on_grid_of,
    stacked,
)
from medldr.data.files.config import Combined
from medldr.data.files.facts import Facts
from medldr.data.files.scan import Scan, ScanError
from medldr.data.image_table import Look

HOW = Combined(("t2w", "adc"), "channels", "resample", "error", ("auto", "auto"), (16, 16))
TURN = np.array([[0.8, -0.6, 0.0], [0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])


def _affine(spacing, origin=(0.0, 0.0, 0.0), turn=None):
    affine = np.eye(4)
    affine[:3, :3] = (np.eye(3) if turn is None else turn) * spacing
    affine[:3, 3] = origin
    return affine


def _places(shape, affine):
    index = np.stack([*np.meshgrid(*map(np.arange, shape), indexing="ij"), np.ones(shape)])
    return np.einsum("ij,j...->i...", affine, index)[:3]


def _ramp(shape, affine, **more):
    """A volume whose values follow from its places in mm alone."""
    x, y, z = _places(shape, affine)
    values = (2 * x - 3 * y + 5 * z).astype(np.float32)[None]
    spacing = tuple(np.linalg.norm(affine[:3, :3], axis=0).tolist())
    return Scan(values, "nifti", "float32", spacing=spacing, affine=affine, **more)


def test_values_stay_where_they_are_in_the_patient():
    first = _ramp((10, 9, 8), _affine((1.0, 1.0, 2.0), (3.0, 2.0, 4.0)))
    other = _ramp((24, 24, 14), _affine((1.5, 1.5, 3.0), (4.0, -18.0, -5.0), TURN))
    moved = on_grid_of(first, other, HOW)
    assert moved.spatial == first.spatial
    np.testing.assert_array_equal(moved.affine, first.affine)
    # All of the first grid lies inside of the other, and between voxels a ramp is exact.
    np.testing.assert_allclose(moved.values, first.values, atol=1e-3)


def test_finer_voxels_are_averaged_and_what_lies_outside_is_the_lowest_value():
    random = np.random.default_rng(0).normal(100, 10, (1, 40, 40, 40)).astype(np.float32)
    fine = Scan(random, "nifti", "f", spacing=(1.0,) * 3, affine=_affine((1.0,) * 3))
    first = _ramp((12, 10, 10), _affine((4.0,) * 3, (0.0, 0.0, 0.0)))
    moved = on_grid_of(first, fine, HOW).values[0]
    assert moved[:9].std() < 5  # of single voxels it would be 10
    assert moved[:9].mean() == pytest.approx(100, abs=2)
    np.testing.assert_allclose(moved[11], random.min(), atol=1e-4)


def test_one_grid_is_not_touched():
    first = _ramp((6, 5, 4), _affine((1.0, 1.0, 2.0)))
    near = dataclasses.replace(first, affine=_affine((1.0, 1.0, 2.0), (0.05, 0.0, 0.0)))
    assert on_grid_of(first, near, HOW) is near
    bare = Scan(np.zeros((1, 6, 5), np.uint8), "picture", "L")
    assert on_grid_of(bare, bare, HOW) is bare


@pytest.mark.parametrize(
    ("other", "align", "said"),
    [
        (_ramp((6, 5, 4), _affine((1.0, 1.0, 2.0), (1.0, 0.0, 0.0))), "refuse", "data.align"),
        (_ramp((6, 5, 4), _affine((1.0, 1.0, 2.0), (90.0, 0.0, 0.0))), "resample", "elsewhere"),
        (Scan(np.zeros((1, 6, 5, 4)), "array", "f"), "resample", "not both say"),
        (Scan(np.zeros((1, 7, 5, 4)), "array", "f"), "resample", "7 x 5 x 4, and 6 x 5 x 4"),
    ],
)
def test_what_cannot_be_a_channel_is_refused_with_the_reason(other, align, said):
    first = _ramp((6, 5, 4), _affine((1.0, 1.0, 2.0)))
    how = dataclasses.replace(HOW, align=align)
    assert said in misfit(Facts.of(first), Facts.of(other), how)  # facts alone tell
    with pytest.raises(ScanError, match=said):
        on_grid_of(first, other, how)


def test_facts_and_look_of_an_item_hold_all_of_its_images():
    first = Facts.of(_ramp((6, 5, 4), _affine((1.0, 1.0, 2.0)), modality="CT", patient="a1"))
    other = Facts.of(_ramp((6, 5, 4), _affine((1.0, 1.0, 3.0)), modality="PT", patient="b2"))
    both, lone = facts_of_item([first, other], HOW.names), facts_of_item([first, None], HOW.names)
    assert (both.modality, both.spacing) == ("CT + PT", first.spacing)
    assert len({first.header, both.header, lone.header}) == 3
    assert lone.warnings == ("adc is missing: zeros stand in its place",)
    assert "patients" in of_one_patient([first, other])
    assert not of_one_patient([first, None, other._replace(patient="")])
    looks = [Look(False, b"x"), Look(True, b"y")]
    told = {look_of_item(looks).digest, look_of_item(looks[::-1]).digest}
    assert len(told | {look_of_item([looks[0], None]).digest}) == 3
    assert look_of_item([looks[1], None]).constant
    assert not look_of_item(looks).constant


def test_images_follow_one_another_with_zeros_for_a_missing_one():
    image = np.full((3, 2, 2), 7, np.uint8)
    joined = stacked([None, image])
    assert joined.dtype == np.uint8
    np.testing.assert_array_equal(joined[3:], image)
    assert not joined[:3].any()
