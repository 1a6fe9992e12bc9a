"""Augmentation and protocol decide what may be compared: shown, and never merged silently."""

import pytest

from medldr.config import load_config
from medldr.config.method import augmentation_id
from medldr.folders.sweep_record import SweepFolder
from medldr.reporting import write_report
from medldr.reporting.pages.sweep import sweep_page
from medldr.reporting.published.numbers import beside
from medldr.reporting.read.sweep import read_study
from medldr.reporting.results.comparisons import columns
from medldr.reporting.sections.published import sweep_published

NAMES = ("normal", "tumor")
PUBLISHED = {
    "targeted": {
        "sigma": 0.1, "probability": 0.56827, "reference": "none",
        "stains": ["haematoxylin", "eosin", "dab"],
    },
    "generic": {"operations": 2, "flip": 0.5, "cutout": 0.5},
}  # fmt: skip
WILDS, FISH = "camelyon17-wilds", "camelyon17-fish"


def camelyon(augmentation, protocol=FISH):
    """What `write_run` takes for a run on Camelyon17."""
    transform = {
        "none": {"name": "camelyon17", "targeted": False},
        "targeted": {"name": "camelyon17", "targeted": True},
        "generic": {"name": "rand_augment"},
    }[augmentation]
    config = {
        "data": {"name": "camelyon17"},
        "transform": transform,
        "model": {"name": "densenet121", "width": 1.0},
        "protocol": protocol,
    }
    run = {"data": {"name": "camelyon17"}, "protocol": protocol, "augmentation": augmentation}
    return {"task": "binary", "names": NAMES, "config": config, "run": run}


def unnamed(augmentation, protocol=FISH):
    """The same for `sweep`, which names the data itself."""
    made = camelyon(augmentation, protocol)
    return {**made, "config": {k: v for k, v in made["config"].items() if k != "data"},
            "run": {k: v for k, v in made["run"].items() if k != "data"}}  # fmt: skip


@pytest.mark.parametrize(
    ("augmentation", "words", "same"),
    [
        ("none", "none", {"LatentDR (Pool), DenseNet-121 (LatentDR paper)": "81.3"}),
        ("targeted", "targeted (stain jitter)", {"ERM, DenseNet-121 (LatentDR paper)": "84.3"}),
        ("generic", "generic (RandAugment, Cutout)", {}),
    ],
)
def test_the_page_names_the_augmentation_and_calls_only_equal_ones_the_same(
    augmentation, words, same, run_folder, read
):
    found = read(write_report(run_folder(**camelyon(augmentation))))
    assert f"Augmentation{words}" in found.text.replace("Augmentation ", "Augmentation")
    rows = found.table("Method", "Protocol")
    assert rows[0][:2] == ["This run", f"{FISH} augmentation: {augmentation}"]
    for row in rows[1:]:
        equal = row[1].startswith(FISH) and f"augmentation: {augmentation};" in row[1]
        assert ("same protocol" in row[1]) == equal, row
    told = {row[0]: row[2] for row in rows if "same protocol" in row[1]}
    assert same.items() <= told.items()
    assert bool(told) == (augmentation != "generic")
    (generic,) = [row for row in rows[1:] if "augmentation: generic" in row[1]]
    assert generic[0].startswith("ERM, DenseNet-121 (WILDS 2.0 paper)")


@pytest.mark.parametrize(
    ("augmentation", "row", "value"),
    [
        ("none", "LatentDR (Pool)", 0.813),
        ("targeted", "LatentDR (Pool)", 0.899),
        ("none", "ERM", 0.723),
        ("targeted", "ERM", 0.843),
    ],
)
def test_a_sweep_stands_beside_the_published_number_of_its_own_augmentation(
    sweep, augmentation, row, value
):
    study = read_study(
        sweep({"erm": 1.0, "latentdr_pool": 1.0}, ("camelyon17",), (0,), n=20,
              **unnamed(augmentation))
    )  # fmt: skip
    (found,) = [b for b in beside(study, "camelyon17", row, "accuracy") if b.same]
    assert found.entry.value == value
    assert found.entry.augmentation == augmentation


def test_a_generic_augmentation_is_beside_no_targeted_number(sweep):
    study = read_study(
        sweep({"erm": 1.0, "latentdr_pool": 1.0}, ("camelyon17",), (0,), n=20,
              **unnamed("generic"))
    )  # fmt: skip
    assert beside(study, "camelyon17", "LatentDR (Pool)", "accuracy") == []
    (found,) = beside(study, "camelyon17", "ERM", "accuracy")
    assert (found.entry.value, found.same) == (0.82, False)


CHANGED = [
    ("targeted", {"sigma": 0.05}),
    ("targeted", {"probability": 1.0}),
    ("targeted", {"reference": "white"}),
    ("targeted", {"stains": ["haematoxylin", "eosin"]}),
    ("generic", {"operations": 3}),
]


@pytest.mark.parametrize(("kind", "change"), CHANGED)
def test_other_numbers_than_the_published_ones_make_another_augmentation(kind, change):
    transform = camelyon(kind)["config"]["transform"]
    assert augmentation_id({"transform": transform}) == kind
    assert augmentation_id({"transform": transform | change}) == f"{kind}+modified"


@pytest.mark.parametrize(
    ("kind", "part"),
    [("targeted", "camelyon17_targeted"), ("targeted", "camelyon17_224_targeted"),
     ("generic", "camelyon17_generic"), ("generic", "camelyon17_224_generic")],
)  # fmt: skip
def test_the_packaged_parts_have_the_published_numbers(kind, part):
    config = load_config("camelyon17_erm", [f"transform={part}"])
    assert augmentation_id(config.model_dump(mode="json")) == kind
    assert PUBLISHED[kind].items() <= config.model_dump(mode="json")["transform"].items()


def test_a_changed_jitter_is_never_the_same_protocol(run_folder, read):
    made = camelyon("targeted")
    made["config"]["transform"] |= {"sigma": 0.2}
    found = read(write_report(run_folder(**made)))
    rows = found.table("Method", "Protocol")
    assert rows[0][:2] == ["This run", f"{FISH} augmentation: targeted+modified"]
    assert not any("same protocol" in row[1] for row in rows)
    assert "settings differ from the published ones" in found.text


def test_a_changed_jitter_stands_beside_the_published_number_as_modified(sweep):
    made = unnamed("targeted")
    made["config"]["transform"] |= {"sigma": 0.2}
    study = read_study(sweep({"erm": 1.0}, ("camelyon17",), (0,), n=20, **made))
    (found,) = beside(study, "camelyon17", "ERM", "accuracy")
    assert (found.entry.value, found.ours.augmentation) == (0.843, "targeted+modified")
    assert not found.same
    (table,) = sweep_published(study, columns(study))
    ours, theirs = (row.cells[0].extra for row in table.rows)
    assert ours == "augmentation: targeted+modified"
    assert theirs == "augmentation: targeted; modified by us"


def first_grid(page):
    return page.document.section("result").tables[0]


def test_columns_of_one_data_set_under_two_protocols_are_told_apart(run_folder, tmp_path):
    run_folder("camelyon17_wilds_erm-aaaaaaaa-s0", **camelyon("none", WILDS), n=20)
    run_folder("camelyon17_fish_erm-bbbbbbbb-s0", **camelyon("none", FISH), n=20)
    page = sweep_page(SweepFolder(tmp_path))
    assert len(page.results.columns) == 2
    note = first_grid(page).notes[-1]
    assert note.startswith("Columns of camelyon17 follow different protocols")
    assert f": {WILDS}" in note
    assert f": {FISH}" in note
