"""Trees of one's own: pictures as a person sees them, one depth for all, names as they are read."""

import unicodedata
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from medldr.data import check_table, load_table, store
from medldr.data.reading import pictures as reading
from medldr.datasets import domain_folders
from medldr.errors import InputError

CLASSES = ("dog", "elephant", "giraffe", "guitar", "horse", "house", "person")
DOMAINS = ("art_painting", "cartoon", "photo", "sketch")


def config(root, **keys):
    return domain_folders.Config(root=root, **{"packed": "off", "size": 16, **keys})


def load(root, **keys):
    return domain_folders.load(config(root, **keys))


def row(table, item):
    return table.images[table.ids.tolist().index(item)]


@pytest.fixture
def tree(tmp_path, write_domain_tree):
    counts = {domain: {"no": 5, "yes": 5} for domain in "ab"}
    return write_domain_tree(tmp_path / "tree", counts)


def deep(path, top, seed=0):
    """A 16-bit picture whose greatest value is `top`."""
    values = np.random.default_rng(seed).integers(0, top, (16, 16), dtype=np.uint16)
    values[3, 3] = top
    Image.fromarray(values).save(path)
    return values.astype(np.int64)


def odd_ones(folder):
    """A see-through picture, a photograph lying down, and one of 16 bits, with their pixels."""
    generator = np.random.default_rng(1)
    clear = generator.integers(0, 256, (16, 16, 4), dtype=np.uint8)
    Image.fromarray(clear).save(folder / "clear.png")
    lying = generator.integers(0, 256, (16, 16, 3), dtype=np.uint8)
    exif = Image.Exif()
    exif[274] = 3
    Image.fromarray(lying).save(folder / "lying.png", exif=exif)
    return clear, lying, deep(folder / "deep.png", 4000)


# ---------------------------------------------------------------- pixels


def test_own_pictures_are_seen_as_a_person_sees_them(tree):
    clear, lying, values = odd_ones(tree / "a" / "no")
    table = load(tree)
    part = clear[..., 3:] / 255
    blended = np.floor(clear[..., :3] * part + 255 * (1 - part) + 0.5)
    assert np.array_equal(row(table, "a/no/clear.png"), blended.transpose(2, 0, 1))
    assert np.array_equal(row(table, "a/no/lying.png"), lying[::-1, ::-1].transpose(2, 0, 1))
    assert np.array_equal(row(table, "a/no/deep.png"), [np.rint(values * 255 / 4095)] * 3)
    notes = " ".join(check_table(table))
    assert "1 picture has transparent pixels, which are seen on white" in notes
    assert "turned upright, as their camera noted (data.exif): 1." in notes
    assert "1 picture has more than 8 bits; their greatest value is 4,000" in notes
    assert "read as 12-bit pictures" in notes


def test_keys_decide_otherwise(tree):
    clear, lying, values = odd_ones(tree / "a" / "no")
    table = load(tree, ground="black", exif=False, bit_depth=16)
    blended = np.floor(clear[..., :3] * (clear[..., 3:] / 255) + 0.5)
    assert np.array_equal(row(table, "a/no/clear.png"), blended.transpose(2, 0, 1))
    assert np.array_equal(row(table, "a/no/lying.png"), lying.transpose(2, 0, 1))
    assert np.array_equal(row(table, "a/no/deep.png"), [np.rint(values * 255 / 65535)] * 3)
    assert table.hashes != load(tree).hashes
    assert "turned" not in " ".join(check_table(table))


