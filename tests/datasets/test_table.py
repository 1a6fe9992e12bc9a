"""Own scans from a table or folders: rows, rules, notes, and what is kept between runs."""

import csv
import shutil

import nibabel
import numpy as np
import pytest
from PIL import Image

from medldr.config import load_config
from medldr.data import build_data
from medldr.datasets.table import Config, load, present, require
from medldr.errors import InputError

CLASSES = ("benign", "malignant")
HOSPITALS = ("north", "south")


def contract_files(root, request):
    """A tree of volumes of two hospitals and two classes."""
    random = np.random.default_rng(0)
    for hospital in HOSPITALS:
        for name in CLASSES:
            folder = root / hospital / name
            folder.mkdir(parents=True)
            for number in range(12):
                values = random.integers(0, 256, (9, 8, 7), dtype=np.uint8)
                np.save(folder / f"{number}.npy", values)


@pytest.fixture
def scans(tmp_path):
    """A CSV of 16 NIfTI volumes of eight patients in two hospitals, and its folder."""
    random = np.random.default_rng(0)
    rows = []
    for number in range(16):
        values = random.normal(100 * (number % 2), 20, (6, 7, 8)).astype(np.float32)
        name = f"scan_{number:02}.nii.gz"
        affine = np.diag([1.0, 1.0, 2.0, 1.0])
        nibabel.save(nibabel.Nifti1Image(values, affine), tmp_path / name)
        rows.append(
            {
                "path": name,
                "label": CLASSES[number % 2],
                "hospital": HOSPITALS[number // 8],
                "patient": f"P{number // 2:03}",
                "sex": "fm"[number // 2 % 2],
            }
        )
    _write(tmp_path / "wrists.csv", rows)
    return tmp_path


def _write(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def _config(folder, **keys):
    named = {"domain": "hospital", "group": "patient", "columns": ["sex"]}
    return Config(name="table", file=folder / "wrists.csv", **{**named, **keys})


def test_columns_become_labels_domains_groups_and_metadata(scans):
    table = load(_config(scans))
    assert table.name == "wrists"
    assert table.class_names == CLASSES
    assert table.labels.tolist() == [0, 1] * 8
    assert table.domains.tolist() == ["north"] * 8 + ["south"] * 8
    assert table.groups[:3].tolist() == ["P000", "P000", "P001"]
    assert table.metadata["sex"][:4].tolist() == ["f", "f", "m", "m"]
    assert table.ids[0] == "scan_00.nii.gz"
    assert table.images.shape == (16, 1, 6, 7, 8)
    assert table.images.dtype == np.float32
    assert table.facts[0].spacing == (1.0, 1.0, 2.0)


def test_images_are_the_percentiles_of_each_volume(scans):
    table = load(_config(scans))
    values = nibabel.load(scans / "scan_03.nii.gz").get_fdata()
    low, high = np.percentile(values, (0.5, 99.5))
    expected = np.clip((values - low) / (high - low), 0, 1)
    np.testing.assert_allclose(table.images[3, 0], expected, atol=1e-6)


def test_images_are_the_same_wherever_they_are_kept(scans):
    reference = load(_config(scans, cache="off", size=5))
    for cache in ("disk", "memory"):
        table = load(_config(scans, cache=cache, size=5))
        np.testing.assert_array_equal(table.images[:], reference.images[:])
        assert table.hashes == reference.hashes


def test_kept_images_are_those_of_the_files_and_keys_there_are_now(scans):
    before = load(_config(scans, size=5))
    other = load(_config(scans, size=6))
    assert other.images.shape[2:] == (6, 6, 6)
    shutil.copy(scans / "scan_01.nii.gz", scans / "scan_00.nii.gz")
    after = load(_config(scans, size=5))
    np.testing.assert_array_equal(after.images[0], before.images[1])
    assert after.hashes != before.hashes


def test_every_broken_file_is_named_before_anything_is_made(scans):
    (scans / "scan_04.nii.gz").write_bytes((scans / "scan_04.nii.gz").read_bytes()[:200])
    (scans / "scan_05.nii.gz").write_bytes(b"")
    with pytest.raises(InputError) as refused:
        load(_config(scans))
    for word in ("2 of 16", "scan_04.nii.gz", "scan_05.nii.gz", "data.on_bad_file=skip"):
        assert word in str(refused.value)
    table = load(_config(scans, on_bad_file="skip"))
    assert len(table) == 14
    assert [file.path for file in table.bad_files] == ["scan_04.nii.gz", "scan_05.nii.gz"]
    assert any("2 of 16 items were left out" in note for note in table.notes)


def test_a_spacing_keeps_mm_and_pads(scans):
    table = load(_config(scans, spacing=1, size=16, cache="memory"))
    assert table.images.shape == (16, 1, 16, 16, 16)
    assert (table.images[0, 0, 8, 8] != 0).sum() == 16  # 8 slices of 2 mm
    assert (table.images[0, 0, :, 8, 8] != 0).sum() <= 6


def test_pictures_of_8_bits_stay_8_bits(tmp_path):
    random = np.random.default_rng(0)
    rows = []
    for number in range(6):
        pixels = random.integers(0, 256, (10, 12, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / f"{number}.png")
        rows.append({"path": f"{number}.png", "label": CLASSES[number % 2]})
    _write(tmp_path / "wrists.csv", rows)
    table = load(Config(name="table", file=tmp_path / "wrists.csv"))
    assert table.images.dtype == np.uint8
    np.testing.assert_array_equal(table.images[5], pixels.transpose(2, 0, 1))


def test_twelve_bits_in_files_of_sixteen_are_scaled_by_the_whole_set(tmp_path):
    rows = []
    for number, top in enumerate((4095, 100)):
        ramp = np.linspace(0, top, 64).astype(np.uint16).reshape(8, 8)
        Image.fromarray(ramp).save(tmp_path / f"{number}.png")
        rows.append({"path": f"{number}.png", "label": CLASSES[number]})
    _write(tmp_path / "wrists.csv", rows)
    table = load(Config(name="table", file=tmp_path / "wrists.csv"))
    assert table.images.max() == 1
    assert table.images[1].max() == pytest.approx(100 / 4095)
    assert any("12-bit" in note for note in table.notes)


def test_a_run_can_be_built_on_it_and_its_rules_are_in_the_notes(scans):
    source = {
        "data": {"name": "table", "file": str(scans / "wrists.csv"), "held_out": ["south"]},
        "transform": "scan",
        "model": {"name": "resnet18", "stem": "small", "width": 0.125},
        "algorithm": "erm",
    }
    config = load_config(source, ["data.domain=hospital", "data.group=patient", "seed=1"])
    data = build_data(config)
    batch = next(iter(data.eval_loader("test", config, device="cpu")))
    assert batch.image.shape[1:] == (1, 6, 7, 8)
    assert batch.image.min() >= -1
    assert batch.image.max() <= 1
    assert data.spec.task == "binary"
    assert any("percentile" in note for note in data.notes)


def test_presence_is_told_and_absence_refused_without_reading_a_scan(scans):
    config = _config(scans)
    assert "in " in present(config)
    require(config)
    with pytest.raises(InputError, match=r"no domain 'sooth'.*south"):
        require(_config(scans, held_out=("sooth",)))
    for path in scans.glob("*.nii.gz"):
        path.write_bytes(b"broken")
    require(config)


def test_groups_come_from_a_column_or_a_pattern_but_not_both(scans):
    table = load(_config(scans, group=None, group_pattern=r"scan_(\d)"))
    assert table.groups[[0, 15]].tolist() == ["0", "1"]
    with pytest.raises(ValueError, match="set one"):
        _config(scans, group_pattern=r"scan_(\d)")


@pytest.mark.parametrize("folders", [["domain"], ["label", "label"], ["label", "hospital"]])
def test_levels_without_a_label_or_twice_are_refused(tmp_path, folders):
    with pytest.raises(ValueError, match="folders"):
        Config(name="table", root=tmp_path, folders=folders)


def test_a_cut_around_a_point_is_part_of_the_volume(scans):
    with (scans / "wrists.csv").open() as file:
        rows = list(csv.DictReader(file))
    _write(scans / "wrists.csv", [{**row, "x": "2", "y": "3", "z": "4"} for row in rows])
    crop = {"point": ["x", "y", "z"], "size": [3, 3, 4], "unit": "mm"}
    table = load(_config(scans, crop=crop, size=(3, 3, 2), window=(0.0, 200.0), cache="off"))
    values = nibabel.load(scans / "scan_00.nii.gz").get_fdata()[1:4, 2:5, 4:6]
    np.testing.assert_allclose(table.images[0][0], np.clip(values / 200, 0, 1), atol=1e-6)
