"""Windows, percentiles and bits against NumPy by hand."""

import numpy as np
import pytest

from medldr.data.files.intensity import WINDOWS, rule_name, to_unit, value_range
from medldr.data.files.scan import Scan, ScanError


@pytest.fixture
def ct():
    values = np.array([[[-2000, -1000], [0, 300]]], np.int16)
    return Scan(values, "dicom", "int16", modality="CT", window=(-50.0, 150.0))


def _unsigned(values, bits, kind="picture"):
    return Scan(np.asarray(values, np.uint16).reshape(1, 1, -1), kind, "grey", bits=bits)


@pytest.mark.parametrize("name", ["ct", "bone", "lung", "soft_tissue", "brain"])
def test_a_named_window_is_in_hounsfield_units(ct, rules, name):
    low, high = WINDOWS[name]
    assert value_range(ct, rules(window=name)) == (low, high)
    found = to_unit(ct.values, low, high)
    expected = np.clip((ct.values.astype(np.float64) - low) / (high - low), 0, 1)
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_two_numbers_are_a_window(ct, rules):
    assert value_range(ct, rules(window=(-5.0, 5.0))) == (-5.0, 5.0)


def test_the_window_of_the_file_is_its_own_or_an_error(ct, rules):
    assert value_range(ct, rules(window="file")) == (-50.0, 150.0)
    with pytest.raises(ScanError, match="recommends no window"):
        value_range(_unsigned([1, 2], 12), rules(window="file"))


def test_by_itself_a_ct_has_the_ct_window_and_an_mr_percentiles(ct, rules):
    assert value_range(ct, rules()) == WINDOWS["ct"]
    values = np.random.default_rng(0).normal(size=(1, 9, 9, 9)).astype(np.float32)
    mr = Scan(values, "nifti", "float32")
    expected = tuple(np.percentile(values, (0.5, 99.5)))
    assert value_range(mr, rules()) == pytest.approx(expected)


@pytest.mark.parametrize(("depth", "top"), [(8, 255), (12, 4095), (16, 65535)])
def test_pictures_stored_with_16_bits_follow_the_depth_of_the_set(rules, depth, top):
    picture = _unsigned([0, 100, 255], 16)
    assert value_range(picture, rules(bit_depth=depth)) == (0, top)


def test_values_above_the_stated_depth_are_refused(rules):
    with pytest.raises(ScanError, match="more than 12 bits"):
        value_range(_unsigned([0, 5000], 16), rules(bit_depth=12))


def test_bits_that_dicom_states_are_believed(rules):
    assert value_range(_unsigned([0, 9], 10, "dicom"), rules(bit_depth=16)) == (0, 1023)


def test_16_bits_of_dicom_are_those_in_use_by_the_set(rules):
    assert value_range(_unsigned([0, 9], 16, "dicom"), rules(bit_depth=12)) == (0, 4095)


def test_without_a_depth_16_bits_are_scaled_by_percentiles(rules):
    picture = _unsigned(np.arange(1000), 16)
    expected = tuple(np.percentile(picture.values, (0.5, 99.5)))
    assert value_range(picture, rules(bit_depth=None)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("bits", "modality", "kind", "expected"),
    [
        (8, "", "picture", "bit depth"),
        (16, "", "picture", "bit depth"),
        (None, "CT", "dicom", "ct"),
        (None, "MR", "dicom", "percentile"),
        (12, "DX", "dicom", "bit depth"),
        (None, "", "nifti", "percentile"),
    ],
)
def test_the_name_of_the_rule_is_that_of_the_range(rules, bits, modality, kind, expected):
    scan = Scan(np.zeros((1, 2, 2)), kind, "", bits=bits, modality=modality)
    assert rule_name(scan, "auto", 16) == expected


def test_a_constant_scan_is_zero_and_finite():
    assert to_unit(np.full((1, 2, 2), 41.0), 41.0, 41.0).tolist() == np.zeros((1, 2, 2)).tolist()


def test_a_small_part_before_background_does_not_vanish(rules):
    values = np.zeros((1, 10, 10, 10), np.uint8)
    values[0, 4, 4, 4] = 200
    scan = Scan(values, "dicom", "", bits=8, modality="MR")
    assert value_range(scan, rules()) == (0, 200)


@pytest.mark.parametrize("modality", ["MR", "NM", "PT"])
@pytest.mark.parametrize("bits", [12, 16])
def test_numbers_without_a_unit_are_scaled_by_what_they_are_not_by_their_bits(
    rules, modality, bits
):
    scan = Scan(np.array([[[20, 820]]], np.uint16), "dicom", "", bits=bits, modality=modality)
    assert value_range(scan, rules(percentiles=(0.0, 100.0))) == (20, 820)
    assert rule_name(scan, "auto", 16) == "percentile"
