"""Every dataset plug-in, found by name, keeps the contract of `ImageTable`."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from medldr import plugins
from medldr.data import check_table, load_table
from medldr.data.splits.make import make_splits
from medldr.datasets.base import DatasetConfig

TESTS = Path(__file__).parents[1] / "datasets"


def write_files(name, root, request):
    """Let a dataset's own test write what it reads; one that needs no files has no such function.

    The function is ``contract_files(root, request)`` in ``tests/datasets/test_<name>.py``.
    """
    path = TESTS / f"test_{name}.py"
    spec = importlib.util.spec_from_file_location(f"files_of_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if hasattr(module, "contract_files"):
        module.contract_files(root, request)


@pytest.fixture(scope="module", params=plugins.names("datasets"))
def plugin(request, tmp_path_factory):
    """Module, configuration and table of one dataset."""
    root = tmp_path_factory.mktemp("data")
    write_files(request.param, root, request)
    module = plugins.load("datasets", request.param)
    keys = plugins.facts("datasets", request.param).get("CONTRACT_KEYS", {})
    config = module.Config(**{"name": request.param, "root": root, **keys})
    return module, config, load_table(config)


def test_its_config_has_the_common_keys_and_refuses_unknown_ones(plugin):
    module, config, _ = plugin
    assert issubclass(module.Config, DatasetConfig)
    with pytest.raises(ValueError, match="no_such_key"):
        module.Config(**config.model_dump(exclude_unset=True), no_such_key=1)


def test_its_table_is_sound_and_has_nothing_constant(plugin):
    _, _, table = plugin
    assert len(table) > 0
    assert not [note for note in check_table(table) if "constant" in note]


def test_loading_twice_gives_the_same_table(plugin):
    module, config, table = plugin
    again = module.load(config)
    assert np.array_equal(again.images[:], table.images[:])
    for column in ("labels", "ids", "splits", "domains", "groups"):
        assert np.array_equal(getattr(again, column), getattr(table, column))
    assert again.hashes == table.hashes


def test_it_says_in_a_line_where_its_files_are(plugin):
    module, config, _ = plugin
    where = module.present(config)
    assert where
    assert "\n" not in where


def test_it_can_be_trained_and_selected_on(plugin):
    _, config, table = plugin
    rows, _ = make_splits(table, config)
    assert {"train", "val", "test"} <= set(rows)
    taken = np.concatenate(list(rows.values()))
    assert len(np.unique(taken)) == len(taken)


def test_each_of_its_domains_can_be_held_out(plugin):
    module, config, table = plugin
    domains = sorted(set(table.domains.tolist()) - {""})
    if not domains:
        pytest.skip("this dataset has no domains")
    for domain in domains:
        # A hospital that only trains has no test rows of its own; a refusal says what to set.
        tested = {"", "test"} & set(table.splits[table.domains == domain].tolist())
        more = {} if tested else {"held_out_rows": "all"}
        held = module.Config(**config.model_dump(exclude_unset=True), held_out=[domain], **more)
        rows, _ = make_splits(table, held)
        assert set(table.domains[rows["test"]]) == {domain}
        assert domain not in set(table.domains[np.r_[rows["train"], rows["id_val"]]])


def test_its_masks_fit_its_images(plugin):
    _, _, table = plugin
    if table.masks is None:
        pytest.skip("this dataset has no masks")
    assert table.masks.dtype == bool
    assert table.masks.shape == (len(table), *table.images.shape[2:])


def test_pixels_of_some_rows_are_those_of_all(plugin):
    _, _, table = plugin
    assert table.images.dtype in (np.uint8, np.float32)
    whole = table.images[:]
    assert whole.shape == table.images.shape
    rows = np.array([len(table) - 1, 0, 0])
    assert np.array_equal(table.images[rows], whole[rows])
    assert np.array_equal(table.images[1], whole[1])


def test_groups_cross_only_the_splits_that_the_dataset_declares(plugin):
    _, config, table = plugin
    rows, _ = make_splits(table, config)
    declared = {frozenset(pair) for pair in table.shared_groups}
    groups = {name: set(table.groups[r].tolist()) - {""} for name, r in rows.items()}
    for one in groups:
        for other in groups:
            if one < other and frozenset((one, other)) not in declared:
                assert not groups[one] & groups[other]
