"""The rib phantom: reproducible, balanced, and different between scanners in appearance only."""

import dataclasses

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.ndimage import binary_dilation, gaussian_filter

from medldr.datasets import phantom_fracture
from medldr.datasets._phantoms import rib as _rib
from medldr.datasets._phantoms.rib import CLASSES, FIELD_MM, Fracture, Rib
from medldr.datasets._phantoms.scanner import SCANNERS, acquire
from medldr.datasets.phantom_fracture import Config, clean, load, plan, scan
from medldr.types import SPLITS

SIZE = 20


def phantom(**keys):
    return load(Config(name="phantom_fracture", **{"patients": 48, "size": SIZE, **keys}))


@pytest.fixture(scope="module")
def table():
    return phantom()


def scanner(name):
    return next(one for one in SCANNERS if one.name == name)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bits_and_another_seed_does_not(table):
    again, other = phantom(), phantom(phantom_seed=1)
    assert np.array_equal(table.images, again.images)
    assert np.array_equal(table.masks, again.masks)
    assert list(table.ids) == list(again.ids)
    assert list(table.labels) == list(again.labels)
    assert len(other) != len(table) or not np.array_equal(table.images, other.images)


def test_a_volume_depends_on_itself_alone_not_on_its_neighbours(table):
    item = plan(48)[-1]
    alone = scan(item, clean(item, SIZE))
    assert np.array_equal(alone, table.images[-1, 0])


def test_the_table_keeps_the_contract_of_a_dataset(table):
    n = len(table)
    assert table.images.shape == (n, 1, SIZE, SIZE, SIZE)
    assert table.images.dtype == np.uint8
    assert table.masks.shape == (n, SIZE, SIZE, SIZE)
    assert table.masks.dtype == bool
    assert table.labels.dtype == np.int64
    assert table.task == "multi-class"
    assert table.class_names == ("buckle", "nondisplaced", "displaced")
    assert len(set(table.ids)) == n
    assert set(table.splits) == {"train", "val", "test"} <= set(SPLITS)
    assert sorted(set(table.domains)) == ["scanner_a", "scanner_b", "scanner_c", "scanner_d"]
    assert all(id_.startswith(group) for id_, group in zip(table.ids, table.groups, strict=True))
    for texts in (table.ids, table.splits, table.domains, table.groups):
        assert texts.shape == (n,)
        assert texts.dtype.kind == "U"
    assert "simulated" in table.notes[0]


def test_every_patient_has_one_scanner_one_split_and_one_to_three_volumes():
    patients = {}
    for item in plan(500):
        patients.setdefault(item.patient, []).append(item)
    assert sorted(patients) == list(range(500))
    assert {len(items) for items in patients.values()} == {1, 2, 3}
    for items in patients.values():
        assert len({(item.scanner.name, item.split) for item in items}) == 1
        assert [item.volume for item in items] == list(range(len(items)))


@pytest.mark.parametrize(("patients", "seed"), [(16, 0), (48, 1), (500, 0)])
def test_classes_are_equally_frequent_in_every_scanner_and_split(patients, seed):
    items = plan(patients, seed)
    for one in SCANNERS:
        for split in ("train", "val", "test"):
            labels = [i.label for i in items if i.scanner is one and i.split == split]
            counts = np.bincount(labels, minlength=3)
            assert counts.sum() > 0
            assert counts.max() - counts.min() <= 1


def test_the_shares_of_the_splits_are_what_they_say():
    items = plan(500)
    for one in SCANNERS:
        patients = {i.patient: i.split for i in items if i.scanner is one}
        for split, share in phantom_fracture.SHARES.items():
            found = sum(value == split for value in patients.values()) / len(patients)
            assert found == pytest.approx(share, abs=0.01)


def test_volumes_of_a_patient_share_the_rib_but_not_the_fracture():
    items = [i for i in plan(48) if i.patient == plan(48)[-1].patient or i.patient < 12]
    several = [i for i in items if i.volume > 0]
    assert several
    for item in several:
        first = next(i for i in items if i.patient == item.patient and i.volume == 0)
        mine = [clean(i, SIZE, fractured=False).density for i in (first, item)]
        bone = [density > 700 for density in mine]  # above any texture of soft tissue
        assert (bone[0] == bone[1]).mean() > 0.99
        assert not np.array_equal(clean(first, SIZE).mask, clean(item, SIZE).mask)


