"""The histology phantom: reproducible, labelled by its middle, different in appearance only."""

import csv
import dataclasses
import sys

import numpy as np
import pytest
from PIL import Image
from pydantic import ValidationError
from scipy.ndimage import label as components

from medldr.data import load_table
from medldr.datasets import camelyon17, phantom_histology
from medldr.datasets._camelyon17.wilds import installed
from medldr.datasets._phantoms.cells import Nuclei, Tissue, render
from medldr.datasets._phantoms.staining import HOSPITALS, Slide, photograph
from medldr.datasets._phantoms.tissue import FIELD_UM, Nest, Scene, Waves, grid, middle
from medldr.datasets.phantom_histology import Config, clean, load, plan, scan, split_of, write

SIZE = 32


def phantom(**keys):
    return load(Config(name="phantom_histology", **{"tiles": 4, "size": SIZE, **keys}))


@pytest.fixture(scope="module")
def table():
    return phantom()


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bits_and_another_seed_does_not(table):
    again, other = phantom(), phantom(phantom_seed=1)
    assert np.array_equal(table.images, again.images)
    assert np.array_equal(table.masks, again.masks)
    assert list(table.splits) == list(again.splits)
    assert not (table.images == other.images).all((1, 2, 3)).any()


def test_a_tile_depends_on_itself_alone_and_not_on_how_many_there_are(table):
    item = plan(40)[-37]  # the last slide's fourth tile
    assert np.array_equal(scan(item, clean(item, SIZE)), table.images[-1])
    kept = {i.name: split_of(i, "official") for i in plan(40)}
    names = zip(table.ids.tolist(), table.splits.tolist(), strict=True)
    assert all(kept[name] == split for name, split in names)


def test_no_two_tiles_are_equal(table):
    assert len({image.tobytes() for image in table.images}) == len(table)


def test_the_table_keeps_the_contract_of_a_dataset(table):
    n = 50 * 4
    assert table.images.shape == (n, 3, SIZE, SIZE)
    assert table.images.dtype == np.uint8
    assert table.masks.shape == (n, SIZE, SIZE)
    assert table.masks.dtype == bool
    assert table.labels.dtype == np.int64
    assert (table.task, table.class_names) == ("binary", ("normal", "tumor"))
    assert len(set(table.ids)) == n
    assert table.shared_groups == (("train", "id_val"),)
    assert "simulated" in table.notes[0]
    for texts in (table.ids, table.splits, table.domains, table.groups):
        assert texts.shape == (n,)
        assert texts.dtype.kind == "U"


def test_ten_slides_belong_to_each_hospital_and_classes_take_turns_in_each(table):
    for row in range(len(table)):
        slide = int(table.groups[row].removeprefix("slide_"))
        assert table.domains[row] == f"hospital_{slide // 10}"
    for slide in np.unique(table.groups):
        assert np.bincount(table.labels[table.groups == slide]).tolist() == [2, 2]
    assert len(np.unique(table.groups)) == 50


def splits(scheme, tiles=60):
    """Split of each item, computed again from hospital, slide and the drawn tenth."""
    return [(item, split_of(item, scheme)) for item in plan(tiles)]


def test_hospital_1_selects_hospital_2_tests_and_the_others_train():
    for item, split in splits("official"):
        hospital = item.slide // 10
        expected = {1: "val", 2: "test"}.get(hospital, "id_val" if item.drawn else "train")
        assert split == expected


def test_a_tenth_of_the_tiles_is_drawn_in_every_hospital():
    drawn = np.array([[item.drawn, item.hospital] for item, _ in splits("official")])
    for hospital in range(5):  # 600 tiles each: the standard deviation is 1.2 points
        assert drawn[drawn[:, 1] == hospital, 0].mean() == pytest.approx(0.1, abs=0.045)
    assert drawn[:, 0].mean() == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize(
    ("scheme", "moved"), [("mixed-to-test", {23}), ("every-hospital", {*range(11, 30, 2)})]
)
def test_other_schemes_move_whole_slides_to_training_and_nothing_else(scheme, moved):
    changed = {
        item.slide
        for (item, split), (_, official) in zip(
            splits(scheme, 4), splits("official", 4), strict=True
        )
        if split != official
    }
    assert changed == moved
    tested = {item.slide for item, split in splits(scheme, 4) if split in ("val", "test")}
    assert tested == {*range(10, 30)} - moved


@pytest.mark.parametrize("size", [32, 96])
def test_a_tile_is_tumor_exactly_if_its_central_third_holds_some(size):
    line = (np.arange(size) + 0.5) * 96 / size
    central = (line > 32) & (line < 64)
    for item in plan(8)[::3]:
        tumour = clean(item, size).tumour[np.ix_(central, central)]
        assert tumour.any() == (item.label == 1)


