"""Public sets as parts for the dataset `table`: the layouts that they are published in are read."""

import csv
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from medldr.config import load_config, load_part, packaged_configs
from medldr.config.sections import dataset_name
from medldr.data.checks.table_checks import check_table
from medldr.data.splits.make import make_splits
from medldr.datasets import table
from medldr.errors import InputError
from medldr.folders.evaluation_record import EvaluationRecord
from medldr.reporting.published.numbers import OTHER_MODELS, published
from medldr.reporting.read.run import RunFiles
from medldr.reporting.sections.published import run_published
from medldr.reporting.writers.cells import printed

REAL = Path(__file__).parents[3] / "shared" / "data" / "amf64" / "labels.csv"
SETS = ("ami_br", "atnorm_br", "atnorm_md", "histopantum", "midog22")
AMI_BR = {  # slides of both parts of the published split, by domain
    "midog_aperio_cs2": ("midog101", "midog102"),
    "midog_hamamatsu_s360": ("midog054", "midog055"),
    "midog_hamamatsu_xr": ("midog002", "midog003"),
    "tupac_utrecht": ("tupac01", "tupac02"),
    "tupac_centre_b": ("tupac24", "tupac25"),
    "tupac_centre_c": ("tupac49", "tupac50"),
}


def section(name, *changes):
    """The section `data` of a part as a run has it."""
    values = load_part("data", name)["data"]
    whole = {"data": values, "transform": "none", "model": "resnet18", "algorithm": "erm"}
    return load_config(whole, changes).data


def comment(name, folder="data"):
    text = (packaged_configs() / folder / f"{name}.yaml").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("#")]
    return re.sub(r"\s+", " ", " ".join(line.removeprefix("#") for line in lines))