def test_a_known_set_is_converted_as_ever(tmp_path, write_domain_tree):
    root = write_domain_tree(tmp_path, {name: dict.fromkeys(CLASSES, 1) for name in DOMAINS})
    clear, lying, values = odd_ones(root / "photo" / "dog")
    Image.new("RGB", (9, 9)).save(root / "photo" / "dog" / "old.gif")
    table = load(root, set="pacs")
    assert np.array_equal(row(table, "photo/dog/clear.png"), clear[..., :3].transpose(2, 0, 1))
    assert np.array_equal(row(table, "photo/dog/lying.png"), lying.transpose(2, 0, 1))
    assert np.array_equal(row(table, "photo/dog/deep.png"), [values >> 8] * 3)
    assert "photo/dog/old.gif" not in table.ids  # as in torchvision's ImageFolder
    assert not any("data.ground" in note for note in check_table(table))


@pytest.mark.parametrize("key", [{"ground": "black"}, {"exif": False}, {"bit_depth": 12}])
def test_a_known_set_refuses_keys_of_own_pictures(key):
    with pytest.raises(ValueError, match=rf"data\.{next(iter(key))} is for pictures of one's own"):
        config(None, set="pacs", **key)
    config(None, set="pacs", ground="white", exif=True, bit_depth="auto")  # as written in a run


# ---------------------------------------------------------------- one depth for all


@pytest.mark.parametrize(("tops", "bits"), [((200, 255), 8), ((200, 4095), 12), ((200, 4096), 16)])
def test_the_greatest_value_of_the_whole_tree_decides(tree, tops, bits):
    values = [
        deep(tree / d / "no" / "deep.png", top, top) for d, top in zip("ab", tops, strict=True)
    ]
    table = load(tree)
    for domain, expected in zip("ab", values, strict=True):
        found = row(table, f"{domain}/no/deep.png")
        assert np.array_equal(found, [np.rint(expected * 255 / (2**bits - 1))] * 3)
    assert f"read as {bits}-bit pictures" in " ".join(check_table(table))


def test_a_value_above_the_stated_depth_makes_its_file_a_bad_one(tree):
    deep(tree / "a" / "no" / "low.png", 4000)
    deep(tree / "b" / "no" / "high.png", 5000)
    with pytest.raises(InputError, match=r"b/no/high\.png \(its greatest value 5,000 needs more"):
        load(tree, bit_depth=12)
    table = load(tree, bit_depth=12, on_bad_file="skip")
    assert [file.path for file in table.bad_files] == ["b/no/high.png"]
    assert "a/no/low.png" in table.ids
    load(tree, bit_depth=16)


def test_real_numbers_are_read_by_a_window_alone(tree):
    values = np.random.default_rng(0).normal(size=(16, 16)).astype(np.float32)
    Image.fromarray(values).save(tree / "a" / "no" / "real.tif")
    with pytest.raises(InputError, match=r"real\.tif .*data\.bit_depth=window"):
        load(tree)
    table = load(tree, bit_depth="window")
    low, high = np.percentile(values, [0.5, 99.5])
    expected = np.rint(np.clip((values - low) / (high - low), 0, 1) * 255)
    assert np.array_equal(row(table, "a/no/real.tif"), [expected] * 3)
    assert "its own 0.5th and 99.5th percentile" in " ".join(check_table(table))


def test_examining_shows_deep_pictures_too_as_they_are_given_out(tree):
    odd_ones(tree / "a" / "no")
    shown = {}
    domain_folders.examine(config(tree), shown.__setitem__)
    table = load(tree)
    assert set(shown) == set(table.ids.tolist())
    assert all(np.array_equal(shown[item], row(table, item)) for item in table.ids.tolist())


def test_a_pack_keeps_what_was_found_when_it_was_made(tree):
    odd_ones(tree / "a" / "no")
    section = config(tree, packed="auto")
    table = domain_folders.load(section)
    folder = store.usual_place(section, table.name)
    store.make_pack(table, section, folder, workers=0, console=Console(quiet=True))
    assert np.array_equal(load_table(section).images, table.images[:])
    facts = store.open_pack(folder, section).facts
    assert facts.findings == tuple(check_table(table))
    assert any("12-bit" in text for text in facts.findings)


# ---------------------------------------------------------------- proved once