def test_some_normal_tiles_have_tumour_in_the_border(table):
    border = table.masks[table.labels == 0].any((1, 2)).mean()
    assert border == pytest.approx(1 / 3, abs=0.12)


def test_nests_keep_their_distance_or_reach_in_by_a_clear_margin():
    line, square = grid(96), middle(96)
    for seed in range(100):
        depth = {
            central: Nest.draw(np.random.default_rng(seed), central=central).depth(
                line[:, None], line
            )
            for central in (False, True)
        }
        assert depth[True][square].max() > 1.0
        distance = np.hypot(*np.maximum(np.abs(np.meshgrid(line, line)) - 16, 0))
        assert distance[depth[False] > 0].min(initial=99) > 3.5
        assert (depth[False] > 0).any()  # and is seen at all


def test_taking_the_nest_out_changes_its_place_and_little_else():
    for item in plan(12)[1::24]:
        with_it, without = clean(item, 96), clean(item, 96, nested=False)
        assert with_it.tumour.any()
        assert not without.tumour.any()
        inside = np.abs(with_it.eosin - without.eosin)[with_it.tumour].mean()
        far = Nest.depth(nest_of(item), grid(96)[:, None], grid(96)) < -8
        assert inside > 0.1
        if far.any():  # stroma stays, normal nuclei are drawn again
            same = np.isclose(with_it.eosin, without.eosin, atol=1e-9)[far].mean()
            assert same > 0.5


def nest_of(item):
    rng = item.stream(phantom_histology._NEST)
    return Nest.draw(rng, central=item.label == 1)


def nuclei_of(item, size=192):
    """Areas (um^2) and number of dark connected spots, in a tumour tile's nest and outside it."""
    scene = clean(item, size)
    spots, count = components(scene.haematoxylin > 0.55)
    areas = np.bincount(spots.ravel(), minlength=count + 1) * (FIELD_UM / size) ** 2
    inside = np.bincount(spots[scene.tumour], minlength=count + 1)[1:] > 0
    return areas[1:], inside, scene.tumour.mean() * FIELD_UM**2


def test_tumour_nuclei_are_larger_and_nests_are_crowded():
    inside, outside = [], []
    for item in plan(4)[1::8]:
        areas, nested, _ = nuclei_of(item)
        inside += areas[nested].tolist()
        outside += areas[~nested].tolist()
    assert np.median(inside) > 1.3 * np.median(outside)


def one_nucleus(y, x, a, b, lobes=0.0, turn=0.0):
    column = np.array([1.0])
    return Nuclei(
        np.array([[y, x]]), np.array([[a, b]]), turn * column, lobes * column, column, 0 * column
    )


@pytest.mark.parametrize("size", [48, 240])
@pytest.mark.parametrize("turn", [0.0, 0.7])
def test_a_nucleus_is_an_ellipse_of_its_axes_where_it_lies(size, turn):
    density = one_nucleus(-10.0, 20.0, 8.0, 4.0, turn=turn).density(size)
    pixel = FIELD_UM / size
    assert density.sum() * pixel**2 == pytest.approx(np.pi * 8 * 4, rel=0.06)
    line = (np.arange(size) + 0.5) * pixel - FIELD_UM / 2
    weights = density / density.sum()
    assert weights.sum(1) @ line == pytest.approx(-10, abs=0.1)
    assert weights.sum(0) @ line == pytest.approx(20, abs=0.1)
    y, x = np.meshgrid(line + 10, line - 20, indexing="ij")
    long = (weights * (x * np.cos(turn) + y * np.sin(turn)) ** 2).sum()
    assert long == pytest.approx(8**2 / 4, rel=0.1)  # second moment of an ellipse


def test_a_grid_of_waves_is_the_sum_of_its_waves():
    waves = Waves.draw(np.random.default_rng(0), (5, 12), along=0.3)
    line = grid(9)
    points = np.stack(np.meshgrid(line, line, indexing="ij"), -1).reshape(-1, 2)
    expected = np.array(
        [
            sum(
                np.cos(k @ point + phase)
                for k, phase in zip(waves.vectors, waves.phases, strict=True)
            )
            for point in points
        ]
    ) * np.sqrt(2 / len(waves.phases))
    np.testing.assert_allclose(waves.on(line).ravel(), expected, atol=1e-12)
    np.testing.assert_allclose(waves.at(points), expected, atol=1e-12)


def test_the_same_tile_is_the_same_tissue_whatever_the_size():
    for item in plan(2)[:6]:
        small, large = clean(item, 48), clean(item, 192)
        for name in ("haematoxylin", "eosin"):
            pooled = getattr(large, name).reshape(48, 4, 48, 4).mean((1, 3))
            assert np.corrcoef(getattr(small, name).ravel(), pooled.ravel())[0, 1] > 0.97


