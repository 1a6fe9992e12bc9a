"""What each reader makes of the files of the cases: image, warnings, or how it refuses.

The door is that of the users: a `data` section with a table of one item and a copy of it, and
`medldr.predict` on files and folders. Where `expected.json` of a case says otherwise than today,
the case is named in `WRONG`.
"""

import shutil
from pathlib import Path

from frozen_adapter import data_of, pixels, refusals
from frozen_data import cases, run, write_table
from frozen_tables import described, facts_in
from frozen_text import exact, joined, summary

SKIPPED = (".json", ".csv", ".xlsx", ".yaml", ".db", ".DS_Store", ".ipynb_checkpoints", ".npz")
LOSSY = (".jpg", ".jpeg", ".jfif", ".webp")
FOLDERS = {
    "A14_dicom_folder_mixed_series": ("patient",),
    "s01_seg_dose_and_report": ("study",),
    "s04_names_everywhere": ("series",),
    "s06_empty_tags": ("series", "position_empty"),
}
"""Folders of slices that are one item."""
FEW = {"b_three_hospitals": 2, "x_volumes": 2, "x_volumes_6mm": 2, "s03_german_tables": 2,
       "s04_names_everywhere": 2, "s08_split_names": 2, "n01_conflicting_twins": 2,
       "n03_split_folders": 1, "n06_empty_class_folder": 1, "n07_two_normal_forms": 2,
       "n08_number_names": 1, "n09_marks_in_names": 2, "n14_patient_in_two_hospitals": 1,
       "n17_rare_class": 1, "n20_two_classes": 1, "n10_twelve_bits": 3, "n02_hidden_colour": 8,
       "n05_links_store": 1}  # fmt: skip
"""How many files of a case are read, where all are of one kind."""
EVERYWHERE = ("data.group", "evaluation.positive_class", "machine.workers")
"""Keys of what is noted of every set of two copies."""


def items(top, name):
    """Files and folders of a case that a reader may be given, as paths below the case."""
    folder = top / name
    whole = FOLDERS.get(name, ())
    yield from whole
    count = 0
    for path in sorted(folder.rglob("*"), key=lambda path: path.as_posix()):
        inside = path.relative_to(folder)
        if not path.is_file() or path.name.endswith(SKIPPED) or path.name.startswith("._"):
            continue
        if inside.parts[0] in whole and name != "s01_seg_dose_and_report":
            continue
        count += 1
        if count <= FEW.get(name, 1000):
            yield inside.as_posix()


def read(top, name, item, **keys):
    """One item, read as the first of a table of two: its image, or how it is refused."""
    place = top / "read" / name / item.replace("/", "-")
    place.mkdir(parents=True)
    source = top / name / item
    names = [source.name, f"twin_{source.name}"]
    for copy in names:
        if source.is_dir():
            shutil.copytree(source, place / copy)
        else:
            shutil.copyfile(source, place / copy, follow_symlinks=True)
            other = {".hdr": ".img", ".img": ".hdr"}.get(source.suffix)
            if other and source.with_suffix(other).is_file():
                shutil.copyfile(source.with_suffix(other), (place / copy).with_suffix(other))
    file = write_table(place / "scans.csv", [["path", "label"], *zip(names, "ab", strict=True)])
    data = {"name": "table", "file": str(file), "allow_missing_classes": True, "cache": "off"}
    with refusals() as refused:
        _, found = data_of(run({**data, **keys}))
    if refused:
        said = str(refused[0]).replace(str(top), "")
        return f"{type(refused[0]).__name__} names {_named(said, names)}{facts_in_words(said)}"
    image = pixels(found.table, [0])[0]
    lossy = item.lower().endswith(LOSSY) or "size" in keys or image.dtype.kind == "f"
    return summary(image) if lossy else exact(image)


def _named(said, names):
    return names[0] if names[0] in said else "no file"


def facts_in_words(said):
    """Keys that a refusal names; its numbers are of two files at once."""
    keys = [fact for fact in facts_in(said).split() if not fact[0].isdigit()]
    return f", {' '.join(keys)}" if keys else ""


def warnings_of(top, name, item):
    """What is noted of an item that was read: numbers and keys."""
    place = top / "read" / name / item.replace("/", "-") / "scans.csv"
    data = {"name": "table", "file": str(place), "allow_missing_classes": True, "cache": "off"}
    with refusals() as refused:
        _, found = data_of(run(data))
    if refused:
        return None
    told = (facts_in(note.replace(Path(item).name, "")) for note in found.notes)
    return "; ".join(facts for facts in told if not set(facts.split()) & set(EVERYWHERE))


def files(parent):
    """Every file of every case by itself, as it is, and cut or scaled by a window."""
    top = parent / "cases"
    lines, notes = [], []
    for name in cases(top):
        for item in items(top, name):
            lines.append(f"{name}/{item}\t{read(top, name, item)}")
            noted = warnings_of(top, name, item)
            if noted is not None:
                notes.append(f"{name}/{item}\t{noted}")
    return {"images.r5.txt": joined(lines), "notes.txt": joined(notes)}


