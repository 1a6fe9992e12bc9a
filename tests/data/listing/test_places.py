"""Files of a table: found however their names are stored, or listed with line and path."""

import os
import unicodedata

from medldr.data.listing.places import ABSENT, DEAD, find_places


def found(root, *texts, others=()):
    result = find_places(texts, root, others)
    places = [
        None if one is None else (str(one.path).removeprefix(f"{root}/"), one.part)
        for one in result.sources
    ]
    return places, result


def test_names_are_found_in_both_normal_forms_and_with_windows_separators(touch):
    decomposed = unicodedata.normalize("NFD", "Köln")
    root = touch(f"{decomposed}/{decomposed}.png", "a b/å.png", "病例1.png", "c/d.png")
    places, result = found(
        root, "Köln/Köln.png", "a b\\å.png", "./病例1.png", "c//d.png", "a b/../c/d.png"
    )
    assert [path for path, _ in places] == [
        f"{decomposed}/{decomposed}.png",
        "a b/å.png",
        "病例1.png",
        "c/d.png",
        "a b/../c/d.png",
    ]
    assert result.paths[:4] == ["Köln/Köln.png", "a b/å.png", "病例1.png", "c/d.png"]
    assert not result.absent


def test_of_two_names_that_look_alike_the_one_that_is_written_is_taken(touch):
    names = ["Köln.png", unicodedata.normalize("NFD", "Köln.png")]
    root = touch(*names)
    assert [path for path, _ in found(root, *names)[0]] == names


def test_a_backslash_that_is_in_a_name_is_found_first(touch):
    root = touch("a\\b.png", "a/b.png")
    assert found(root, "a\\b.png")[0] == [("a\\b.png", "")]


def test_absolute_paths_and_the_home_folder(touch, monkeypatch):
    root = touch("x/a.png")
    monkeypatch.setenv("HOME", str(root))
    places, result = found(root, str(root / "x" / "a.png"), "~/x/a.png", "x/../x/a.png")
    assert [path for path, _ in places] == ["x/a.png", "x/a.png", "x/../x/a.png"]
    assert result.paths[0] == "x/a.png"
    outside, _ = found(root / "x", "../x/a.png")
    assert outside == [("../x/a.png", "")]


def test_parts_after_a_number_sign(touch):
    root = touch("s/IM1", "a.npz", "odd#1.png", "odd#2/x#3.npz")
    places, _ = found(
        root, "s#1.2.840", "a.npz#images[3]", "odd#1.png", "odd#2/x#3.npz#m", "s/", "a.npz#", "a#b"
    )
    assert places == [
        ("s", "1.2.840"),
        ("a.npz", "images[3]"),
        ("odd#1.png", ""),
        ("odd#2/x#3.npz", "m"),
        ("s", ""),
        ("a.npz", ""),
        None,
    ]


def test_what_is_absent_says_why(touch):
    root = touch("A.png")
    (root / "gone.png").symlink_to(root / "nowhere.png")
    _, result = found(root, "a.png", "gone.png", "none/a.png", "A.png/x.png", "C:\\x\\A.png")
    assert result.absent == {0: ABSENT, 1: DEAD, 2: ABSENT, 3: ABSENT, 4: ABSENT}


def test_links_are_followed(touch):
    root = touch("real/a.png", root="store")
    here = touch()
    (here / "linked").symlink_to(root / "real")
    (here / "b.png").symlink_to(root / "real" / "a.png")
    places, _ = found(here, "linked/a.png", "b.png")
    assert places == [("linked/a.png", ""), ("b.png", "")]


def test_files_that_no_row_names_are_those_beside_the_others(touch):
    root = touch(
        "x/a.png", "x/b.png", "x/notes.txt", "x/.hidden.png", "x/m.nii.gz", "y/c.png",
        "x/p.hdr", "x/p.img",
    )  # fmt: skip
    _, result = found(root, "x/a.png", "x/p.hdr", others=["x/m.nii.gz"])
    assert result.unused == ("x/b.png",)


def test_a_folder_that_may_be_entered_but_not_listed(touch, monkeypatch):
    root = touch("shut/a.png")
    scandir = os.scandir

    def guarded(path):
        if str(path).endswith("shut"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    places, result = found(root, "shut/a.png", "shut/b.png")
    assert places == [("shut/a.png", ""), None]
    assert result.absent == {1: ABSENT}