def plain(hospital, **changes):
    """A hospital without noise, blur or rounding of colours."""
    return dataclasses.replace(hospital, **{"noise": 0.0, "blur": 0.0, "chroma": 0, **changes})


def flat(haematoxylin, eosin, size=8):
    shape = (size, size)
    return Scene(np.full(shape, haematoxylin), np.full(shape, eosin), np.zeros(shape, bool))


@pytest.mark.parametrize("hospital", HOSPITALS, ids=lambda one: one.name)
@pytest.mark.parametrize(("h", "e"), [(0.0, 0.0), (1.0, 0.3), (0.1, 1.0)])
def test_a_colour_is_light_through_two_dyes_with_stray_light_and_a_tone_curve(hospital, h, e):
    slide = Slide.draw(hospital, np.random.default_rng(1))
    slide = dataclasses.replace(slide, hospital=plain(hospital))
    found = photograph(flat(h, e), slide, np.random.default_rng(0))
    for channel in range(3):
        light = np.exp(-(h * slide.dyes[0, channel] + e * slide.dyes[1, channel]))
        light = (light + hospital.glare) / (1 + hospital.glare)
        expected = 255 * slide.white[channel] * light**hospital.gamma
        assert np.abs(found[channel] - expected).max() <= 0.5 + 1e-9


def test_noise_blur_and_rounding_of_colours_are_as_stated():
    base = plain(HOSPITALS[4], glare=0.0, gamma=1.0)
    noisy = Slide.draw(dataclasses.replace(base, noise=4.0), np.random.default_rng(0))
    grey = photograph(flat(0.3, 0.3, 96), noisy, np.random.default_rng(0)).astype(float)
    assert grey.std(axis=(1, 2)) == pytest.approx(4.0, rel=0.05)

    scene = flat(0.0, 0.0, 96)
    scene.haematoxylin[:, 48:] = 0.05  # thin, so light and density are proportional
    blurred = Slide.draw(dataclasses.replace(base, blur=3.0), np.random.default_rng(0))
    row = -np.log(photograph(scene, blurred, np.random.default_rng(0))[0, 48] / 255.0)
    rise = (row - row[0]) / (row[-1] - row[0])
    width = np.interp(0.84, rise[40:56], np.arange(40, 56)) - np.interp(
        0.5, rise[40:56], range(40, 56)
    )
    assert width == pytest.approx(3.0, abs=1.0)  # one sigma of a Gaussian edge

    rounded = Slide.draw(dataclasses.replace(base, chroma=8), np.random.default_rng(0))
    found = photograph(flat(0.4, 0.4), rounded, np.random.default_rng(0)).astype(float)[:, 0, 0]
    assert np.all(np.abs((found[0] - found[1]) % 8 - [0, 8]).min() <= 1)


def test_hospitals_show_the_same_tissue_in_different_colours():
    for item in plan(2)[:3]:
        scene = clean(item, 48)
        pictures = [scan(item, scene, hospital).astype(float) for hospital in HOSPITALS]
        for number, first in enumerate(pictures):
            for second in pictures[number + 1 :]:
                assert np.abs(first.mean((1, 2)) - second.mean((1, 2))).max() > 3
                grey = [picture.mean(0).ravel() for picture in (first, second)]
                assert np.corrcoef(*grey)[0, 1] > 0.85


def test_no_scaling_in_one_basis_of_stains_turns_a_hospital_into_another():
    # Were the hospitals made by scaling and shifting haematoxylin, eosin and residual of one fixed
    # basis, each of the three would be an affine function of itself, with nothing left over.
    basis = np.array([[0.65, 0.70, 0.29], [0.07, 0.99, 0.11], [0.27, 0.57, 0.78]])
    rng = np.random.default_rng(0)
    stains = []
    for hospital in (HOSPITALS[0], HOSPITALS[2]):
        slide = dataclasses.replace(Slide.draw(hospital, np.random.default_rng(0)))
        slide = dataclasses.replace(slide, hospital=plain(hospital))
        scene = Scene(*np.random.default_rng(1).uniform(0, 1, (2, 32, 32)), np.zeros((32, 32)))
        colours = photograph(scene, slide, rng).reshape(3, -1).T
        stains.append(-np.log((colours + 1.0) / 256) @ np.linalg.inv(basis))
    left = []
    for one, other in zip(stains[0].T, stains[1].T, strict=True):
        fit = np.polyval(np.polyfit(one, other, 1), one)
        left.append(np.std(other - fit) / np.std(other))
    assert max(left) > 0.3