TABLES = {
    "B01_csv_bom_semicolon": [
        {"file": "bom.csv", "path": "image"},
        {"file": "bom_quoted_crlf.csv", "path": "image"},
        {"file": "semicolon.csv", "path": "image"},
        {"file": "utf16.csv", "path": "image"},
    ],
    "B04_labels_from_one_and_floats": [
        {"file": f"{name}.csv", "path": "image"} for name in ("one_based", "floats", "gap")
    ]
    + [{"file": "fraction.csv", "path": "image"}],
    "B05_missing_and_uncertain_labels": [
        {"file": "multilabel.csv", "path": "image", "label": ["edema", "effusion"]},
        {"file": "single.csv", "path": "image"},
        {"file": "single.csv", "path": "image", "on_missing_label": "skip"},
    ],
    "B06_patient_leak_and_duplicates": [
        {"file": "split.csv", "path": "image", "group": "patient", "split": "split"},
        {"file": "split.csv", "path": "image"},
    ],
    "B07_rare_class": [{"file": "labels.csv", "path": "image"}],
    "B08_names_and_paths": [{"file": "labels.csv", "path": "image", "root": "."}],
    "B09_table_does_not_match_files": [{"file": "labels.csv", "path": "image"}],
    "A18_corrupt_pictures": [
        {"folders": ["label"]},
        {"folders": ["label"], "on_bad_file": "skip"},
    ],
    "A19_hidden_files": [{"folders": ["split", "label"]}],
    "s03_german_tables": [
        {"file": "befunde.csv", "path": "Pfad", "label": "Diagnose", "domain": "Klinik",
         "group": "Patient", "columns": ["Alter"]},
        {"file": "befunde_ansi.csv", "path": "Pfad", "label": "Diagnose"},
        {"file": "befunde_renamed.csv", "path": "Pfad", "label": "Diagnose"},
    ],
    "s04_names_everywhere": [
        {"file": "table.csv", "domain": "domain", "group": "patient", "split": "split"},
        {"file": "table_with_broken.csv", "on_bad_file": "skip", "split": "split"},
    ],
    "s07_pairs_and_same_stem": [{"root": "pair_tree", "folders": ["label"]}],
    "s08_split_names": [
        {"file": "table.csv", "group": "group", "split": "split"},
        {"file": "table.csv", "group": "group"},
    ],
    "b_three_hospitals": [
        {"file": "labels.csv", "path": "scan", "label": "diagnosis", "domain": "hospital",
         "group": "patient", "held_out": ["h2"]},
    ],
    "x_volumes": [
        {"file": "labels.csv", "path": "scan", "label": "diagnosis", "domain": "hospital",
         "group": "patient", "spacing": 2, "size": 12},
    ],
    "x_volumes_6mm": [
        {"file": "labels.csv", "path": "scan", "label": "diagnosis", "domain": "hospital",
         "group": "patient", "spacing": 2, "size": 12},
    ],
}  # fmt: skip
"""Data sections `table` on whole cases; files and folders are those of the case."""

TREES = {
    "n01_conflicting_twins": {},
    "n02_hidden_colour": {},
    "n03_split_folders": {},
    "n05_links": {},
    "n06_empty_class_folder": {},
    "n07_two_normal_forms": {},
    "n08_number_names": {},
    "n09_marks_in_names": {},
    "n10_twelve_bits": {},
    "n13_broken_inside": {"on_bad_file": "skip"},
    "n14_patient_in_two_hospitals": {"group_pattern": "^(P[0-9]+)_"},
    "n15_odd_shapes_and_endings": {"on_bad_file": "skip"},
    "n17_rare_class": {},
    "n20_two_classes": {},
}
"""Keys with which each tree of a folder per domain is read, as `domain_folders` and as `table`."""


def sets(parent):
    """Whole cases as tables and trees: rows, labels, splits, images, or why not."""
    top = parent / "cases"
    cases(top)
    lines = []
    for name, sections in TABLES.items():
        for number, keys in enumerate(sections):
            lines += _set(f"{name} {number}", top / name, {"name": "table", **keys})
    for name, keys in TREES.items():
        tree = {"name": "domain_folders", "size": 16, **keys}
        lines += _set(f"{name} tree", top / name, {**tree, "held_out": []})
        lines += _set(
            f"{name} table", top / name, {"name": "table", "folders": ["domain", "label"], **keys}
        )
        plain = {key: value for key, value in tree.items() if key != "on_bad_file"}
        if plain != tree:
            lines += _set(f"{name} strict", top / name, plain)
    return {"sets.r5.txt": joined(lines)}


def _set(title, folder, keys):
    section = {"allow_missing_classes": True, **keys}
    for key in ("file", "root"):
        if key in section:
            section[key] = str(folder / section[key])
    images = folder / "images"
    if "file" not in section or images.is_dir():
        section.setdefault("root", str(images if images.is_dir() else folder))
    if section["name"] == "table":
        section.setdefault("cache", "memory")
        if "size" not in section and (folder / "images").is_dir():
            section["size"] = 16
    mapping = run(section)
    own = section["name"] == "table"
    lines = []
    with refusals() as refused:
        lines = described(title, mapping, decoded=True, hashed=not own)
    if refused:
        said = str(refused[0]).replace(str(folder), "")
        name = type(refused[0]).__name__
        lines = [
            f"{title}\trefused\t{name} names {facts_in(said)}; files {_files_in(said, folder)}"
        ]
    return lines


def _files_in(said, folder):
    """Names of files of a case that a message names."""
    known = sorted({path.name for path in Path(folder).rglob("*") if path.is_file()})
    return " ".join(name for name in known if name in said) or "none"


CASES = {"files": files, "sets": sets}
