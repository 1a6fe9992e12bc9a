"""A bundle's two files, and what it says that it cannot do."""

import json

import pytest

from medldr.data.files.config import CropConfig
from medldr.errors import InputError
from medldr.exporting.bundle import inference, metadata
from medldr.exporting.bundle_reading import reading_steps
from medldr.exporting.card import Card
from medldr.folders.preprocessing_record import Training

TENSOR = {"type", "format", "num_channels", "spatial_shape", "dtype", "value_range"}
REQUIRED = {
    *("schema", "version", "monai_version", "pytorch_version", "numpy_version", "task"),
    *("required_packages_version", "description", "authors", "copyright", "network_data_format"),
}
"""By MONAI's schema of 25 July 2024."""


def read_as(record_of, rules, size, channels, dtype, **keys):
    made = rules(size, channels, dtype, **keys)
    reading = {"kind": "scan", **made.as_dict()}
    return record_of(channels, size, dtype=dtype, reading=json.loads(json.dumps(reading)))


def test_metadata_hold_what_the_schema_requires(record_of):
    record = record_of(3, (28, 20), class_names=("a", "b", "c, d"))
    steps = reading_steps(record)
    said = metadata(record, steps, Card("x", "0" * 64), steps.limits)
    assert set(said) >= REQUIRED
    assert all(isinstance(said[key], str) for key in ("task", "description", "authors", "version"))
    assert all(isinstance(v, str) for v in said["required_packages_version"].values())
    network = said["network_data_format"]
    for tensor in (*network["inputs"].values(), *network["outputs"].values()):
        assert set(tensor) >= TENSOR
    image = network["inputs"]["image"]
    assert (image["num_channels"], image["spatial_shape"]) == (3, [28, 20])
    assert image["value_range"] == [0, 255]
    assert network["outputs"]["pred"]["channel_def"] == {"0": "a", "1": "b", "2": "c, d"}
    assert said["preprocessing"] == record.model_dump(mode="json", by_alias=True)
    json.dumps(said, allow_nan=False)


def test_the_table_names_its_columns_as_csv_does(record_of):
    record = record_of(1, (8, 8), class_names=("$a", "b, c", 'd"e'))
    said = inference(record, reading_steps(record))
    assert said["header"] == 'file,$a,"b, c","d""e"\n'
    json.dumps(said)


@pytest.mark.parametrize(
    ("size", "dtype", "keys", "limit"),
    [
        ((8, 8, 8), "float32", {}, "NIfTI files alone are read"),
        ((8, 8, 8), "float32", {"spacing": (1.0, 1.0, 2.0)}, "read as mm"),
        ((8, 8), "uint8", {}, "not blended on white"),
        ((8, 8), "uint8", {"ground": "black"}, "not blended on black"),
    ],
)
def test_what_a_bundle_reads_otherwise_is_a_limit(record_of, rules, size, dtype, keys, limit):
    steps = reading_steps(read_as(record_of, rules, size, 1, dtype, **keys))
    assert sum(limit in said for said in steps.limits) == 1


@pytest.mark.parametrize(
    ("size", "keys"),
    [
        ((8, 8, 8), {"window": "file"}),
        ((8, 8, 8), {"crop": CropConfig(mask="m")}),
        ((8, 8), {}),
    ],
)
def test_what_monai_cannot_read_alike_is_refused(record_of, rules, size, keys):
    with pytest.raises(InputError, match=r"reading: .*format=onnx or torch"):
        reading_steps(read_as(record_of, rules, size, 1, "float32", **keys))


@pytest.mark.parametrize(("window", "told"), [("auto", True), ("ct", False)])
def test_ct_in_dicom_and_in_nifti_are_told_apart(record_of, rules, window, told):
    record = read_as(record_of, rules, (8, 8, 8), 1, "float32", window=window)
    record = record.model_copy(update={"training": Training(modalities=("CT",))})
    limits = reading_steps(record).limits
    assert any("train with data.window=ct" in limit for limit in limits) == told


def test_other_pictures_have_their_limits(record_of):
    own = {"kind": "own picture", "ground": "black", "exif": False, "depth": 8}
    steps = reading_steps(record_of(3, (8, 6), reading=own))
    assert [limit[:30] for limit in steps.limits] == [
        "Transparent pixels are not ble",
        "Only pictures of 8 bits are re",
    ]
    assert "exif" not in str(steps.transforms)
    assert ".resize((6, 8)" in str(steps.transforms)
    assert len(reading_steps(record_of(3, (8, 6), reading={"kind": "picture"})).limits) == 1


@pytest.mark.parametrize(
    ("reading", "message"),
    [
        ({"kind": "pack"}, r"'kind': 'pack'.* format=onnx or torch"),
        ({}, r"reading: \{\} cannot"),
        (
            {"kind": "scan", "dims": 3},
            r"reading\.channels: Field required\. Write it",
        ),
    ],
)
def test_a_bundle_needs_to_know_how_files_are_read(record_of, reading, message):
    with pytest.raises(InputError, match=message):
        reading_steps(record_of(1, (8, 8), reading=reading))
