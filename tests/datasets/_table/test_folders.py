"""Trees of folders: what is an item, and trees that are not laid out as they should be."""

import pytest

from medldr.datasets._table.folders import read_folders
from medldr.errors import InputError

DOMAINS = ("domain", "label")


def items(root, levels, **keys):
    return [(item.path, item.names) for item in read_folders(root, levels, **keys).items]


def test_each_readable_file_is_an_item_and_names_come_from_its_folders(touch):
    root = touch(
        "a/x/1.PNG", "a/x/2.nii.gz", "a/x/3.nii", "a/x/4.mgz", "a/x/5.dcm", "a/x/6.npy", "a/x/IM7",
        "a/x/10.gif", "a/x/11.JFIF",
        "a/x/1.2.840.8", "b/y/9.hdr", "b/y/9.img", "b/y/10.img",
        "a/x/.DS_Store", "a/x/._1.png", "a/x/Thumbs.db", "a/x/desktop.ini", "a/__MACOSX/x/1.png",
        ".ipynb_checkpoints/x/1.png", "a/x/notes.txt", "labels.csv", "a/x/README",
    )  # fmt: skip
    tree = read_folders(root, DOMAINS)
    assert [item.path for item in tree.items] == [
        *("a/x/1.2.840.8", "a/x/1.PNG", "a/x/10.gif", "a/x/11.JFIF", "a/x/2.nii.gz", "a/x/3.nii"),
        *("a/x/4.mgz", "a/x/5.dcm", "a/x/6.npy", "a/x/IM7", "b/y/10.img", "b/y/9.hdr"),
    ]
    assert {item.names for item in tree.items} == {("a", "x"), ("b", "y")}
    assert tree.unused == ("labels.csv", "a/x/README", "a/x/notes.txt")
    assert tree.notes == ("3 files are not used because of names that are not those of scans",)


def test_a_folder_of_slices_is_one_item_below_the_last_level(touch):
    root = touch("x/s1/IM1", "x/s1/IM2", "x/s1/DICOMDIR", "x/deep/s2/a.dcm", "y/r1.dcm", "y/r2.dcm")
    tree = read_folders(root, ("label",))
    assert [item.path for item in tree.items] == ["x/deep/s2", "x/s1", "y/r1.dcm", "y/r2.dcm"]
    assert "2 folders are read as one DICOM series each" in tree.notes
    assert tree.unused == ("x/s1/DICOMDIR",)


def test_a_patients_folder_of_slices_is_one_item_too(touch):
    root = touch("h/x/P1/1.dcm", "h/x/P1/2.dcm", "h/x/P2/s/1.dcm", "h/y/P3/a.png", "h/y/P3/b.png")
    assert items(root, ("domain", "label", "group")) == [
        ("h/x/P1", ("h", "x", "P1")),
        ("h/x/P2/s", ("h", "x", "P2")),
        ("h/y/P3/a.png", ("h", "y", "P3")),
        ("h/y/P3/b.png", ("h", "y", "P3")),
    ]


def test_some_files_may_be_deeper_but_not_all(touch):
    root = touch("x/a.png", "x/more/b.png")
    assert read_folders(root, ("label",)).notes == ("1 file is in folders below the last level",)
    root = touch("x/P1/a.png", "y/P2/b.png", root="deep")
    with pytest.raises(InputError, match=r"every file .*x/P1/a\.png.*<label>/<scan>.*group"):
        read_folders(root, ("label",))
    assert len(items(root, ("label",), nested=True)) == 2


def test_empty_folders_are_no_classes_and_said(touch):
    root = touch("a/x/1.png", "b/x/1.png")
    for name in ("a/empty", "b/empty", "packed"):
        (root / name).mkdir()
    tree = read_folders(root, DOMAINS)
    assert len(tree.items) == 2
    assert tree.notes == ("2 folders hold no scan, hence no class or domain: a/empty, b/empty",)


def test_links_are_followed_dead_ones_told_and_loops_refused(touch):
    store = touch("x/1.png", root="store")
    root = touch("a/x/1.png")
    (root / "b").symlink_to(store)
    (root / "a" / "x" / "2.png").symlink_to(root / "nowhere")
    tree = read_folders(root, DOMAINS)
    assert [(item.path, item.dead) for item in tree.items] == [
        ("a/x/1.png", False),
        ("a/x/2.png", True),
        ("b/x/1.png", False),
    ]
    (root / "a" / "x" / "up").symlink_to(root / "a")
    with pytest.raises(InputError, match="up is a link to a folder above it"):
        read_folders(root, DOMAINS)


@pytest.mark.parametrize(
    ("files", "levels", "said"),
    [
        (["1.png"], DOMAINS, r"1 scan is above .*1\.png.*/<domain>/<label>/<scan>.*Found in"),
        (["a/x/1.png", "a/2.png"], DOMAINS, r"a/2\.png, directly in a\."),
        ([], DOMAINS, "holds no scans. Expected .*Found nothing in"),
        (["a/x/notes.txt"], DOMAINS, "holds no scans"),
        (
            ["train/x/1.png", "test/x/1.png"],
            DOMAINS,
            r"test, train are called like splits.*\[split",
        ),
        (["val/1.png", "train/1.png"], ("label",), "called like splits, but stand for a label"),
        (["train/x/1.png", "tset/x/1.png"], ("split", "label"), "'tset' .*Did you mean 'test'"),
        (["a/1.png"], ("lable",), "'lable' is no meaning.*Did you mean 'label'"),
        (["a/1.png"], ("label", "label"), "a level twice"),
        (["a/1.png"], ("domain",), "no level 'label'"),
    ],
)
def test_another_layout_is_refused_with_the_one_expected(touch, files, levels, said):
    root = touch(*files)
    with pytest.raises(InputError, match=f"(?s){said}"):
        read_folders(root, levels)


def test_an_absent_root_is_named(tmp_path):
    with pytest.raises(InputError, match=r"there is no folder .*none\. Expected .*<label>"):
        read_folders(tmp_path / "none", ("label",))
