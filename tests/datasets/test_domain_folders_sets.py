"""The five sets: which release was found, what is there twice, and `medldr data check`."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from torchvision.datasets import ImageFolder

from medldr.config import load_part, packaged_configs
from medldr.datasets import domain_folders
from medldr.datasets._domain_folders.benchmarks import SETS, compare, nearest

REAL = Path(__file__).parents[3] / "shared" / "data" / "pacs64"


@pytest.fixture(scope="module")
def pacs64():
    if not REAL.is_dir():
        pytest.skip(f"real data is absent: {REAL}")
    return REAL


def config(root, **keys):
    return domain_folders.Config(root=root, **{"packed": "off", "size": 16, **keys})


def found(name, **changes):
    known = SETS[name]
    counts = dict(zip(known.domains, known.releases[0].counts, strict=True))
    return known, {domain: n + changes.get(domain, 0) for domain, n in counts.items()}


# ---------------------------------------------------------------- releases


def test_totals_are_the_published_ones():
    totals = {name: [r.total for r in known.releases] for name, known in SETS.items()}
    assert totals == {
        "pacs": [9_991],
        "vlcs": [10_729],
        "office_home": [15_588],
        "terra_incognita": [24_788, 24_330],
        "domain_net": [586_575, 596_006],
    }
    cleaned, before = SETS["domain_net"].releases
    assert before.total - cleaned.total == 9_431
    for known in SETS.values():
        assert list(known.domains) == sorted(known.domains)
        assert list(known.class_names) == sorted(known.class_names)
        assert len(known.class_names) in (0, known.classes)


@pytest.mark.parametrize("name", SETS)
def test_a_whole_set_is_told_as_such_without_reserve(name):
    known, counts = found(name)
    text = compare(known, counts)
    assert text.startswith(f"{known.title}: {known.releases[0].total:,} pictures, ")
    assert "fewer" not in text
    assert "more" not in text
    assert "only the total" not in text


def test_todays_terra_incognita_is_told_from_the_one_results_are_of():
    known = SETS["terra_incognita"]
    today = dict(zip(known.domains, (4741, 9736, 3970, 5883), strict=True))
    text = compare(known, today)
    assert "24,330 pictures, today's release" in text
    assert "published results use the first release, with 24,788" in text
    assert "first release (used in published results)" in compare(*found("terra_incognita"))
    nearly = {**today, "location_38": 9000}
    assert nearest(known, nearly).what == "today's release"


def test_a_domain_net_that_was_not_cleaned_says_how_to_clean_it():
    known = SETS["domain_net"]
    duplicates = {"clipart": 704, "infograph": 1596, "painting": 3493, "real": 2380, "sketch": 1258}
    _, counts = found("domain_net", **duplicates)
    text = compare(known, counts)
    assert "596,006 pictures, not cleaned of its duplicates" in text
    assert "data.blacklist" in text
    assert "data.blacklist" not in compare(*found("domain_net"))


def test_other_counts_with_the_right_total_are_no_alarm():
    text = compare(*found("vlcs", LabelMe=1, SUN09=-1))
    assert "10,729 pictures, the whole set, with different counts per domain" in text
    assert "LabelMe 2,657 of 2,656; SUN09 3,281 of 3,282" in text
    assert "only the total is certain" in text


def test_more_pictures_than_published_are_told():
    text = compare(*found("pacs", photo=2))
    assert "9,993 pictures, 2 more than the whole set of 9,991 (photo 1,672 of 1,670)" in text
    assert "as commonly reported" not in text  # those of PACS were published


@pytest.mark.parametrize("name", SETS)
def test_its_part_names_its_numbers_and_domain_beds_division(name):
    section = load_part("data", name)["data"]
    assert section == {
        "name": "domain_folders",
        "set": name,
        "split_rule": "domainbed",
        "val_fraction": 0.2,
    }
    comment = (packaged_configs() / "data" / f"{name}.yaml").read_text().replace("\n# ", " ")
    known = SETS[name]
    for number in (known.releases[0].total, *known.releases[0].counts):
        assert f"{number:,}" in comment


# ---------------------------------------------------------------- pictures that are there twice


@pytest.fixture
def twins(tmp_path, write_domain_tree):
    """A tree in which two pictures are in two domains, one in two classes, one twice in one."""
    root = write_domain_tree(
        tmp_path / "tree", {domain: {"no": 4, "yes": 4} for domain in ("a", "b")}
    )
    shutil.copy(root / "a/no/000.png", root / "b/no/copy.png")
    with Image.open(root / "a/no/001.png") as picture:
        picture.save(root / "b/no/saved.bmp")  # the same pixels in another file
    shutil.copy(root / "b/yes/002.png", root / "b/no/doubt.png")
    shutil.copy(root / "a/yes/003.png", root / "a/yes/twice.png")
    for domain in ("a", "b"):  # of one colour: told otherwise
        Image.new("RGB", (9, 9)).save(root / domain / "no" / "black.png")
    return root


def test_any_tree_is_checked_by_the_command_without_published_counts(twins, tmp_path, medldr):
    (twins / "a" / "labels.csv").touch()
    file = tmp_path / "mine.yaml"
    file.write_text(
        f"data: {{name: domain_folders, root: {json.dumps(str(twins))}, size: 16}}\n"
        "model: {name: resnet18}\nalgorithm: {name: erm}\ntransform: {name: none}\n"
    )
    ended = medldr("data", "check", file)
    assert ended.code == 3, ended.err
    assert "published" not in ended.out
    assert "2 images are in more than one domain" in " ".join(ended.out.split())
    assert "a/labels.csv" in ended.out
    (twins / "a" / "no" / "000.png").write_bytes(b"")
    ended = medldr("data", "check", file)
    assert ended.code == 2
    assert "a/no/000.png: " in ended.out
    ended = medldr("data", "check", file, "on_bad_file=skip")
    assert ended.code == 3


def test_the_part_of_own_pictures_is_checked_by_its_name_and_has_no_column_of_splits(twins, medldr):
    ended = medldr("data", "check", "domain_folders", twins, "size=16")
    assert ended.code == 3, ended.err
    assert ["Domain", "Images", "no", "yes"] in [line.split() for line in ended.out.splitlines()]


# ---------------------------------------------------------------- real PACS


@pytest.mark.slow
def test_real_pacs_is_whole_and_in_imagefolders_order(pacs64):
    table = domain_folders.load(config(pacs64, set="pacs", size=64))
    names, counts = np.unique(table.domains, return_counts=True)
    assert dict(zip(names.tolist(), counts.tolist(), strict=True)) == {
        "art_painting": 2048,
        "cartoon": 2344,
        "photo": 1670,
        "sketch": 3929,
    }
    assert table.notes == ("PACS: 9,991 pictures, the whole set.",)
    for domain in names.tolist():
        theirs = ImageFolder(pacs64 / domain)
        rows = np.flatnonzero(table.domains == domain)
        assert [str(pacs64 / item) for item in table.ids[rows].tolist()] == [
            path for path, _ in theirs.samples
        ]
        assert table.labels[rows].tolist() == theirs.targets
        assert list(table.class_names) == theirs.classes
    assert np.array_equal(table.images[0].transpose(1, 2, 0), np.asarray(theirs_first(pacs64)))


def theirs_first(folder):
    return ImageFolder(folder / "art_painting")[0][0]


@pytest.mark.slow  # decodes 9,991 pictures
def test_real_pacs_passes_the_check_of_the_command(pacs64, medldr):
    ended = medldr("data", "check", "pacs", pacs64, "size=64", "--no-page")
    assert ended.code == 0, ended.err
    for whole in ("Images", "Published"):
        assert re.search(rf"{whole} +2,048 +2,344 +1,670 +3,929", ended.out)
    assert "parts have not the published number" not in " ".join(ended.out.split())
    assert "images a run would use with art_painting held out: train" in ended.out
    assert "PACS: 9,991 pictures, the whole set." in ended.out