@pytest.fixture
def picture():
    """Write a picture of noise, each another unless `noise` is the same."""

    def write(path, size, noise):
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = np.random.default_rng(noise).integers(0, 256, (size, size, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(path)
        return pixels

    return write


@pytest.fixture
def ami_br(tmp_path, picture):
    """A table in the columns of the part: per slide two normal mitoses and an atypical one."""

    def write(*, tcga=False):
        rows, noise = [], 0
        slides = [
            (domain, slide, split)
            for domain, pair in AMI_BR.items()
            for slide, split in zip(pair, ("train", "test"), strict=True)
        ]
        slides += [("tcga", f"tcga{n:04d}", "") for n in range(3)] if tcga else []
        for domain, slide, split in slides:
            for number, label in enumerate(("normal", "normal", "atypical")):
                name = f"{domain}/{label}/{slide}_{number}.jpg"
                picture(tmp_path / name, 64, noise := noise + 1)
                rows.append(
                    {"image": name, "domain": domain, "label": label, "patient": slide,
                     "atypical_votes_of_3": "", "published_split": split}
                )  # fmt: skip
        with (tmp_path / "labels.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
        return tmp_path / "labels.csv"

    return write


@pytest.mark.parametrize("name", SETS)
def test_a_part_names_its_set_tells_the_command_and_holds_no_place(name):
    config = section(name)
    assert (config.name, config.set) == ("table", name)
    assert config.file is None
    assert config.root is None
    assert f"medldr data check {name} " in comment(name)
    assert dataset_name({"data": config.model_dump(mode="json")}, {}) == name


@pytest.mark.parametrize("name", SETS)
def test_what_was_not_seen_is_said_and_a_source_is_named(name):
    text = comment(name)
    assert re.search(r"arXiv \d{4}\.\d{5}", text)
    if name in ("atnorm_md", "histopantum", "midog22"):
        assert "Not seen by us" in text


# ---------------------------------------------------------------- AMi-Br


def test_the_published_split_is_used_and_validation_comes_of_its_training_part(ami_br):
    config = section("ami_br", f"data.file={ami_br()}", "data.val_fraction=0.3")
    found = table.load(config)
    assert (found.name, found.task, found.class_names) == (
        "ami_br",
        "multi-class",
        ("normal", "atypical"),
    )
    assert Counter(found.labels.tolist()) == {0: 24, 1: 12}
    assert set(found.domains) == set(AMI_BR)
    assert len(set(found.groups)) == 12
    splits = make_splits(found, config.with_seed(0))
    tested = {slide for _, slide in AMI_BR.values()}
    assert set(found.groups[splits.rows["test"]]) == tested
    trained, chosen = (set(found.groups[splits.rows[name]]) for name in ("train", "val"))
    assert trained | chosen == {slide for slide, _ in AMI_BR.values()}
    assert not trained & chosen


def test_a_pixel_is_that_of_the_picture(ami_br):
    file = ami_br()
    found = table.load(section("ami_br", f"data.file={file}"))
    row = found.ids.tolist().index("tupac_utrecht/atypical/tupac01_2.jpg")
    image = found.images[row]
    with Image.open(file.parent / str(found.ids[row])) as opened:
        expected = np.asarray(opened).transpose(2, 0, 1)
    assert np.array_equal(image, expected)


@pytest.mark.parametrize("held_out", AMI_BR)
def test_a_scanner_or_centre_that_is_left_out_is_tested_whole(ami_br, held_out):
    changes = (f"data.file={ami_br()}", "data.split=null", f"data.held_out={held_out}")
    config = section("ami_br", *changes)
    found = table.load(config)
    rows = make_splits(found, config.with_seed(0)).rows
    assert found.domains[rows["test"]].tolist() == [held_out] * 6
    assert held_out not in found.domains[rows["train"]]
    assert held_out not in found.domains[rows["id_val"]]


def test_rows_of_tcga_are_a_further_domain_once_the_published_split_is_not_used(ami_br):
    file = ami_br(tcga=True)
    with pytest.raises(InputError, match=r"9 rows name no split(.|\n)*data\.split unset"):
        table.load(section("ami_br", f"data.file={file}"))
    config = section("ami_br", f"data.file={file}", "data.split=null", "data.held_out=tcga")
    found = table.load(config)
    assert len(make_splits(found, config.with_seed(0)).rows["test"]) == 9


def test_the_published_split_of_the_real_set_divides_no_patient():
    if not REAL.is_file():
        pytest.skip(f"real data is absent: {REAL}")
    with REAL.open(encoding="utf-8", newline="") as opened:
        rows = [row for row in csv.DictReader(opened) if row["domain"] != "tcga"]
    counts = Counter(row["published_split"] for row in rows)
    assert counts == {"train": 2894, "test": 826}
    parts = {(row["patient"], row["published_split"]) for row in rows}
    assert len(parts) == len({patient for patient, _ in parts})
    text = comment("ami_br")
    for number in (2894, 826, len(rows), sum(row["label"] == "atypical" for row in rows)):
        assert f"{number:,}" in text
    assert {row["domain"] for row in rows} == set(AMI_BR)


# ---------------------------------------------------------------- trees of folders


@pytest.mark.parametrize("name", ["atnorm_br", "atnorm_md"])
def test_a_folder_per_class_is_read_with_the_atypical_as_the_positive_one(tmp_path, picture, name):
    for noise in range(6):
        label = ("Normal", "Atypical")[noise % 2]
        picture(tmp_path / label / f"{noise}.png", 128, noise)
    found = table.load(section(name, f"data.root={tmp_path}"))
    assert found.class_names == ("Normal", "Atypical")
    atypical = found.ids[found.labels == 1].tolist()
    assert sorted(atypical) == ["Atypical/1.png", "Atypical/3.png", "Atypical/5.png"]
    assert found.images.shape == (6, 3, 128, 128)


def test_equal_pictures_with_both_labels_are_told_as_in_the_real_set(tmp_path, picture):
    for noise in range(8):
        picture(tmp_path / ("Normal", "Atypical")[noise % 2] / f"{noise}.png", 128, noise)
    picture(tmp_path / "Atypical" / "390.png", 128, 99)
    for same in ("391", "398"):
        picture(tmp_path / "Normal" / f"{same}.png", 128, 99)
    found = table.load(section("atnorm_br", f"data.root={tmp_path}"))
    notes = " ".join([*found.notes, *check_table(found)])
    assert "with contradicting labels" in notes
    assert "390" in notes
    text = comment("atnorm_br")
    assert "27 groups of pictures that are equal byte for byte" in text
    assert "Two groups carry both labels" in text


HISTOPANTUM = ("colon", "ovarian", "stomach", "uterus")


@pytest.mark.parametrize("classes", [("non-tumour", "tumour"), ("non_tumor", "tumor")])
def test_a_tile_belongs_to_the_patient_in_its_name(tmp_path, picture, classes):
    for place, cancer in enumerate(HISTOPANTUM):
        for slide, label in enumerate(classes * 3):
            for tile in range(2):
                name = f"TCGA-3L-AA{place}{slide // 2}-01Z-00-DX{slide % 2 + 1}_{tile}_512.jpg"
                noise = 100 * place + 10 * slide + tile
                picture(tmp_path / "HISTOPANTUM" / cancer / label / name, 224, noise)
    config = section("histopantum", f"data.root={tmp_path / 'HISTOPANTUM'}", "data.held_out=uterus")
    found = table.load(config)
    assert (found.name, found.class_names) == ("histopantum", classes)
    assert set(found.domains) == set(HISTOPANTUM)
    assert set(found.groups) == {f"TCGA-3L-AA{p}{s}" for p in range(4) for s in range(3)}
    rows = make_splits(found, config.with_seed(0)).rows
    assert set(found.domains[rows["test"]]) == {"uterus"}
    assert not set(found.groups[rows["train"]]) & set(found.groups[rows["id_val"]])


def test_tiles_of_other_names_are_refused_until_they_are_taken_without_patients(tmp_path, picture):
    for cancer in HISTOPANTUM:
        for noise, label in enumerate(("tumor", "non_tumor")):
            picture(tmp_path / cancer / label / f"img00{noise}.png", 224, noise)
    with pytest.raises(InputError, match=r"data\.group_pattern .* finds no group in 8 of 8 paths"):
        table.load(section("histopantum", f"data.root={tmp_path}"))
    found = table.load(section("histopantum", f"data.root={tmp_path}", "data.group_pattern=null"))
    assert len(found) == 8


def test_the_five_tumours_are_domains_and_the_classes_are_for_the_user_to_order(tmp_path, picture):
    domains = re.findall(r"(?:canine|cutaneous|human)_\w+", comment("midog22"))
    assert len(domains) == 5
    for place, domain in enumerate(domains):
        for noise, label in enumerate(("MITOSIS", "NO_MITOSIS")):
            picture(tmp_path / domain / label / f"{noise}.png", 128, 10 * place + noise)
    config = section("midog22", f"data.root={tmp_path}", "data.classes=[NO_MITOSIS, MITOSIS]")
    found = table.load(config)
    assert found.class_names == ("NO_MITOSIS", "MITOSIS")
    assert Counter(found.domains.tolist()) == dict.fromkeys(domains, 2)
    assert table.load(section("midog22", f"data.root={tmp_path}")).class_names[0] == "MITOSIS"


# ---------------------------------------------------------------- published numbers, and a page


@pytest.mark.parametrize(
    ("name", "protocol", "value"),
    [
        ("ami_br", "ami-br-benchmark", 0.8135),
        ("ami_br", "ami-br-patch", 0.806),
        ("ami_br", "ami-br-patient", 0.713),
        ("atnorm_br", "ami-br-benchmark", 0.7788),
        ("atnorm_md", "ami-br-benchmark", 0.7723),
    ],
)
def test_a_published_number_has_its_own_protocol_and_network(name, protocol, value):
    (entry,) = published(name, metric="balanced_accuracy", protocol=protocol)
    assert entry.value == value
    assert entry.title.endswith(OTHER_MODELS[entry.model])
    recipes = (packaged_configs() / "recipe").glob("*.yaml")
    assert all(f"protocol: {protocol}\n" not in file.read_text() for file in recipes)


LORA, BEST = "Virchow2 with LoRA", "the best of several networks"


def test_published_numbers_stand_beside_a_run_as_another_protocol():
    value = {"value": 0.75, "low": 0.7, "high": 0.8}
    scored = {
        "task": "binary",
        "selection": {"rule": "val_auc"},
        "splits": {"test": {"items": 9, "metrics": {"balanced_accuracy": value, "auc": value}}},
    }
    config = {
        "data": section("ami_br", "data.held_out=tupac_centre_b").model_dump(mode="json"),
        "model": "resnet18", "algorithm": "erm", "protocol": "own-microscopy",
    }  # fmt: skip
    files = RunFiles("x", config, evaluation=EvaluationRecord.model_validate(scored))
    found = run_published(files)
    assert found.columns == ["Method", "Protocol", "AUC", "Balanced accuracy (%)"]
    assert not any("same protocol" in row.cells[0].extra for row in found.rows)
    assert [[row.heading, *(printed(cell).text for cell in row.cells)] for row in found.rows] == [
        ["This run", "own-microscopy", "0.750", "75.0"],
        [f"ERM, {LORA} (AMi-Br benchmark)", "ami-br-benchmark", "0.903", "81.3"],
        [f"ERM, {BEST} (AMi-Br paper)", "ami-br-patch", "–", "80.6"],
        [f"ERM, {BEST} (AMi-Br paper)", "ami-br-patient", "–", "71.3"],
    ]


def test_the_page_on_public_sets_names_each_part_and_its_command():
    page = Path(__file__).parents[2] / "docs" / "public_sets.md"
    if not page.is_file():
        pytest.skip(f"the documents are not in this copy: {page}")
    text = page.read_text(encoding="utf-8")
    for name in SETS:
        assert f"`data/{name}`" in text
        assert f"medldr data check {name} " in text
    assert "both labels" in text
