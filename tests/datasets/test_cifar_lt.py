"""CIFAR-LT: the published files, read without running them; trees of pictures; long tails."""

import hashlib
import io
import pickle
import struct
import tarfile

import numpy as np
import pytest

from medldr.config import load_config
from medldr.data import check_table, validate_table
from medldr.data.build import build_data
from medldr.data.splits.make import make_splits
from medldr.datasets._cifar.published import SETS
from medldr.datasets.cifar_lt import Config, load, present, require
from medldr.errors import InputError
from medldr.folders.files import RunFolder
from medldr.folders.run_record import read_run_record
from medldr.run import train_run
from medldr.sweeps.plan.expand import expand
from medldr.sweeps.plan.file import load_sweep


def text(value):
    """A text as Python 2 pickled it."""
    raw = value.encode("latin-1") if isinstance(value, str) else value
    size = len(raw)
    return (b"U" + bytes([size]) if size < 256 else b"T" + struct.pack("<i", size)) + raw


def python2(values, *, column_major=False):
    """A pickle as the published ones are: Python 2, protocol 2, NumPy's old names of modules."""
    number = iter(range(1, 1_000_000))

    def kept():
        place = next(number)
        return b"q" + bytes([place]) if place < 256 else b"r" + struct.pack("<i", place)

    def one(value):
        if isinstance(value, str):
            return text(value) + kept()
        if isinstance(value, int):
            return b"K" + bytes([value]) if value < 256 else b"M" + struct.pack("<H", value)
        if isinstance(value, list):
            return b"]" + kept() + b"(" + b"".join(map(one, value)) + b"e"
        raw = value.tobytes(order="F" if column_major else "C")
        return (
            b"cnumpy.core.multiarray\n_reconstruct\n" + kept() + b"cnumpy\nndarray\n" + kept()
            + b"K\x00\x85" + kept() + text("b") + kept() + b"\x87" + kept() + b"R" + kept()
            + b"(K\x01" + one(value.shape[0]) + one(value.shape[1]) + b"\x86" + kept()
            + b"cnumpy\ndtype\n" + kept() + text("u1") + kept() + b"K\x00K\x01\x87" + kept()
            + b"R" + kept() + b"(K\x03" + text("|") + kept() + b"NNN" + 2 * b"J\xff\xff\xff\xff"
            + b"K\x00t" + kept() + b"b" + (b"\x88" if column_major else b"\x89") + text(raw)
            + kept() + b"t" + kept() + b"b"
        )  # fmt: skip

    items = b"".join(one(key) + one(value) for key, value in values.items())
    return b"\x80\x02}" + kept() + b"(" + items + b"u."


def python3(values):
    """The same saved by Python 3 with keys of bytes, as after loading with encoding="bytes"."""
    as_bytes = {key.encode(): value for key, value in values.items()}
    return pickle.dumps(as_bytes, protocol=2)


