"""Trees of domains: ImageFolder's order, one list of classes, patients, blacklists, packs."""

import shutil

import numpy as np
import pytest
from PIL import Image
from rich.console import Console
from torchvision.datasets import ImageFolder

from medldr.data import load_table, store
from medldr.data.hashes import hash_table
from medldr.data.reading.pictures import PictureFiles
from medldr.data.splits.make import make_splits
from medldr.datasets import domain_folders
from medldr.errors import InputError

COUNTS = {
    "scanner_b": {"benign": 5, "malign": 4, "normal": 6},
    "scanner_a": {"benign": 4, "normal": 7},  # without the class in the middle
    "scanner_c": {"benign": 6, "malign": 8, "normal": 5},
}


@pytest.fixture
def tree(tmp_path, write_domain_tree):
    return write_domain_tree(tmp_path / "tree", COUNTS)


def config(root, **keys):
    return domain_folders.Config(root=root, **{"packed": "off", "size": 16, **keys})


def load(root, **keys):
    return domain_folders.load(config(root, **keys))


def notes(table):
    return " ".join(table.notes)


def picture(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(len(str(path))).integers(0, 256, (10, 12, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)


# ---------------------------------------------------------------- the table


def test_domains_and_classes_are_sorted_and_a_lacking_class_shifts_no_label(tree):
    table = load(tree)
    assert table.class_names == ("benign", "malign", "normal")
    for domain, counts in COUNTS.items():
        labels = table.labels[table.domains == domain]
        expected = [counts.get(name, 0) for name in table.class_names]
        assert np.bincount(labels, minlength=3).tolist() == expected
    assert list(dict.fromkeys(table.domains.tolist())) == ["scanner_a", "scanner_b", "scanner_c"]
    assert "domain scanner_a has no picture of malign" in notes(table)
    assert (table.name, table.task, table.images.shape) == (
        "domain_folders",
        "multi-class",
        (45, 3, 16, 16),
    )
    assert set(table.splits.tolist()) == set(table.groups.tolist()) == {""}


def test_rows_are_in_the_order_of_imagefolder(tree):
    # Names that sort otherwise as numbers, as folders and in capitals.
    for name in ("10", "9", "Z", "a", "a-b/1", "a/2", "a/1", "a b/3"):
        picture(tree / "scanner_b" / "malign" / f"{name}.png")
    picture(tree / "scanner_b" / "malign" / "SHOUTED.PNG")
    table = load(tree)
    for domain in COUNTS:
        theirs = [path for path, _ in ImageFolder(tree / domain).samples]
        rows = np.flatnonzero(table.domains == domain)
        assert [str(tree / item) for item in table.ids[rows].tolist()] == theirs
        assert np.array_equal(rows, np.arange(rows[0], rows[0] + len(rows)))


def test_an_id_is_the_path_and_leads_to_its_pixels(tree):
    table = load(tree)
    assert table.ids[0] == "scanner_a/benign/000.png"
    row = table.ids.tolist().index("scanner_c/malign/003.png")
    with Image.open(tree / "scanner_c/malign/003.png") as opened:
        expected = np.asarray(opened.resize((16, 16), Image.Resampling.BILINEAR))
    assert np.array_equal(table.images[row].transpose(1, 2, 0), expected)


def test_a_folder_without_pictures_is_neither_a_domain_nor_a_class(tree):
    (tree / "docs" / "figures").mkdir(parents=True)
    (tree / "scanner_b" / "unsure").mkdir()
    table = load(tree)
    assert table.class_names == ("benign", "malign", "normal")
    assert "docs" not in table.domains
    assert "no picture in docs" in notes(table)
    assert "class folders not used because they are empty: figures, unsure" in notes(table)


def test_pictures_below_their_class_belong_to_it_and_are_told(tree):
    picture(tree / "scanner_b" / "malign" / "old" / "1.png")
    table = load(tree)
    row = table.ids.tolist().index("scanner_b/malign/old/1.png")
    assert (table.domains[row], table.labels[row]) == ("scanner_b", 1)
    assert "below their class folder: 1." in notes(table)


def test_equal_trees_have_equal_hashes_and_the_size_is_part_of_them(tree, tmp_path):
    first = load(tree)
    moved = tree.rename(tmp_path / "moved")
    assert load(moved).hashes == first.hashes
    assert load(moved, size=17).hashes != first.hashes
    picture(moved / "scanner_a" / "benign" / "000.png")
    assert load(moved).hashes != first.hashes


# ---------------------------------------------------------------- known sets


@pytest.fixture
def vlcs(tmp_path, write_domain_tree):
    domains = ("Caltech101", "LabelMe", "SUN09", "VOC2007")
    classes = {"bird": 2, "car": 2, "chair": 2, "dog": 3, "person": 2}
    return write_domain_tree(tmp_path / "data" / "VLCS", dict.fromkeys(domains, classes))


def test_a_known_set_is_found_in_its_folder_above_it_and_by_the_environment(vlcs, monkeypatch):
    first = load(vlcs, set="vlcs")
    assert first.name == "vlcs"
    assert len(load(vlcs.parent, set="vlcs")) == len(first) == 44
    monkeypatch.setenv("MEDLDR_DATA", str(vlcs.parent))
    assert np.array_equal(load(None, set="vlcs").ids, first.ids)
    assert domain_folders.present(config(None, set="vlcs")) == f"in {vlcs}"


def test_a_known_class_that_a_domain_lacks_keeps_its_label(vlcs):
    for image in (vlcs / "LabelMe" / "car").iterdir():
        image.unlink()
    table = load(vlcs, set="vlcs")
    assert table.class_names == ("bird", "car", "chair", "dog", "person")
    of_domain = table.labels[table.domains == "LabelMe"]
    assert np.bincount(of_domain, minlength=5).tolist() == [2, 0, 2, 3, 2]


def test_folders_that_are_no_domain_of_a_set_are_told(vlcs):
    picture(vlcs / "ImageNet" / "bird" / "1.png")
    table = load(vlcs, set="vlcs")
    assert "ImageNet" not in table.domains
    assert "folders not used because they are not domains of VLCS: ImageNet" in notes(table)


def test_the_number_of_classes_is_told_where_only_that_is_known(tmp_path, write_domain_tree):
    domains = ("Art", "Clipart", "Product", "Real World")
    root = write_domain_tree(tmp_path, {domain: {"Bed": 2, "Oven": 2} for domain in domains})
    assert "Office-Home has 65 classes, but 2 were found" in notes(load(root, set="office_home"))


# ---------------------------------------------------------------- patients


def test_a_folder_may_name_the_patient(tmp_path):
    for domain in ("a", "b"):
        for patient in ("p1", "p2"):
            picture(tmp_path / domain / "yes" / patient / "1.png")
    with pytest.raises(InputError, match=r"folders below its class folders.*group_pattern"):
        load(tmp_path)
    table = load(tmp_path, group_pattern="^([^/]+)/")
    assert table.groups.tolist() == ["p1", "p2", "p1", "p2"]
    apart = load(tmp_path, group_pattern="^([^/]+)/", group_scope="domain")
    assert apart.groups.tolist() == ["a/p1", "a/p2", "b/p1", "b/p2"]


def test_a_tree_without_patients_says_so_and_a_known_set_of_objects_does_not(tree, vlcs):
    said = "no patient ids (data.group_pattern)"
    assert said in notes(load(tree))
    assert said not in notes(load(tree, group_pattern=r"^(\d)"))
    assert said not in notes(load(vlcs, set="vlcs"))


# ---------------------------------------------------------------- blacklist


def test_pictures_on_a_blacklist_are_left_out(tree, tmp_path):
    lines = ["scanner_b/malign/001.png", "", "# found twice", "./tree/scanner_c/normal/000.png"]
    (tmp_path / "list.txt").write_text("\r\n".join([*lines, "scanner_b/malign/none.png"]))
    table = load(tree, blacklist=tmp_path / "list.txt")
    gone = {"scanner_b/malign/001.png", "scanner_c/normal/000.png"}
    assert set(load(tree).ids.tolist()) - set(table.ids.tolist()) == gone
    assert "2 pictures left out by data.blacklist. 1 of its paths do not exist" in notes(table)
    assert "none.png" not in notes(table)  # names of files may name patients


# ---------------------------------------------------------------- packs and splits


def test_a_pack_holds_the_same_and_lies_beside_the_domains_unnoticed(tree, monkeypatch):
    section = config(tree, packed="auto", group_pattern=r"^(\d)")
    table = domain_folders.load(section)
    folder = store.usual_place(section, table.name)
    assert folder.parent.parent == tree
    assert store.make_pack(table, section, folder, workers=0, console=Console(quiet=True)) == "made"

    def opened(*_, **__):
        raise AssertionError("a picture was opened")

    pixels = table.images[:]
    for name in ("examined", "__getitem__"):
        monkeypatch.setattr(PictureFiles, name, opened)
    packed = load_table(section)
    assert isinstance(packed.images, np.memmap)
    assert np.array_equal(packed.images, pixels)
    assert hash_table(packed) == hash_table(table)
    assert packed.notes == table.notes


def test_a_pack_stands_alone_where_the_pictures_are_gone(vlcs):
    section = config(vlcs, packed="auto", set="vlcs")
    table = domain_folders.load(section)
    folder = store.usual_place(section, table.name)
    store.make_pack(table, section, folder, workers=0, console=Console(quiet=True))
    pixels = table.images[:]
    for domain in ("Caltech101", "LabelMe", "SUN09", "VOC2007"):
        shutil.rmtree(vlcs / domain)
    packed = load_table(section)
    assert np.array_equal(packed.images, pixels)
    assert np.array_equal(packed.ids, table.ids)
    assert any("is read from its pack alone" in note for note in packed.notes)


def test_a_division_by_rows_is_that_of_published_codes(tree):
    section = config(tree, split_rule="domainbed", val_fraction=0.2, held_out=["scanner_b"])
    table = domain_folders.load(section)
    rows = make_splits(table, section).rows
    # Seeds H(0, 0) and H(0, 2) of DomainBed: trial 0, first and third domain.
    for domain, seed in (("scanner_a", 894182419), ("scanner_c", 1325548499)):
        theirs = [path for path, _ in ImageFolder(tree / domain).samples]
        order = list(range(len(theirs)))
        np.random.RandomState(seed).shuffle(order)
        expected = {theirs[number] for number in order[: int(0.2 * len(theirs))]}
        of_domain = rows["id_val"][table.domains[rows["id_val"]] == domain]
        assert {str(tree / item) for item in table.ids[of_domain].tolist()} == expected


def contract_files(root, request):
    """A small tree for the contract tests."""
    domains = ("art_painting", "cartoon", "photo", "sketch")
    classes = ("dog", "elephant", "giraffe", "guitar", "horse", "house", "person")
    counts = {domain: dict.fromkeys(classes, 4) for domain in domains}
    request.getfixturevalue("write_domain_tree")(root / "PACS", counts)
