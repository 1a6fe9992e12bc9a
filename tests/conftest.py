"""Fixtures for every test: few threads, no network, the command, the real data where it is."""

import contextlib
import functools
import importlib.metadata
import importlib.util
import itertools
import os
import shutil
import signal
import socket
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch
import typer
from _pytest.doctest import DoctestModule
from PIL import Image

from medldr import cli
from medldr.config import identity, yaml
from medldr.reporting import prose
from medldr.reporting.figures import drawing

os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # of processes that tests start
# Packages that tests make or bring; what nobody allowed is told in tests/test_plugins.py.
os.environ["MEDLDR_PLUGINS"] = "mylab,lab,case_lab,lab_of_pixels,printed_lab,tiny_lab,toys,outside"
REAL_DATA = Path(__file__).parents[2] / "shared" / "data"
# Lightning looks through every installed package for each Fabric.
importlib.metadata.entry_points = functools.cache(importlib.metadata.entry_points)


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    torch.set_num_threads(1)


@pytest.fixture(autouse=True, scope="session")
def _no_seeds_for_absent_devices():
    """torch keeps each, with where it was set, for the day when the device appears."""
    with pytest.MonkeyPatch.context() as patch:
        for device in (torch.cuda, torch.xpu, torch.mtia):
            if not device.is_available():
                patch.setattr(device, "manual_seed_all", lambda seed: None)
        yield


@pytest.fixture(autouse=True, scope="session")
def _ctrl_c():
    """Ctrl-C does what it does at a terminal, also under cron, nohup and in background jobs.

    Those start programs with SIGINT or SIGHUP ignored, which Python and its child processes keep.
    """
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(autouse=True, scope="session")
def _no_waiting_for_the_disk():
    """No test can see whether a file would outlive a power cut, and each sync waits."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


_render = drawing._render


@pytest.fixture(autouse=True, scope="session")
def _commands_are_built_once():
    """typer builds the whole tree of commands at each call, which takes longer than many do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", functools.cache(typer.main.get_command))
        yield


@pytest.fixture(autouse=True, scope="session")
def _configurations_are_read_and_written_once():
    """Tests of sweeps and runs have the same ones again and again: a tenth of their time."""
    texts, documents, write, read = {}, {}, identity.write_yaml, yaml._document

    def written(values, comment=""):
        key = repr(values), comment
        if key not in texts:
            texts[key] = write(values, comment)
        return texts[key]

    def document(text, source):
        if text not in documents:
            documents[text] = read(text, source)
        return replace(documents[text], source=source)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(identity, "write_yaml", written)
        patch.setattr(yaml, "_document", document)
        yield


@pytest.fixture(autouse=True, scope="session")
def _blank_figures():
    """Drawing takes most of the time of a page, and few tests of pages look at figures."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "_render", lambda *_: '<svg viewBox="0 0 1 1"></svg>')
        yield


@pytest.fixture(autouse=True, scope="session")
def _failed_sections_fail_tests():
    """A page lives without a section that fails; a test must not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prose, "STRICT", True)
        yield


@pytest.fixture(scope="session")
def figures():
    """A context in which figures are drawn, which are else left blank."""

    @contextlib.contextmanager
    def draw():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(drawing, "_render", _render)
            yield

    return draw


@pytest.fixture(scope="module")
def drawn(figures):
    """For tests that look at figures."""
    with figures():
        yield


@pytest.fixture(autouse=True, scope="session")
def _no_internet():
    """Only this machine may be reached: gloo needs its loopback, nothing needs the internet."""
    connect = socket.socket.connect

    def guarded(self, address):
        host = address[0] if isinstance(address, tuple) else ""
        if self.family in (socket.AF_INET, socket.AF_INET6) and host not in (
            "127.0.0.1",
            "::1",
            "localhost",
        ):
            raise AssertionError(f"a test opened an internet socket to {address}")
        return connect(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded)
        yield