@pytest.mark.parametrize("size", [8, 28])
def test_removing_the_fracture_changes_voxels_at_the_mask_and_nowhere_else(size):
    for item in plan(16):
        with_it, without = clean(item, size), clean(item, size, fractured=False)
        changed = with_it.density != without.density
        assert with_it.mask.any()
        assert not without.mask.any()
        assert changed.any()
        assert not (changed & ~binary_dilation(with_it.mask)).any()
        # What changed most is inside the mask, so the mask is not merely large.
        strength = np.abs(with_it.density - without.density)
        assert strength[with_it.mask].sum() > 0.8 * strength.sum()
        assert with_it.mask.mean() < 0.2


def test_masks_are_the_fractures_of_the_images(table):
    assert table.masks.reshape(len(table), -1).any(1).all()
    items = plan(48)
    for row in range(0, len(table), 7):
        assert np.array_equal(table.masks[row], clean(items[row], SIZE).mask)


def centred(kind, seed):
    """A straight, level rib with its fracture in the middle of the field."""
    rng = np.random.default_rng(seed)
    rib = dataclasses.replace(Rib.draw(rng), radius=5000.0, angles=(0.0, 0.0, 0.0), waviness=0.0)
    fracture = Fracture.draw(rng, kind)
    return rib, dataclasses.replace(fracture, place=0.0, slant=0.0)