def batch(known, labels, seed):
    generator = np.random.default_rng(seed)
    data = generator.integers(0, 256, (len(labels), 3072), dtype=np.uint8)
    values = {
        "batch_label": "training batch",
        known.labels: labels,
        "data": data,
        "filenames": [f"leptodactylus_pentadactylus_s_{row:06d}.png" for row in range(len(labels))],
    }
    if known.classes == 100:
        values["coarse_labels"] = [label // 5 for label in labels]
    return values


def contents(name="cifar100_lt", each=6, test=2):
    """The values of all files of a set, with `each` training images of every class."""
    known, generator = SETS[name], np.random.default_rng(1)
    classes = np.arange(known.classes)
    files = {}
    labels = generator.permutation(np.repeat(classes, each))
    for number, part in enumerate(np.array_split(labels, len(known.train))):
        files[list(known.train)[number]] = batch(known, part.tolist(), number)
    files[next(iter(known.test))] = batch(known, np.repeat(classes, test).tolist(), 99)
    meta = {known.names: [f"thing {k:03d}" for k in range(known.classes)]}
    meta |= {"coarse_label_names": ["one", "two"]} if known.classes == 100 else {"num_vis": 3072}
    files[next(iter(known.meta))] = meta
    return files


def write(root, name="cifar100_lt", files=None, form=python2, **options):
    folder = root / SETS[name].folder
    folder.mkdir(parents=True, exist_ok=True)
    files = contents(name, **options) if files is None else files
    for file, values in files.items():
        (folder / file).write_bytes(values if isinstance(values, bytes) else form(values))
    return files


def contract_files(root, request):
    """Small files in the published format, with keys of ``CONTRACT_KEYS``."""
    write(root, "cifar10_lt", each=10)


def section(root, name="cifar100_lt", **keys):
    return Config(**{"set": name, "root": root, "md5": "any", **keys})


def refusal(config):
    with pytest.raises(InputError) as caught:
        load(config)
    return str(caught.value)


# ---------------------------------------------------------------- the published format


def test_the_files_of_these_tests_are_what_pythons_own_reader_takes_for_cifar():
    files = contents("cifar100_lt")
    for values in files.values():
        found = pickle.loads(python2(values), encoding="latin1")
        assert list(found) == list(values)
        for key, value in values.items():
            assert np.array_equal(found[key], value)
    turned = pickle.loads(python2(files["test"], column_major=True), encoding="latin1")
    assert np.array_equal(turned["data"], files["test"]["data"])


@pytest.mark.parametrize(("name", "form"), [("cifar10_lt", python2), ("cifar100_lt", python3)])
def test_published_files_become_a_table(tmp_path, name, form):
    files = write(tmp_path, name, form=form)
    known = SETS[name]
    table = load(section(tmp_path, name))
    validate_table(table)
    assert table.class_names == tuple(files[next(iter(known.meta))][known.names])
    train = [files[file] for file in known.train]
    assert table.images.shape == (8 * known.classes, 3, 32, 32)
    assert (table.splits == "train").sum() == 6 * known.classes
    expected = np.concatenate([v["data"] for v in (*train, files[next(iter(known.test))])])
    # A row of the file: 1,024 reds, 1,024 greens, 1,024 blues; line by line.
    assert np.array_equal(table.images[7, 1, 3], expected[7, 1024 + 96 : 1024 + 128])
    assert np.array_equal(table.images.reshape(len(table), -1), expected)
    assert table.labels.tolist()[: 6 * known.classes] == [
        label for values in train for label in values[known.labels]
    ]
    assert table.ids[[0, 6 * known.classes]].tolist() == ["train/0", "test/0"]
    for file in known.files:
        content = (tmp_path / known.folder / file).read_bytes()
        assert table.hashes[f"{known.folder}/{file}"] == hashlib.md5(content).hexdigest()
    assert not [note for note in check_table(table) if "constant" in note]


def test_the_archive_is_read_as_it_is(tmp_path):
    write(tmp_path / "loose")
    known = SETS["cifar100_lt"]
    with tarfile.open(tmp_path / known.archive, "w:gz") as archive:
        archive.add(tmp_path / "loose" / known.folder, known.folder)
    found, loose = load(section(tmp_path)), load(section(tmp_path / "loose"))
    assert np.array_equal(found.images, loose.images)
    assert found.hashes == loose.hashes
    assert present(section(tmp_path)) == f"in {tmp_path / known.archive}"
    assert sorted(path.name for path in tmp_path.iterdir()) == [known.archive, "loose"]


def test_links_and_other_folders_in_an_archive_are_not_followed(tmp_path):
    known = SETS["cifar100_lt"]
    secret = tmp_path / "secret"
    secret.write_bytes(python2(contents()["train"]))
    with tarfile.open(tmp_path / known.archive, "w:gz") as archive:
        link = tarfile.TarInfo(f"{known.folder}/train")
        link.type, link.linkname = tarfile.SYMTYPE, str(secret)
        archive.addfile(link)
        for name in ("test", "meta"):
            content = python2(contents()[name])
            info = tarfile.TarInfo(f"{known.folder}/{name}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    assert "lacks train of CIFAR-100" in refusal(section(tmp_path))


# ---------------------------------------------------------------- faults


def test_other_checksums_than_the_published_are_refused(tmp_path):
    write(tmp_path)
    found = refusal(section(tmp_path, md5="official"))
    assert "wrong checksum. MD5 expected 16019d7e3df5f24257cddd939b257f8d" in found
    assert "data.md5=any" in found
    assert "not compared with the published checksums" in load(section(tmp_path)).notes[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.pop("meta"), "lacks meta of CIFAR-100"),
        (lambda f: f["train"].pop("fine_labels"), "has the keys batch_label, coarse_labels, data"),
        (lambda f: f["train"]["fine_labels"].pop(), r"has 599 labels, but .* 600, one for each"),
        (lambda f: f["test"]["fine_labels"].__setitem__(3, 100), "has the label 100, but"),
        (lambda f: f["test"].update(data=np.zeros((200, 784), np.uint8)), "of shape 200 x 784"),
        (lambda f: f["meta"]["fine_label_names"].pop(), "has 99 class names, but .* has 100"),
        (lambda f: f.update(train=python2(f["train"])[:-5000]), "not a whole pickle"),
        (lambda f: f.update(train=pickle.dumps([1, 2], 2)), "has a list, but .* a dictionary"),
    ],
)
def test_a_wrong_file_is_named_with_what_is_wrong(tmp_path, change, message):
    files = contents()
    change(files)
    write(tmp_path, files=files)
    with pytest.raises(InputError, match=message):
        load(section(tmp_path))