@pytest.fixture(scope="session")
def _caches(tmp_path_factory):
    """Names of folders that are not there yet; making one for each test would take seconds."""
    root = tmp_path_factory.mktemp("caches")
    return (root / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def _cache_of_its_own(_caches, monkeypatch):
    """What a test remembers is in a folder of its own, never in the home folder."""
    monkeypatch.setenv("MEDLDR_CACHE", str(next(_caches)))


@pytest.fixture(scope="session")
def medmnist_root():
    """Folder with real MedMNIST files; the test is skipped, saying so, where it is absent."""
    root = REAL_DATA / "medmnist"
    if not root.is_dir():
        pytest.skip(f"real data is absent: {root}")
    return root


@pytest.fixture(scope="session")
def synthetic_latents():
    """A function that makes latents of any size: clusters by class, shifted by domain."""
    from medldr.folders.latents_record import Latents, View
    from medldr.types import DataSpec

    def make(
        n=240, dim=8, classes=3, domains=("a", "b", "c"), unseen=("c",), *, seed=0,
        apart=3.0, shift=1.0, per_group=4, views=True,
    ):  # fmt: skip
        rng = np.random.default_rng(seed)
        label = rng.integers(classes, size=n)
        place = rng.integers(len(domains), size=n) if domains else np.zeros(n, dtype=int)
        domain = np.array([domains[i] for i in place] if domains else [""] * n, dtype=np.str_)
        # A group, as a patient, has images of one domain.
        group = np.array([p * n + i // per_group if per_group else -1 for i, p in enumerate(place)])
        centres, shifts = rng.normal(size=(classes, dim)), rng.normal(size=(max(place) + 1, dim))
        noise = rng.normal(size=(3, n, dim))
        head = rng.normal(size=(dim, classes))

        def view(strength, turn):
            z = apart * strength * centres[label] + shift * shifts[place] + noise[turn]
            return View(z.astype(np.float32), (z @ head).astype(np.float32))

        made = {"original": view(1, 0)}
        if views:  # degraded latents lose most of the class, restored ones get it back
            made |= {"degraded": view(0.15, 1), "restored": view(1.2, 2)}
        seen = np.where(rng.random(n) < 0.8, "train", "id_val")
        split = np.where(np.isin(domain, unseen), "test", seen)
        spec = DataSpec(
            task="multi-class" if classes > 2 else "binary",
            class_names=tuple(f"class {k}" for k in range(classes)),
            class_counts=tuple(np.bincount(label[split == "train"], minlength=classes).tolist()),
            channels=1,
            spatial_size=(8, 8),
            domains=tuple(domains),
            train_domains=tuple(d for d in domains if d not in unseen),
        )
        return Latents(spec, np.arange(n), split, domain, group, label, made, {})

    return make


@dataclass
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def medldr(monkeypatch, capsys, tmp_path_factory):
    """Run a command as typed, in this process; what it writes beside the caller stays apart."""
    if Path.cwd() == Path(__file__).parents[1]:
        monkeypatch.chdir(tmp_path_factory.mktemp("here"))

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["medldr", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        printed = capsys.readouterr()
        return Ended(end.value.code or 0, printed.out, printed.err)

    return run


CAMELYON17_SLIDES = {0: (0, 3), 1: (10, 14), 2: (20, 23), 3: (30, 31), 4: (41, 47)}
"""Two slides for each hospital of the small folder, among them slide 23."""


def _camelyon17_rows(per_slide):
    """Patches in a fixed order: (patient, node, x, y, tumor, slide, center, split)."""
    rows = []
    for place in range(per_slide):
        for center, slides in CAMELYON17_SLIDES.items():
            for number, slide in enumerate(slides):
                patient = f"{20 * center + 4 + number:03d}"
                corner = (32 * (place + 7), 64 * (slide + 1))
                # Every third pair of a tumor and a normal patch validates, whatever the hospital.
                validates = int(place // 2 % 3 == 2)
                rows.append((patient, slide % 5, *corner, place % 2, slide, center, validates))
    return rows


@pytest.fixture(scope="session")
def write_camelyon17():
    """Function that writes a folder as WILDS publishes it, only smaller, and returns its root.

    Five hospitals, two slides each, `per_slide` patches of 96 x 96 RGBA per slide, tumor and
    normal by turns. Tumor is darker, and each hospital has a tint of its own. Odd slides have an
    alpha channel that is not opaque, so dropping it differs from blending.
    """

    def write(root, per_slide=6):
        folder = Path(root) / "camelyon17_v1.0"
        generator = np.random.default_rng(17)
        lines = [",patient,node,x_coord,y_coord,tumor,slide,center,split"]
        for number, row in enumerate(_camelyon17_rows(per_slide)):
            patient, node, x, y, tumor, slide, center, _ = row
            lines.append(",".join(map(str, (number, *row))))
            pixels = generator.integers(0, 96, (96, 96, 4), dtype=np.uint8)
            pixels[..., :3] += np.array([40 + 20 * center, 80, 140 - 20 * center], np.uint8)
            pixels[..., :3] -= np.uint8(40 * tumor)
            pixels[..., 3] = generator.integers(1, 256) if slide % 2 else 255
            stem = f"patient_{patient}_node_{node}"
            path = folder / "patches" / stem / f"patch_{stem}_x_{x}_y_{y}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(path, compress_level=1)
        (folder / "metadata.csv").write_text("\n".join(lines) + "\n")
        (folder / "RELEASE_v1.0.txt").touch()
        return Path(root)

    return write


@pytest.fixture(scope="session")
def _camelyon17_once(tmp_path_factory, write_camelyon17):
    return write_camelyon17(tmp_path_factory.mktemp("camelyon17"))


@pytest.fixture
def camelyon17_folder(tmp_path, _camelyon17_once):
    """Folder, for `data.root`, that holds a small `camelyon17_v1.0` of 60 patches.

    A copy, because tests change theirs; drawing the patches takes longer than copying them.
    """
    return Path(shutil.copytree(_camelyon17_once, tmp_path / "camelyon17"))


@pytest.fixture(scope="session")
def write_domain_tree():
    """Function that writes `root/<domain>/<class>/<image>` and returns `root`.

    Pictures are PNG files of noise, each of another size; `counts` is pictures by class, by domain.
    """

    def write(root, counts, seed=0):
        generator = np.random.default_rng(seed)
        for domain, classes in counts.items():
            for name, count in classes.items():
                folder = Path(root) / domain / name
                folder.mkdir(parents=True, exist_ok=True)
                for number in range(count):
                    shape = (*generator.integers(9, 15, 2), 3)
                    pixels = generator.integers(0, 256, shape, dtype=np.uint8)
                    Image.fromarray(pixels).save(folder / f"{number:03d}.png")
        return Path(root)

    return write


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Examples are those of the package: looking for some in tests costs a third of collection."""
    return [one for one in (yield) if not isinstance(one, DoctestModule)]


def pytest_collection_modifyitems(items):
    """Whole programs first: type checks and notebooks must not begin when all else has ended."""
    items.sort(key=lambda item: item.path.parent != Path(__file__).parent)


_SPEC = importlib.util.spec_from_file_location(
    "dicom_files", Path(__file__).parent / "data" / "files" / "dicom_files.py"
)
_files = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_files)


@pytest.fixture
def workbook():
    """Function that writes a workbook from the rows of each of its sheets."""
    import openpyxl

    def write(path, sheets):
        book = openpyxl.Workbook()
        book.remove(book.active)
        for title, rows in sheets.items():
            book.create_sheet(title)
            for row in rows:
                book[title].append(row)
        book.save(path)
        return path

    return write


@pytest.fixture
def write_series():
    """Write a volume ``(X, Y, Z)`` as a DICOM series in a folder."""

    def write(folder, values, spacing=1.0, **tags):
        affine = np.diag([spacing] * 3 + [1.0])
        return _files.series(folder, values, affine, **tags)

    return write