def features(kind, seed, size=48):
    """Cortex lost in the fracture plane, and distance between the two sides' cross sections."""
    rib, fracture = centred(kind, seed)
    density = _rib.render(rib, fracture, size, np.random.default_rng(seed)).density
    whole = _rib.render(rib, None, size, np.random.default_rng(seed)).density
    middle = slice(size // 2 - 1, size // 2 + 1)  # axes: across, outwards, along
    bright = density[:, :, middle].clip(500).sum() - 500 * density[:, :, middle].size
    before = whole[:, :, middle].clip(500).sum() - 500 * whole[:, :, middle].size

    def centre(along):
        bone = density[:, :, along] > 150
        return np.array([axis.mean() for axis in np.nonzero(bone)]) * FIELD_MM / size

    sides = centre(size // 2 - 3), centre(size // 2 + 2)
    area = (density > 150).sum() / (whole > 150).sum()
    return 1 - bright / before, np.linalg.norm(sides[0] - sides[1]), area


@pytest.mark.parametrize("seed", [0, 1])
def test_the_classes_are_what_their_names_say(seed):
    lost, step, area = (
        dict(zip(CLASSES, values, strict=True))
        for values in zip(*(features(kind, seed) for kind in CLASSES), strict=True)
    )
    # A line through the rib takes the bright cortex out of its plane; a buckle does not.
    assert lost["buckle"] < 0.2
    assert lost["nondisplaced"] > 0.6
    assert lost["displaced"] > 0.6
    # Only displaced fragments stand offset.
    assert step["nondisplaced"] < 0.5
    assert step["buckle"] < 1.0
    assert step["displaced"] > 2.0
    # Only a buckle makes the bone bulge.
    assert area["buckle"] > 1.01
    assert area["nondisplaced"] < 1.0


def flat(size=28, density=300.0):
    return np.full((size, size, size), density, np.float32)


def noise_of(one, hu=300.0):
    rng = np.random.default_rng(0)
    grey = acquire(flat(density=hu), dataclasses.replace(one, bias=0.0), rng)
    return grey.astype(float) / 255 * one.width


def test_noise_has_the_stated_level_and_grows_from_scanner_a_to_d():
    levels = []
    for one in SCANNERS:
        thin = dataclasses.replace(one, slice_mm=FIELD_MM / 28)  # no averaging between slices
        levels.append(noise_of(thin).std())
        assert levels[-1] == pytest.approx(one.noise, rel=0.1)
    assert levels == sorted(levels)


def test_noise_is_more_correlated_where_the_grain_is_larger():
    def neighbours(one):
        noise = noise_of(one) - 300
        return np.corrcoef(noise[:, :, :-1].ravel(), noise[:, :, 1:].ravel())[0, 1]

    by_grain = sorted(SCANNERS, key=lambda one: one.grain)
    found = [neighbours(one) for one in by_grain]
    assert found == sorted(found)
    assert found[-1] - found[0] > 0.2


def quiet(name, **changes):
    keys = {"noise": 1e-3, "bias": 0.0, "width": 4000.0, "level": 300.0}
    return dataclasses.replace(scanner(name), **{**keys, **changes})


def edge(one, axis):
    """Largest step between neighbours across a flat edge, as part of the edge's height."""
    volume = flat(density=0.0)
    volume[(slice(None),) * axis + (slice(14, None),)] = 600.0
    grey = acquire(volume, one, np.random.default_rng(0)).astype(float) / 255 * one.width
    profile = np.moveaxis(grey, axis, 0)[:, 14, 14]
    return np.diff(profile).max() / 600, profile.max() - profile[-1]


def test_scanner_d_is_sharper_and_overshoots_where_the_soft_ones_do_not():
    steps = {one.name: edge(quiet(one.name, slice_mm=FIELD_MM / 28), axis=2) for one in SCANNERS}
    assert steps["scanner_d"][0] > steps["scanner_c"][0] > steps["scanner_a"][0]
    assert steps["scanner_a"][0] > steps["scanner_b"][0]
    assert steps["scanner_d"][1] > 60
    assert steps["scanner_a"][1] < 20
    assert steps["scanner_b"][1] < 20


def test_thicker_slices_blur_along_the_first_axis_only():
    for name in ("scanner_b", "scanner_c"):
        through, within = edge(quiet(name), 0)[0], edge(quiet(name), 2)[0]
        assert through < 0.9 * within
    loss = {n: edge(quiet(n), 0)[0] / edge(quiet(n), 2)[0] for n in ("scanner_b", "scanner_c")}
    assert loss["scanner_c"] < loss["scanner_b"]  # 4.0 mm against 3.2 mm


@pytest.mark.parametrize("one", SCANNERS, ids=lambda one: one.name)
def test_the_window_maps_its_ends_to_black_and_white(one):
    exact = dataclasses.replace(one, noise=1e-3, bias=0.0)
    for part, grey in ((-0.6, 0), (0.0, 127.5), (0.25, 191.25), (0.6, 255)):
        volume = flat(density=one.level + part * one.width)
        found = acquire(volume, exact, np.random.default_rng(0))
        assert np.abs(found.astype(float) - grey).max() <= 1


def test_shading_is_as_strong_as_stated():
    for one in SCANNERS:
        steady = dataclasses.replace(one, noise=1e-3, level=0.0, width=2000.0)
        grey = acquire(flat(density=0.0), steady, np.random.default_rng(3)).astype(float)
        hu = (grey / 255 - 0.5) * 2000
        largest = np.abs(hu).max() / 1000
        assert largest <= one.bias * np.sqrt(3) + 0.01  # a ramp's corners reach sqrt(3)
        assert largest >= one.bias * 0.9


def test_scanners_see_the_same_scene_and_their_pictures_differ():
    item = plan(16)[0]
    scene = clean(item, 28)
    pictures = [scan(item, scene, one).astype(float) for one in SCANNERS]
    for i, first in enumerate(pictures):
        for second in pictures[i + 1 :]:
            assert np.abs(first - second).mean() > 5
            smooth = [gaussian_filter(picture, 1.5).ravel() for picture in (first, second)]
            assert np.corrcoef(*smooth)[0, 1] > 0.8


def test_the_same_patient_is_the_same_rib_whatever_the_size():
    item = plan(16)[0]
    small, large = (clean(item, size, fractured=False).density for size in (12, 24))
    pooled = large.reshape(12, 2, 12, 2, 12, 2).mean((1, 3, 5))
    assert np.corrcoef(small.ravel(), pooled.ravel())[0, 1] > 0.97


def test_too_few_patients_or_voxels_are_refused():
    for keys in ({"patients": 3}, {"size": 4}, {"phantom_seed": -1}):
        with pytest.raises(ValidationError, match=next(iter(keys))):
            Config(name="phantom_fracture", **keys)