@pytest.fixture
def decoded(monkeypatch):
    """Paths of the pictures that were decoded to be proved."""
    paths = []
    read = reading.examine_own
    monkeypatch.setattr(
        reading, "examine_own", lambda path, rules: paths.append(path) or read(path, rules)
    )
    return paths


def test_a_repaired_picture_is_the_only_one_that_is_decoded_again(tree, decoded):
    victim = tree / "b" / "yes" / "002.png"
    content = victim.read_bytes()
    middle = len(content) // 2
    victim.write_bytes(content[:middle] + bytes(20) + content[middle + 20 :])
    with pytest.raises(InputError, match=r"b/yes/002\.png \(unreadable"):
        load(tree)
    decoded.clear()
    victim.write_bytes(content)
    assert len(load(tree)) == 20
    assert decoded == [victim]


# ---------------------------------------------------------------- odd shapes and endings


# ---------------------------------------------------------------- names


def forms(name):
    return unicodedata.normalize("NFC", name), unicodedata.normalize("NFD", name)


def test_a_domain_in_two_forms_is_one_and_is_held_out_by_either(tmp_path, write_domain_tree):
    one, other = forms("süd")
    write_domain_tree(tmp_path, {one: {"no": 3}, other: {"yes": 3}, "west": {"no": 3, "yes": 3}})
    if len(list(tmp_path.iterdir())) < 3:
        pytest.skip("this file system takes both forms for one name")
    table = load(tmp_path)
    assert sorted(set(table.domains.tolist())) == [one, "west"]
    for form in (one, other):
        section = config(tmp_path, held_out=[form])
        assert section.held_out == (one,)
        domain_folders.require(section)


def test_a_patient_in_two_forms_is_one(tmp_path, write_domain_tree):
    write_domain_tree(tmp_path, {"a": {"no": 1}, "b": {"no": 1}})
    for domain, form in zip("ab", forms("Müller"), strict=True):
        (tmp_path / domain / "no" / "000.png").rename(tmp_path / domain / "no" / f"{form}_1.png")
    table = load(tmp_path, group_pattern="^([^_]+)_")
    assert table.groups.tolist() == [forms("Müller")[0]] * 2


def test_a_blacklist_may_be_written_in_either_form(tmp_path, write_domain_tree):
    one, other = forms("Ödem")
    write_domain_tree(tmp_path / "tree", {"a": {other: 2, "no": 2}})
    (tmp_path / "list.txt").write_text(f"a/{one}/000.png\n")
    table = load(tmp_path / "tree", blacklist=tmp_path / "list.txt")
    assert len(table) == 3


@pytest.mark.parametrize("names", [("Site A", "site_a")])
def test_two_spellings_of_a_domain_are_refused_at_once(tmp_path, write_domain_tree, names):
    write_domain_tree(tmp_path, {name: {"no": 1, "yes": 1} for name in names})
    if len(list(tmp_path.iterdir())) < 2:
        pytest.skip("this file system does not tell small letters from capitals")
    for ask in (domain_folders.require, domain_folders.load):
        with pytest.raises(InputError, match="would be two domains, but differ only in spelling"):
            ask(config(tmp_path))


def test_numbers_are_names_of_their_own(tmp_path, write_domain_tree):
    names = ("01", "1", "1_0", "10", "1e3")
    write_domain_tree(tmp_path, {name: {"no": 1, "yes": 1} for name in names})
    assert sorted(set(load(tmp_path).domains.tolist())) == sorted(names)


def test_a_domain_called_train_beside_others_is_one(tmp_path, write_domain_tree):
    write_domain_tree(tmp_path, {name: {"no": 2, "yes": 2} for name in ("train", "tram")})
    assert set(load(tmp_path).domains.tolist()) == {"train", "tram"}


def test_nothing_is_written_beside_the_pictures(tree):
    before = sorted(Path(tree).rglob("*"))
    load(tree)
    assert sorted(Path(tree).rglob("*")) == before
