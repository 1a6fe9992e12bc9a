"""Trees of folders: what is an item, and trees that are not laid out as they should be."""

import pytest

from medldr.data.listing.folders import walk
from medldr.data.listing.trees import fault_of_levels, list_tree, read_tree
from medldr.errors import InputError

DOMAINS = ("domain", "label")


def items(root, levels, **keys):
    return [(item.path, item.names) for item in list_tree(root, levels, **keys).items]


def test_each_readable_file_is_an_item_and_names_come_from_its_folders(touch):
    root = touch(
        "a/x/1.PNG", "a/x/2.nii.gz", "a/x/3.nii", "a/x/4.mgz", "a/x/5.dcm", "a/x/6.npy", "a/x/IM7",
        "a/x/10.gif", "a/x/11.JFIF",
        "a/x/1.2.840.8", "b/y/9.hdr", "b/y/9.img", "b/y/10.img",
        "a/x/.DS_Store", "a/x/._1.png", "a/x/Thumbs.db", "a/x/desktop.ini", "a/__MACOSX/x/1.png",
        ".ipynb_checkpoints/x/1.png", "a/x/notes.txt", "labels.csv", "a/x/README",
        "study.yaml", "study_check.html",
    )  # fmt: skip
    tree = read_tree(root, DOMAINS)
    assert tree.texts == [
        *("a/x/1.2.840.8", "a/x/1.PNG", "a/x/10.gif", "a/x/11.JFIF", "a/x/2.nii.gz", "a/x/3.nii"),
        *("a/x/4.mgz", "a/x/5.dcm", "a/x/6.npy", "a/x/IM7", "b/y/10.img", "b/y/9.hdr"),
    ]
    assert (set(tree.roles["domain"]), set(tree.labels["label"])) == ({"a", "b"}, {"x", "y"})
    assert tree.places.unused == ("labels.csv", "a/x/README", "a/x/notes.txt")
    assert tree.notes == (
        "3 files are not used: their names end in .csv (1), others (1), .txt (1)",
    )


def test_heat_maps_beside_the_classes_are_no_scans(touch):
    root = touch("x/1.png", "y/2.png", "why/index.html", "why/0001.png", "why/0001.nii.gz")
    assert read_tree(root, ("label",)).texts == ["x/1.png", "y/2.png"]
    touch("why/mine.png")  # which nobody but the user wrote
    assert "why/mine.png" in read_tree(root, ("label",)).texts


def test_a_folder_of_slices_is_one_item_below_the_last_level(touch):
    root = touch("x/s1/IM1", "x/s1/IM2", "x/s1/DICOMDIR", "x/deep/s2/a.dcm", "y/r1.dcm", "y/r2.dcm")
    tree = read_tree(root, ("label",))
    assert tree.texts == ["x/deep/s2", "x/s1", "y/r1.dcm", "y/r2.dcm"]
    assert "2 folders are read as one DICOM series each" in tree.notes
    assert tree.places.unused == ("x/s1/DICOMDIR",)


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
    assert read_tree(root, ("label",)).notes == ("1 file is in folders below the last level",)
    root = touch("x/P1/a.png", "y/P2/b.png", root="deep")
    with pytest.raises(InputError, match=r"every file .*x/P1/a\.png.*<label>/<scan>.*group"):
        read_tree(root, ("label",))
    assert len(read_tree(root, ("label",), nested=True)) == 2


def test_empty_folders_are_no_classes_and_said(touch):
    root = touch("a/x/1.png", "b/x/1.png")
    for name in ("a/empty", "b/empty", "packed"):
        (root / name).mkdir()
    tree = read_tree(root, DOMAINS)
    assert len(tree) == 2
    assert tree.notes == ("2 folders hold no scan, hence no class or domain: a/empty, b/empty",)


def test_links_are_followed_dead_ones_told_and_loops_refused(touch):
    store = touch("x/1.png", root="store")
    root = touch("a/x/1.png")
    (root / "b").symlink_to(store)
    (root / "a" / "x" / "2.png").symlink_to(root / "nowhere")
    tree = list_tree(root, DOMAINS)
    assert [(item.path, item.dead) for item in tree.items] == [
        ("a/x/1.png", False),
        ("a/x/2.png", True),
        ("b/x/1.png", False),
    ]
    (root / "a" / "x" / "up").symlink_to(root / "a")
    with pytest.raises(InputError, match="up is a link to a folder above it"):
        read_tree(root, DOMAINS)


@pytest.mark.parametrize(
    ("files", "levels", "said"),
    [
        (["1.png"], DOMAINS, r"1 scan is above .*1\.png.*/<domain>/<label>/<scan>.*Found in"),
        (["a/x/1.png", "a/2.png"], DOMAINS, r"a/2\.png, directly in a\."),
        ([], DOMAINS, "holds no scans: found nothing in .*Expected"),
        (["a/x/1.svs", "b/y/1.SVS"], DOMAINS, r"no scans: .*\.svs \(2\)\. A whole .* tiles"),
        (
            ["train/x/1.png", "test/x/1.png"],
            DOMAINS,
            r"test, train are called like splits.*\[split",
        ),
        (["val/1.png", "train/1.png"], ("label",), "called like splits, but stand for a label"),
        (["train/x/1.png", "tset/x/1.png"], ("split", "label"), "'tset' .*Did you mean 'test'"),
    ],
)
def test_another_layout_is_refused_with_the_one_expected(touch, files, levels, said):
    root = touch(*files)
    with pytest.raises(InputError, match=f"(?s){said}"):
        read_tree(root, levels)


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        (("lable",), "'lable' is no meaning of a level. Did you mean 'label'?"),
        (("label", "label"), "names a level twice"),
        (("domain",), "has no level 'label'"),
    ],
)
def test_levels_that_make_no_sense_say_why(levels, said):
    assert said in fault_of_levels(levels)


def test_packs_at_the_top_are_passed_over_and_a_folder_of_that_name_is_not(touch):
    root = touch("a/1.png", "packed/set/pack.json", "packed/set.partial/x.npy", "a/packed/2.png")
    assert [folder.names for folder in walk(root)] == [(), ("a",), ("a", "packed")]
    root = touch("packed/1.png", root="other")
    assert [folder.names for folder in walk(root)] == [(), ("packed",)]


def test_an_absent_root_is_named(tmp_path):
    with pytest.raises(InputError, match=r"there is no folder .*none\. Expected .*<label>"):
        read_tree(tmp_path / "none", ("label",))