def test_absent_files_are_refused_with_the_cure(tmp_path):
    config = section(tmp_path)
    with pytest.raises(InputError, match=r"CIFAR-100 is not in .*cifar-100-python\.tar\.gz"):
        require(config)
    assert "data.download=true" in refusal(config)
    assert present(config) == "missing (cifar-100-python.tar.gz)"
    require(section(tmp_path, download=True))


def test_the_download_has_the_published_address_and_checksum(tmp_path, monkeypatch):
    asked = {}

    def fetch(url, target, *, md5):
        asked.update(url=url, md5=md5, target=target)
        write(tmp_path / "loose")
        with tarfile.open(target, "w:gz") as archive:
            archive.add(tmp_path / "loose" / "cifar-100-python", "cifar-100-python")
        return target

    monkeypatch.setattr("medldr.datasets.cifar_lt.fetch", fetch)
    assert len(load(section(tmp_path, download=True))) == 800
    torchvision = pytest.importorskip("torchvision.datasets").CIFAR100
    assert asked["url"] == torchvision.url
    assert asked["md5"] == torchvision.tgz_md5
    assert asked["target"] == tmp_path / torchvision.filename


@pytest.mark.parametrize("name", ["cifar10_lt", "cifar100_lt"])
def test_what_is_published_is_what_torchvision_states(name):
    other = getattr(pytest.importorskip("torchvision.datasets"), name.removesuffix("_lt").upper())
    known = SETS[name]
    assert (known.folder, known.archive, known.url, known.md5) == (
        other.base_folder, other.filename, other.url, other.tgz_md5,
    )  # fmt: skip
    assert [list(pair) for pair in known.train.items()] == other.train_list
    assert [list(pair) for pair in known.test.items()] == other.test_list
    assert known.meta == {other.meta["filename"]: other.meta["md5"]}
    assert known.names == other.meta["key"]


# ---------------------------------------------------------------- long-tailed subsets


@pytest.fixture(scope="module")
def balanced(tmp_path_factory):
    """CIFAR-10's layout with 40 training images of each class, in a shuffled order."""
    root = tmp_path_factory.mktemp("cifar")
    write(root, "cifar10_lt", each=40)
    return root


def test_rows_are_those_of_the_published_code(balanced):
    table = load(section(balanced, "cifar10_lt"))
    keys = {"factor": 20, "order": "label"}
    rows, _ = make_splits(table, section(balanced, "cifar10_lt", imbalance=keys))
    generator = np.random.RandomState(0)  # what the published code does with the global one
    labels, expected = table.labels[table.splits == "train"], []
    for label in range(10):
        of_class = np.where(labels == label)[0]
        generator.shuffle(of_class)
        expected += of_class[: int(40 * 0.05 ** (label / 9))].tolist()
    assert rows["train"].tolist() == sorted(expected)
    assert rows["test"].tolist() == np.flatnonzero(table.splits == "test").tolist()
    assert set(rows) == {"train", "test"}


