"""What is damaged: small data sets, runs, a sweep, a pack, exports, each in its own folder."""

import contextlib
import hashlib
import io
import itertools
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NEW = ("first.png", "second.dcm")
"""Scans to be predicted."""


class CommandError(Exception):
    """A command ended with an exit code that is not 0 or 3."""


def medldr(*argv: Any, said: io.StringIO | None = None) -> None:
    """Run a command line in this process."""
    from medldr.cli import _run

    said = io.StringIO() if said is None else said
    before, sys.argv = sys.argv, ["medldr", *map(str, argv)]
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = _run()
    finally:
        sys.argv = before
    if code:
        raise CommandError(code, said.getvalue())


STUDY = """\
extends: [recipe/own_{dims}d, data/table, algorithm/erm]
label: tried
data: {{file: {file}, path: scan, label: finding, domain: hospital, group: patient, held_out: c,
  size: {size}, cache: {cache}}}
model: {{width: 0.125{stem}}}
training: {{epochs: {epochs}, batch_size: 8, precision: float32}}
evaluation: {{draws: 100{latents}}}
machine: {{threads: 1, workers: 0, device: cpu, report: false}}
"""


def make(root: Path, needed: set[str] | None = None) -> None:
    """Make everything where the tries find it, for packs and runs hold paths; then store it."""
    shutil.rmtree(root, ignore_errors=True)
    make_base(root / "work", needed)
    (root / "work").rename(root / "made")


def copied(root: Path, base: str) -> Path:
    """An undamaged copy, where it was made."""
    shutil.rmtree(root / "work", ignore_errors=True)
    return shutil.copytree(root / "made" / base, root / "work" / base, symlinks=True)


def make_base(base: Path, needed: set[str] | None) -> None:
    """Data sets and all that medldr makes of them, one folder for each kind."""
    flat(base / "flat")
    if needed == {"flat"}:
        finish(base / "flat")
        return
    solid(base / "solid")
    for name in ("flat", "solid"):
        finish(base / name)
    done = base / "done"
    shutil.copytree(base / "flat", done)
    write_study(done, latents=", latents: true")
    shutil.rmtree(done / "out")
    finish(done)
    next((done / "out").iterdir()).rename(done / "tried-s0")
    (done / "new").mkdir()
    for name in NEW:
        shutil.copy(next((done / "img").rglob(f"*{Path(name).suffix}")), done / "new" / name)
    halfway(base / "halfway", base / "flat")
    shutil.copytree(base / "flat", base / "packed")
    table = base / "packed" / "table.csv"  # a pack holds images of 8 bits
    lines = [line for line in table.read_text().splitlines() if ".dcm" not in line]
    table.write_text("\n".join(lines) + "\n")
    with at(base / "packed"):
        medldr("data", "pack", "study.yaml", "--out", "packed")
    (base / "packed" / "study.yaml").rename(base / "packed" / "unpacked.yaml")
    write_study(base / "packed", pack=True)
    shutil.copytree(base / "solid", base / "kept")
    write_study(base / "kept", cache="disk")
    with at(base / "kept"):
        images(Path())
    validated = base / "validated"
    shutil.copytree(done, validated)
    with at(validated):
        medldr("validate", "tried-s0", "table.csv", "--out", "site", "--keep-seen")
    swept(base / "swept", base / "flat")
    exported = base / "exported"
    shutil.copytree(base / "packed", exported, ignore=shutil.ignore_patterns("out"))
    with at(exported):
        medldr("train", "unpacked.yaml", "--out", "out")
        for kind in ("onnx", "torch", "bundle"):
            medldr("export", next(Path("out").iterdir()), "--format", kind, "--out", kind)


def write_study(folder: Path, **changed: Any) -> None:
    dims = 3 if (folder / "table.xlsx").exists() else 2
    values = {"dims": dims, "epochs": 2, "latents": "", "cache": "off"}
    values |= {"file": "table.xlsx" if dims == 3 else "table.csv"}
    values |= {"size": "[8, 12, 12]" if dims == 3 else "[16, 16]", "stem": ", stem: small"}
    values |= {key: value for key, value in changed.items() if key != "pack"}
    text = STUDY.format(**values)
    if changed.get("pack"):
        text = text.replace("data: {", "data: {packed: packed, ")
    (folder / "study.yaml").write_text(text)


@contextlib.contextmanager
def at(folder: Path) -> Iterator[None]:
    """Work in a folder, with what medldr keeps below it."""
    before, os.environ["MEDLDR_CACHE"] = os.environ.get("MEDLDR_CACHE"), str(folder / "cache")
    place = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(place)
        if before is None:
            del os.environ["MEDLDR_CACHE"]
        else:
            os.environ["MEDLDR_CACHE"] = before


def finish(folder: Path) -> None:
    with at(folder):
        medldr("train", "study.yaml", "--out", "out")


def items(per_class: int) -> Iterator[tuple[str, int, str]]:
    """Hospital, class and name of each image."""
    for hospital, finding, number in itertools.product("abc", (0, 1), range(per_class)):
        yield hospital, finding, f"{hospital}{finding}{number:02}"


