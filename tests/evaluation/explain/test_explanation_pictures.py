"""What a clinician sees of a heat map: which side is where, how large, how strong."""

import warnings

import numpy as np
import pytest

from medldr import offline
from medldr.errors import InputError
from medldr.evaluation.explain.explanation_pictures import GAP, OPACITY, explanation


def pixels(picture):
    return np.asarray(picture).astype(int)


def test_a_picture_lies_beside_itself_under_its_heat():
    rng = np.random.default_rng(0)
    shown, heat = rng.random((3, 28, 20)), np.zeros((28, 20), np.float32)
    heat[20:24, 3:6] = 1
    found = pixels(explanation(shown, heat))
    assert found.shape == (280, 2 * 200 + GAP, 3)
    plain, warm = found[:, :200], found[:, 200 + GAP :]
    large = np.rint(255 * shown.transpose(1, 2, 0)).repeat(10, 0).repeat(10, 1)
    np.testing.assert_array_equal(plain, large)
    assert (found[:, 200 : 200 + GAP] == 0).all()
    np.testing.assert_array_equal(warm[:190], plain[:190])
    np.testing.assert_array_equal(warm[:, 70:], plain[:, 70:])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        blend = offline.load("monai.visualize").blend_images
    inner = np.s_[:, 210:230, 40:50]  # where the smoothed heat is one
    theirs = blend(
        large.transpose(2, 0, 1)[inner] / 255,
        np.ones((1, 20, 10)),
        np.full((1, 20, 10), OPACITY),
        "inferno",
        rescale_arrays=False,
    )
    np.testing.assert_allclose(warm.transpose(2, 0, 1)[inner], 255 * theirs, atol=0.51)


def test_heat_covers_more_the_stronger_it_is_and_bytes_are_floats():
    grey = np.full((1, 256, 256), 51, np.uint8)
    heat = np.linspace(0, 1, 256, dtype=np.float32)[None].repeat(256, 0)
    found = pixels(explanation(grey, heat))
    np.testing.assert_array_equal(found, pixels(explanation(grey / 255, heat)))
    assert (found[:, :256] == 51).all()
    assert (found[:, 256 + GAP] == 51).all()
    change = np.abs(found[0, 256 + GAP :] - 51).sum(1)
    assert change[255] > change[192] > change[128] > change[64] > 0


def test_large_pictures_shrink_and_other_channels_show_the_first():
    large = explanation(np.ones((2, 1024, 600)), np.zeros((1024, 600)), (0.5, 1.0))
    assert large.size == (2 * 512 + GAP, 437)
    assert (pixels(large)[:, :512] == 255).all()


def test_planes_follow_the_radiological_convention():
    """A volume of 8 x 8 x 8: the hottest voxel, and one bright neighbour on each side of it."""
    shape = (8, 8, 8)
    hot = (5, 2, 6)  # towards the right, the back and the head
    heat = np.zeros(shape, np.float32)
    heat[hot] = 1
    marks = {"right": (7, 2, 6), "front": (5, 7, 6), "foot": (5, 2, 0)}
    places = {  # in voxels of the plane: row from the top, column from the left
        "right": {"axial": (5, 0), "coronal": (1, 0)},
        "front": {"axial": (0, 2), "sagittal": (1, 0)},
        "foot": {"coronal": (7, 2), "sagittal": (7, 5)},
    }
    for mark, at in marks.items():
        shown = np.zeros((1, *shape))
        shown[0][at] = 1
        found = pixels(explanation(shown, heat))
        assert found.shape == (2 * 256 + GAP, 3 * 256 + 2 * GAP, 3)
        for column, plane in enumerate(("axial", "coronal", "sagittal")):
            left = column * (256 + GAP)
            drawn = found[16:256:32, left + 16 : left + 256 : 32, 0]
            expected = [places[mark][plane]] if plane in places[mark] else []
            assert list(zip(*np.nonzero(drawn), strict=True)) == expected, (mark, plane)
    warm = found[256 + GAP :]
    for column, (row, across) in enumerate([(5, 2), (1, 2), (1, 5)]):
        left = column * (256 + GAP)
        light = warm[16::32, left + 16 : left + 256 : 32].sum(2).astype(float)
        light[7] = 0  # the foot
        assert np.unravel_index(light.argmax(), (8, 8)) == (row, across)


def test_voxels_keep_their_proportions_and_cold_volumes_show_the_middle():
    """6 x 8 x 4 voxels of 2 x 1 x 3 mm are 12 x 8 x 12 mm, drawn with 256 / 12 pixels a mm."""
    shown = np.zeros((1, 6, 8, 4))
    shown[0, 3, 4, 2] = 1
    found = pixels(explanation(shown, np.zeros((6, 8, 4)), (2.0, 1.0, 3.0)))
    y = round(8 * 256 / 12)
    assert found.shape == (2 * 256 + GAP, 2 * 256 + y + 2 * GAP, 3)
    starts = (0, 256 + GAP, 2 * (256 + GAP))
    drawn = {  # plane: how large it is, how large a voxel is, and where the bright one begins, mm
        "axial": ((y, 256), (1, 2), (3, 4)),
        "coronal": ((256, 256), (3, 2), (3, 4)),
        "sagittal": ((256, y), (3, 1), (3, 3)),
    }
    for left, (plane, (size, voxel, begin)) in zip(starts, drawn.items(), strict=True):
        part = found[:256, left : left + size[1], 0]
        rows, columns = np.nonzero(part)
        top = (256 - size[0]) / 2  # in the middle of its cell
        for at, length, start, skipped in (
            (rows, voxel[0], begin[0], top),
            (columns, voxel[1], begin[1], 0),
        ):
            edges = (at.min() - skipped, at.max() + 1 - skipped)
            expected = np.array([start, start + length]) * 256 / 12
            np.testing.assert_allclose(edges, expected, atol=1.01, err_msg=plane)


@pytest.mark.parametrize(
    ("shape", "heat", "spacing", "says"),
    [
        ((1, 8, 8), (8, 7), None, "needs an image"),
        ((8, 8), (8, 8), None, "needs an image"),
        ((1, 8), (8,), None, "needs an image"),
        ((1, 8, 0), (8, 0), None, "needs an image"),
        ((1, 8, 8), (8, 8), (1.0,), "spacing must be 2 lengths"),
        ((1, 8, 8), (8, 8), (1.0, 0.0), "spacing must be 2 lengths"),
        ((1, 8, 8), (8, 8), (np.nan, 1.0), "spacing must be 2 lengths"),
    ],
)
def test_what_does_not_fit_together_is_refused(shape, heat, spacing, says):
    with pytest.raises(InputError, match=says):
        explanation(np.zeros(shape), np.zeros(heat), spacing)
    for bad in (np.nan, np.inf):
        with pytest.raises(InputError, match="the heat map holds NaN or infinity"):
            explanation(np.zeros((1, 4, 4)), np.full((4, 4), bad))