def test_validation_is_taken_from_every_class_before(balanced):
    keys = {"factor": 10, "order": "label"}
    config = section(balanced, "cifar10_lt", imbalance=keys, val_fraction=0.25)
    rows, notes = make_splits(load(config), config)
    labels = load(config).labels
    assert np.bincount(labels[rows["val"]]).tolist() == [10] * 10
    assert np.bincount(labels[rows["train"]])[[0, 9]].tolist() == [30, 3]
    assert "100 of its 400 training rows are used for validation" in notes[0]


def test_the_packaged_parts_are_the_published_construction():
    for name, classes in (("cifar10_lt", 10), ("cifar100_lt", 100)):
        part = load_config(
            {"extends": [f"data/{name}"], "transform": "none", "model": "resnet18",
             "algorithm": "erm"}
        ).data  # fmt: skip
        assert (part.set, part.val_fraction, part.md5) == (name, 0, "official")
        assert part.imbalance.model_dump() == {
            "factor": 100, "kind": "exp", "order": "label", "largest": None, "seed": 0,
        }  # fmt: skip
        assert SETS[name].classes == classes


def test_a_run_without_validation_is_told_which_selection_it_needs(balanced):
    run = {
        "data": {"name": "cifar_lt", "set": "cifar10_lt", "md5": "any", "root": str(balanced)},
        "transform": "none",
        "model": "resnet18",
        "algorithm": "erm",
    }
    data = build_data(load_config(run))
    assert data.selection_split is None
    assert data.spec.class_counts == (40,) * 10
    assert len(data.record()["subset_hash"]) == 64


# ---------------------------------------------------------------- the paper's table


@pytest.mark.slow
@pytest.mark.parametrize("label", ["balanced_softmax_latentdr", "bcl_batchformer"])
@pytest.mark.auto_precision
def test_a_run_of_the_papers_table_trains_on_files_in_the_published_format(label, tmp_path):
    write(tmp_path / "data", each=100, test=1)  # the full factor: from 100 images to 1
    changes = {
        "data.root": tmp_path / "data",
        "data.md5": "any",
        "training.epochs": 2,
        "training.warmup": 1,
        "model.width": 0.0625,
        "evaluation.draws": 100,
        "machine.report": "false",
    }
    sweep = load_sweep("cifar100lt_table", [f"{key}={value}" for key, value in changes.items()])
    planned = {(each.member.label, each.member.seed): each for each in expand(sweep, tmp_path)}
    assert len(planned) == 33
    done = train_run(planned[label, 0].config, tmp_path / "runs")
    assert done.metrics["test/accuracy"] is not None
    assert done.metrics["test/many_shot_accuracy"] is None  # no class has more than 100 here
    assert done.metrics["test/few_shot_accuracy"] is not None
    record = read_run_record(RunFolder(done.folder))
    assert record.epochs == 2
    assert len(record.data.written()["subset_hash"]) == 64
    assert record.protocol.endswith("+modified")


def test_an_array_by_columns_has_the_same_pixels(tmp_path):
    files = contents()
    write(tmp_path / "rows", files=files)
    write(tmp_path / "columns", files=files, form=lambda v: python2(v, column_major=True))
    rows, columns = (load(section(tmp_path / name)) for name in ("rows", "columns"))
    assert np.array_equal(rows.images, columns.images)


def test_a_cut_archive_is_named(tmp_path):
    write(tmp_path / "loose")
    known = SETS["cifar100_lt"]
    with tarfile.open(tmp_path / known.archive, "w:gz") as archive:
        archive.add(tmp_path / "loose" / known.folder, known.folder)
    whole = (tmp_path / known.archive).read_bytes()
    (tmp_path / known.archive).write_bytes(whole[: len(whole) // 2])
    found = refusal(section(tmp_path))
    assert found.startswith(f"{tmp_path / known.archive} cannot be read")
