"""Trees that cannot be used: each fault is named before the first step, with what to do."""

import os
import shutil

import numpy as np
import pytest
from PIL import Image

from medldr.config import load_config
from medldr.data import load_table
from medldr.data.splits.make import make_splits
from medldr.datasets import domain_folders
from medldr.errors import InputError

CLASSES = ("dog", "elephant", "giraffe", "guitar", "horse", "house", "person")
DOMAINS = ("art_painting", "cartoon", "photo", "sketch")
PACS = {domain: dict.fromkeys(CLASSES, 2) for domain in DOMAINS}
OWN = {"a": {"no": 20, "yes": 20}, "b": {"no": 20, "yes": 20}}


@pytest.fixture(scope="module")
def trees(tmp_path_factory, write_domain_tree):
    root = tmp_path_factory.mktemp("trees")
    return write_domain_tree(root / "PACS", PACS), write_domain_tree(root / "tree", OWN)


@pytest.fixture
def pacs(trees, tmp_path):
    return shutil.copytree(trees[0], tmp_path / "PACS")


@pytest.fixture
def tree(trees, tmp_path):
    return shutil.copytree(trees[1], tmp_path / "tree")


def config(root, **keys):
    return domain_folders.Config(root=root, **{"packed": "off", "size": 16, **keys})


def refuses(message, root, **keys):
    with pytest.raises(InputError, match=f"(?s){message}") as caught:
        domain_folders.load(config(root, **keys))
    return str(caught.value)


def at_once(root, message, **keys):
    """Refused by `require`, which reads nothing, as by `load`."""
    with pytest.raises(InputError, match=message):
        domain_folders.require(config(root, **keys))
    return refuses(message, root, **keys)


# ---------------------------------------------------------------- where it is


def test_any_tree_needs_its_folder(tmp_path):
    at_once(None, r"data\.root is not set.*<domain>/<class>/<image>.*data\.set")
    at_once(tmp_path / "none", r"has no domain folders\. Found no such folder: .*none")
    (tmp_path / "file").touch()
    at_once(tmp_path / "file", r"Found a file: .*file\. Expected")
    assert domain_folders.present(config(None)) == "missing (set data.root)"


def test_an_absent_set_says_where_it_was_looked_for_and_what_is_there(tmp_path):
    (tmp_path / "OfficeHome").mkdir()
    message = at_once(tmp_path, "PACS is not in .* or .*PACS", set="pacs")
    assert "OfficeHome/" in message
    assert "'art_painting', 'cartoon', 'photo', 'sketch'" in message
    assert domain_folders.present(config(tmp_path, set="pacs")) == "missing (PACS)"


def test_a_domain_by_another_name_is_told_with_the_nearest(pacs):
    (pacs / "art_painting").rename(pacs / "Art_Painting")
    at_once(pacs, r"no folder 'art_painting'\. Did you mean 'Art_Painting'\?", set="pacs")


def test_a_domain_of_a_set_without_pictures_is_refused(pacs):
    shutil.rmtree(pacs / "photo")
    (pacs / "photo").mkdir()
    refuses("domain 'photo' of PACS has no pictures", pacs, set="pacs")


# ---------------------------------------------------------------- how it is laid out


def test_a_single_domain_is_not_taken_for_a_tree(tree):
    message = refuses("20 pictures are directly in the folder of the domain 'no'", tree / "a")
    assert f"if a is itself a domain, set data.root={tree}" in message
    assert "<domain>/<class>/<image>" in message


def test_a_domain_without_class_folders_is_named(tree):
    for image in sorted((tree / "b").rglob("*.png")):
        image.rename(tree / "b" / f"{image.parent.name}_{image.name}")
    for name in ("no", "yes"):
        (tree / "b" / name).rmdir()
    refuses("40 pictures are directly in the folder of the domain 'b'", tree)


def test_a_tree_one_level_too_deep_is_told(tree):
    refuses("set data.root one level deeper.*data.root=.*tree", tree.parent)


def test_pictures_at_the_top_and_an_empty_folder_are_told(tmp_path):
    at_once(tmp_path, "has no domain folders. Found nothing in")
    Image.new("RGB", (9, 9)).save(tmp_path / "a.png")
    at_once(tmp_path, r"has no domain folders. Found in .*: a\.png")
    (tmp_path / "b").mkdir()
    refuses("1 pictures are directly in it", tmp_path)
    (tmp_path / "a.png").unlink()
    refuses("it contains no pictures", tmp_path)


def test_a_folder_that_is_no_class_of_a_set_is_told_with_the_nearest(pacs):
    (pacs / "photo" / "dog").rename(pacs / "photo" / "Dog")
    refuses(r"photo/Dog is not a class of PACS\. Did you mean 'dog'\?", pacs, set="pacs")


def test_two_spellings_of_a_class_are_not_two_classes(tree):
    (tree / "b" / "yes").rename(tree / "b" / "Yes")
    refuses("b/Yes and a/yes would be two classes", tree)
    (tree / "a" / "Yes").mkdir()
    shutil.copy(tree / "a" / "yes" / "000.png", tree / "a" / "Yes")  # meant: both are in one domain
    assert domain_folders.load(config(tree)).class_names == ("Yes", "no", "yes")