def test_a_written_folder_holds_the_same_pixels_and_facts(tmp_path):
    config = Config(name="phantom_histology", tiles=2, size=32)
    root = write(config, tmp_path)
    assert root == tmp_path / "camelyon17_v1.0"
    assert (root / "RELEASE_v1.0.txt").is_file()
    with (root / "metadata.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    columns = ["", "patient", "node", "x_coord", "y_coord", "tumor", "slide", "center", "split"]
    assert list(rows[0]) == columns
    table = load(config)
    assert len(rows) == len(table) == len(list(root.rglob("*.png")))
    for number, (row, item) in enumerate(zip(rows, plan(2), strict=True)):
        stem = f"patient_{row['patient']}_node_{row['node']}"
        name = f"patch_{stem}_x_{row['x_coord']}_y_{row['y_coord']}"
        with Image.open(root / "patches" / stem / f"{name}.png") as picture:
            assert picture.mode == "RGBA"
            pixels = np.asarray(picture)
        assert np.array_equal(pixels[..., :3].transpose(2, 0, 1), table.images[number])
        assert (pixels[..., 3] == 255).all()
        assert name == table.ids[number]
        assert len(row["patient"]) == 3
        facts = [int(row[key]) for key in ("", "tumor", "slide", "center", "split")]
        assert facts == [number, item.label, item.slide, item.slide // 10, int(item.drawn)]


@pytest.mark.slow  # writes 200 large tiles
def test_the_reader_of_camelyon17_reads_the_written_folder_as_the_same_table(tmp_path):
    if not installed():
        pytest.skip("the package wilds is not installed")
    config = Config(name="phantom_histology", tiles=4, size=96)
    write(config, tmp_path)
    one, other = load(config), load_table(camelyon17.Config(root=tmp_path))
    assert set(other.splits) == {"train", "id_val", "val", "test"}
    for column in ("ids", "labels", "splits", "domains", "groups"):
        assert np.array_equal(getattr(one, column), getattr(other, column)), column
    assert np.array_equal(one.images, other.images[:])
    assert one.class_names == other.class_names


@pytest.mark.slow
def test_the_folder_can_be_written_from_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["phantom_histology", str(tmp_path), "--tiles", "2"])
    phantom_histology.main()
    assert capsys.readouterr().out.strip() == str(tmp_path / "camelyon17_v1.0")
    assert len(list(tmp_path.rglob("*.png"))) == 100


def test_a_tile_without_a_nest_has_no_tumour():
    streams = [np.random.default_rng(n) for n in range(2)]
    scene = render(Tissue.draw(*streams, nest=None), 40)
    assert not scene.tumour.any()
    assert scene.haematoxylin.min() >= 0
    assert scene.eosin.min() >= 0


def test_a_nucleus_across_the_edge_is_cut_there():
    whole = one_nucleus(0.0, 0.0, 5.0, 5.0).density(96).sum()
    cut = one_nucleus(0.0, 48.0, 5.0, 5.0).density(96)
    assert cut.sum() == pytest.approx(whole / 2, rel=0.02)
    assert one_nucleus(55.9, -55.9, 5.0, 5.0).density(96).sum() == 0


def test_lobes_make_the_outline_irregular_and_keep_its_area():
    smooth, lobed = (one_nucleus(0, 0, 6.0, 6.0, lobes).density(192) for lobes in (0.0, 0.2))
    assert lobed.sum() == pytest.approx(smooth.sum(), rel=0.04)
    assert np.abs(lobed - smooth).sum() > 0.1 * smooth.sum()


def test_waves_have_mean_0_and_deviation_1():
    rng = np.random.default_rng(0)
    values = np.stack([Waves.draw(rng, (5, 12)).on(grid(48)) for _ in range(40)])
    assert values.mean() == pytest.approx(0, abs=0.03)
    assert values.std() == pytest.approx(1, abs=0.05)


def test_slides_vary_a_little_around_their_hospital():
    for hospital in HOSPITALS:
        slides = [Slide.draw(hospital, np.random.default_rng(n)) for n in range(200)]
        lengths = np.linalg.norm([slide.dyes for slide in slides], axis=2)
        middle_of = np.exp(np.log(lengths).mean(0))
        np.testing.assert_allclose(middle_of, hospital.strengths, rtol=0.03)
        np.testing.assert_allclose(np.log(lengths).std(0), 0.1, rtol=0.2)
        white = np.array([slide.white for slide in slides])
        np.testing.assert_allclose(white.mean(0), hospital.white, rtol=0.005)


def test_too_few_tiles_or_pixels_are_refused():
    for keys in ({"tiles": 1}, {"size": 31}, {"phantom_seed": -1}, {"split_scheme": "mixed"}):
        with pytest.raises(ValidationError, match=next(iter(keys))):
            Config(name="phantom_histology", **keys)