def images(copy: Path) -> Any:
    """The images and labels that a run would be trained on."""
    from medldr.config.load import load_config
    from medldr.data import build_data

    data = build_data(load_config(copy / "study.yaml", ()))
    digest = hashlib.sha256(data.data_hash.encode())
    for index in range(len(data.table.images)):
        image = data.table.images[index]
        digest.update(memoryview(image.contiguous().numpy() if hasattr(image, "numpy") else image))
    return digest.hexdigest()


def flat(folder: Path) -> None:
    """Pictures of each kind, with a table."""
    import numpy as np
    import pydicom
    import tifffile
    from PIL import Image
    from pydicom.uid import ExplicitVRLittleEndian, generate_uid

    rng, rows = np.random.default_rng(0), ["scan,finding,hospital,patient"]
    for number, (hospital, finding, name) in enumerate(items(8)):
        pixels = rng.integers(0, 200, (16, 16), dtype=np.uint8)
        pixels[4:10, 4:10] += np.uint8(50 * finding)
        path = folder / "img" / hospital / f"{name}.{('png', 'jpg', 'tif', 'dcm')[number % 4]}"
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".dcm":
            made = pydicom.Dataset()
            made.file_meta = pydicom.dataset.FileMetaDataset()
            made.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
            made.file_meta.MediaStorageSOPClassUID = "1.2.840.10008.5.1.4.1.1.7"
            made.file_meta.MediaStorageSOPInstanceUID = generate_uid(entropy_srcs=[name])
            made.SOPClassUID = made.file_meta.MediaStorageSOPClassUID
            made.SOPInstanceUID = made.file_meta.MediaStorageSOPInstanceUID
            made.SeriesInstanceUID = generate_uid(entropy_srcs=[name, "series"])
            made.Modality, made.Rows, made.Columns = "OT", 16, 16
            made.SamplesPerPixel, made.PhotometricInterpretation = 1, "MONOCHROME2"
            made.BitsAllocated = made.BitsStored = 8
            made.HighBit, made.PixelRepresentation = 7, 0
            made.PixelData = pixels.tobytes()
            made.save_as(path, enforce_file_format=True)
        elif path.suffix == ".tif":
            tifffile.imwrite(path, pixels, compression="zlib")
        else:
            Image.fromarray(pixels).save(path, quality=95)
        rows.append(f"{path.relative_to(folder)},{finding},{hospital},p{name}")
    (folder / "table.csv").write_text("\n".join(rows) + "\n")
    write_study(folder)


def solid(folder: Path) -> None:
    """Volumes of each kind, with a workbook."""
    import nibabel
    import numpy as np
    import openpyxl
    import SimpleITK

    rng, book = np.random.default_rng(1), openpyxl.Workbook()
    book.active.append(["scan", "finding", "hospital", "patient"])
    for number, (hospital, finding, name) in enumerate(items(4)):
        voxels = rng.normal(0, 100, (12, 12, 8)).astype(np.int16)
        voxels[4:8, 4:8, 2:5] += np.int16(300 * finding)
        ending = ("nii.gz", "nii", "mha", "nrrd")[number % 4]
        path = folder / "img" / hospital / f"{name}.{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        if ending.startswith("nii"):
            nibabel.save(nibabel.Nifti1Image(voxels, np.eye(4)), path)
        else:
            image = SimpleITK.GetImageFromArray(voxels.T.copy())
            SimpleITK.WriteImage(image, str(path), useCompression=number % 8 > 3)
        book.active.append([str(path.relative_to(folder)), finding, hospital, f"p{name}"])
    book.save(folder / "table.xlsx")
    write_study(folder)


def halfway(folder: Path, source: Path) -> None:
    """A run that was stopped after its second evaluation."""
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("out"))
    write_study(folder, epochs=4)
    command = [sys.executable, "-m", "medldr.cli", "train", "study.yaml", "--out", "out"]
    with at(folder), subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            rows = [p.read_text().count("\n") for p in folder.glob("out/*/metrics.jsonl")]
            if rows and rows[0] >= 2:
                process.send_signal(signal.SIGTERM)
                break
            time.sleep(0.02)
    shutil.copytree(folder / "out", folder / "before")


def swept(folder: Path, source: Path) -> None:
    """A sweep of two methods."""
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("out"))
    common = (folder / "study.yaml").read_text().replace("label: tried\n", "")
    common = common.replace(", algorithm/erm", "")
    text = "title: Tried\ncommon:\n" + "".join(f"  {line}\n" for line in common.splitlines())
    text += "runs:\n" + "".join(
        f"  - {{label: {name}, extends: [algorithm/{name}]}}\n" for name in ("erm", "coral")
    )
    text += "seeds: [0]\ntable: {rows: run}\n"
    (folder / "study.yaml").write_text(text)
    with at(folder):
        medldr("sweep", "study.yaml", "--out", "sweep")
