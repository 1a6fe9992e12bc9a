"""What `medldr data check`, `medldr new`, `medldr verify` and others print and write.

Places are left out. What pages draw is not kept, their words are.
"""

import contextlib
import os
import re
import shutil
from pathlib import Path
from unittest import mock

import frozen
import torch
from frozen_data import HOSPITALS, cases, pictures, real, volumes
from frozen_tables import sample

CHECKED = {
    "A18_corrupt_pictures": ["table", "root=.", "folders=[label]"],
    "B01_csv_bom_semicolon": ["table", "file=bom.csv", "path=image", "root=images", "size=16"],
    "B05_missing_and_uncertain_labels": [
        "table", "file=multilabel.csv", "path=image", "label=[edema,effusion]", "root=images",
    ],
    "B06_patient_leak_and_duplicates": [
        "table", "file=split.csv", "path=image", "group=patient", "split=split", "root=images",
    ],
    "B09_table_does_not_match_files": ["table", "file=labels.csv", "path=image", "root=images"],
    "b_three_hospitals": [
        "table", "file=labels.csv", "path=scan", "label=diagnosis", "domain=hospital",
        "group=patient", "held_out=h2",
    ],
    "x_volumes": [
        "table", "file=labels.csv", "path=scan", "label=diagnosis", "domain=hospital",
        "group=patient", "size=12",
    ],
    "n01_conflicting_twins": ["domain_folders", "root=.", "size=16"],
    "n05_links": ["domain_folders", "root=.", "size=16"],
    "n14_patient_in_two_hospitals": [
        "domain_folders", "root=.", "size=16", "'group_pattern=^(P[0-9]+)_'",
    ],
    "n15_odd_shapes_and_endings": ["domain_folders", "root=.", "size=16", "on_bad_file=skip"],
    "s07_pairs_and_same_stem": ["table", "root=pair_tree", "folders=[label]"],
    "s08_split_names": ["table", "file=table.csv", "group=group", "split=split"],
}  # fmt: skip
"""Words after `medldr data check`, in the folder of the case."""
LOOKED_AT = {
    "A08_dicom_monochrome1": ["."],
    "A16_image_modes": ["."],
    "A18_corrupt_pictures": ["."],
    "A19_hidden_files": ["."],
    "B05_missing_and_uncertain_labels": [".", "--table", "multilabel.csv"],
    "B06_patient_leak_and_duplicates": ["split.csv"],
    "b_three_hospitals": ["labels.csv", "--positive", "malignant"],
    "x_volumes": ["."],
    "n01_conflicting_twins": ["."],
    "n03_split_folders": ["."],
    "n08_number_names": ["."],
    "n14_patient_in_two_hospitals": ["."],
    "n20_two_classes": [".", "--kind", "microscopy"],
    "s03_german_tables": ["befunde.csv"],
    "s07_pairs_and_same_stem": ["pair_tree"],
    "s08_split_names": ["table.csv"],
}
"""Words after `medldr new`, in the folder of the case."""


def said(folder, *words):
    """What a command prints in a folder, without the folder."""
    with frozen.working_in(folder), two_cores():
        text = frozen.command(*words)
    return settled(text, folder)


@contextlib.contextmanager
def two_cores():
    """A machine of two cores without a GPU, whatever this one is."""
    with (
        mock.patch.object(os, "sched_getaffinity", return_value={0, 1}, create=True),
        mock.patch.object(torch.cuda, "is_available", return_value=False),
    ):
        yield


def settled(text, folder):
    """A text without places and versions."""
    text = text.replace(f"{folder}/", "").replace(str(folder), "HERE")
    return re.sub(r"medldr \d+\.\d+\.\d+", "medldr VERSION", text)


def check(parent):
    """`medldr data check` of cases, own sets and real ones, with its page."""
    top = parent / "cases"
    cases(top)
    found = {}
    for name, (kind, *keys) in CHECKED.items():
        words = [key.strip("'") for key in keys]
        found |= _checked(name, top / name, [kind, *words])
    own = parent / "own"
    pictures(own)
    words = ["table", "file=pictures.csv", "domain=hospital", "group=patient",
             "columns=[age,sex]", f"held_out={HOSPITALS[2]}"]  # fmt: skip
    found |= _checked("pictures", own, words)
    volumes(parent / "deep")
    words = ["table", "file=volumes.csv", "domain=hospital", "group=patient"]
    found |= _checked("volumes", parent / "deep", words)
    return found


def check_real(parent):
    """`medldr data check` of real data."""
    found = _checked("retinamnist", parent, ["retinamnist", f"root={real('medmnist')}"])
    found |= _checked("wbc3", parent, ["domain_folders", f"root={real('wbc3')}", "size=48"])
    tree = sample(real("amf64"), parent / "amf64", 20)
    words = ["domain_folders", f"root={tree}", "size=64", "group_pattern=^([a-z]+[0-9]+)_"]
    found |= _checked("amf64", parent, words)
    shared = str(real("wbc3").parent)
    return {name: text.replace(shared, "DATA") for name, text in found.items()}


def _checked(name, folder, words):
    page = folder / "frozen_page.html"
    found = {f"{name}.txt": said(folder, "data", "check", *words, "--page", str(page))}
    if page.is_file():
        text = frozen.Cells(page.read_text(encoding="utf-8")).text()
        found[f"{name}.cells"] = settled(frozen.normalised(text), folder)
    return found


def new(parent):
    """`medldr new` of cases and of real data: what it prints and the file that it writes."""
    top = parent / "cases"
    cases(top)
    found = {}
    for name, words in LOOKED_AT.items():
        found |= _looked_at(name, top / name, words)
    return found


def new_real(parent):
    """`medldr new` of real data."""
    found = {}
    for name in ("wbc3", "wbc", "lidcshape3d.npz", "amf64"):
        place = real(name)
        folder = parent / name
        folder.mkdir()
        if name == "amf64":
            place = sample(place, parent / "sample", 20)
        elif place.is_dir():
            place = Path(shutil.copytree(place, folder / name))
        else:
            place = Path(shutil.copy(place, folder / name))
        for file, text in _looked_at(name, folder, [str(place)]).items():
            found[file] = text.replace(str(parent), "HERE")
    return found


def _looked_at(name, folder, words):
    out = folder / "frozen_study.yaml"
    found = {f"{name}.txt": said(folder, "new", *words, "--yes", "--out", out.name)}
    if out.is_file():
        found[f"{name}.yaml.txt"] = settled(out.read_text(encoding="utf-8"), folder)
    return found


CASES = {"check": check, "check_real": check_real, "new": new, "new_real": new_real}