def test_a_name_that_is_not_utf_8_is_refused(tree):
    bad = tree / "a" / "no" / "caf\udce9.png"
    shutil.copy(tree / "a" / "no" / "000.png", bad)
    refuses("is not UTF-8. Rename it", tree)


# ---------------------------------------------------------------- broken pictures


def spoil(tree):
    """A cut JPEG, an empty PNG, a dead link and a text, as paths."""
    folder = tree / "b" / "yes"
    pixels = np.random.default_rng(0).integers(0, 256, (60, 70, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(folder / "cut.jpg")
    content = (folder / "cut.jpg").read_bytes()
    (folder / "cut.jpg").write_bytes(content[: len(content) // 2])
    (folder / "empty.png").touch()
    (folder / "gone.png").symlink_to("nowhere.png")
    (folder / "page.jpeg").write_text("<html>404</html>")
    return [f"b/yes/{name}" for name in ("cut.jpg", "empty.png", "gone.png", "page.jpeg")]


def test_broken_pictures_are_named_or_left_out_where_that_is_asked_for(tree):
    before = domain_folders.load(config(tree))
    bad = spoil(tree)
    message = refuses(r"4 of 84 pictures cannot be used.*data\.on_bad_file=skip", tree)
    assert all(f"{path} (" in message for path in bad)
    table = domain_folders.load(config(tree, on_bad_file="skip"))
    assert [file.path for file in table.bad_files] == bad
    assert np.array_equal(table.ids, before.ids)
    assert np.array_equal(table.labels, before.labels)
    assert np.array_equal(table.images[:], before.images[:])
    assert any("4 of 84 pictures were left out" in note for note in table.notes)
    again = domain_folders.load_again(config(tree, on_bad_file="skip"), table.bad_files)
    assert again.notes == table.notes
    assert again.hashes == table.hashes
    assert again.images.stamp == table.images.stamp


def test_a_tree_of_broken_pictures_alone_is_refused_all_the_same(tree):
    for image in tree.rglob("*.png"):
        image.write_bytes(b"")
    refuses("80 of 80 pictures cannot be used", tree, on_bad_file="skip")


# ---------------------------------------------------------------- blacklist and patients


def test_a_blacklist_that_names_nothing_is_refused(tree, tmp_path):
    file = tmp_path / "list.txt"
    refuses("data.blacklist: .*list.txt cannot be read", tree, blacklist=file)
    file.write_text("")
    refuses("none of the 0 paths", tree, blacklist=file)
    file.write_text("clipart/clock/1.jpg\n")
    refuses("none of the 1 paths.*such as clipart/clock/1.jpg", tree, blacklist=file)
    file.write_bytes(b"\xff\xfe\x00")
    refuses("list.txt is not UTF-8 text with one path per line", tree, blacklist=file)
    file.unlink()
    os.mkfifo(file)
    refuses("list.txt is a pipe, not a file", tree, blacklist=file)
    file.unlink()
    file.write_text("\n".join(p.relative_to(tree).as_posix() for p in tree.rglob("*.png")))
    refuses("lists every picture", tree, blacklist=file)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [("P(", "not a valid regular expression"), (r"P\d+", "has no group: put parentheses")],
)
def test_a_group_pattern_that_cannot_work_is_refused_as_a_key(trees, pattern, message):
    mapping = {
        "data": {"name": "domain_folders", "root": str(trees[1]), "group_pattern": pattern},
        "model": "resnet18",
        "algorithm": "erm",
        "transform": "none",
    }
    with pytest.raises(InputError, match=rf"data\.group_pattern.*{message}"):
        load_config(mapping)


@pytest.mark.parametrize("pattern", [r"^(P\d+)", r"^(x?)\d"])
def test_an_image_without_a_group_is_named(trees, pattern):
    said = "finds no group in 80 of 80 paths: '000.png' of a/no/000.png"
    refuses(said, trees[1], group_pattern=pattern)


# ---------------------------------------------------------------- held-out domains


def splits(root, **keys):
    section = config(root, **keys)
    return make_splits(load_table(section), section)


@pytest.mark.parametrize("rule", ["stratified", "domainbed"])
def test_a_class_in_the_held_out_domain_alone_is_refused_before_the_first_step(tree, rule):
    shutil.rmtree(tree / "a" / "yes")
    with pytest.raises(InputError, match=r"class 'yes' of .*0 training rows.*data\.held_out") as e:
        splits(tree, held_out=["b"], split_rule=rule)
    assert "allow_missing_classes=true" in str(e.value)
    notes = splits(tree, held_out=["b"], split_rule=rule, allow_missing_classes=True).notes
    assert any("it can never be predicted well" in note for note in notes)


def test_a_wrong_held_out_name_is_told_before_anything_is_read(trees):
    """So that a sweep with such an axis does not start."""
    pacs, tree = trees
    for name in ("PHOTO", "phto", "photo "):
        with pytest.raises(InputError, match=r"pacs has no domain .*Did you mean 'photo'"):
            domain_folders.require(config(pacs, set="pacs", held_out=[name]))
    with pytest.raises(InputError, match=r"no domain 'z'.*Domains: a, b"):
        domain_folders.require(config(tree, held_out=["z"]))
    with pytest.raises(InputError, match="every domain of domain_folders is held out"):
        domain_folders.require(config(tree, held_out=["a", "b"]))
    domain_folders.require(config(pacs, set="pacs", held_out=["photo"]))
