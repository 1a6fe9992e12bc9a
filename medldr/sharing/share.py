"""`medldr share`: a run, or a folder of runs with its sweep, as one file without names.

It opens as a folder that `report`, `compare` and `verify` read. Numbers, probabilities, labels and
names of classes and hospitals stay as they are.
"""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from medldr.config import load_config
from medldr.config.identity import flatten
from medldr.data.counting import counted
from medldr.errors import InputError
from medldr.evaluation.checked import read_results
from medldr.folders.choices_record import SCHEMA as OF_CHOICES
from medldr.folders.choices_record import read_choices
from medldr.folders.files import RunFolder, atomic, read_json, write_json, write_text
from medldr.folders.lifecycle import run_folders
from medldr.folders.privacy import worth_hiding
from medldr.folders.run_record import read_run_record
from medldr.folders.sweep_record import SCHEMA, Sweep, SweepFolder, read_sweep
from medldr.plugins import takes_plugins
from medldr.sharing.names import Names, each_text, is_path, numbered, paths_in
from medldr.sharing.run_copy import copy_run, split_ids

ABOUT: Final = """\
Results that `medldr share` made of {runs}.

Items, groups (patients, slides) and files are numbers, which are the same in all files here. Left
out are paths, dates, the machine and its user, pictures, columns of metadata, and the files that
run.json lists under "redacted". Names of classes and hospitals, and labels of runs, are as they
were.

    medldr report FOLDER     writes the pages
    medldr verify FOLDER     computes all numbers again, and says what cannot be checked
"""
WEIGHTS: Final = ("model.safetensors", "unlike.safetensors")
SEEN: Final = ("seen_images.safetensors",)
_THEN: Final = (1980, 1, 1, 0, 0, 0)
"""The time of every file: the earliest that the format knows."""


@takes_plugins
def share(
    folder: str | Path,
    out: str | Path,
    *,
    weights: bool = False,
    seen: bool = False,
    force: bool = False,
    plugins: Sequence[str] = (),
) -> Path:
    """Write the results of finished runs as one file that names nobody.

    Args:
        folder: A run folder, a sweep's folder, or a folder of run folders.
        out: The zip file to write.
        weights: Whether the networks go with the results.
        seen: Whether the digests of the images go with them that the runs were trained and
            selected on; with these anybody who has an image can tell whether it was one of them.
        force: Replace an earlier file.
        plugins: Packages of your own whose plug-ins may be imported.

    Returns:
        The file.

    Raises:
        InputError: If no run has finished, a file of one was changed or cannot be read, or `out`
            is there already or is no zip file.
        StorageError: If it cannot be written.
    """
    folder, out = Path(folder).expanduser(), Path(out).expanduser()
    if out.suffix != ".zip":
        raise InputError(f"{out}: what is shared is a zip file. Name it {out.name}.zip")
    if out.exists() and not force:
        raise InputError(f"{out} exists. Choose another name, or add --force")
    records = {files: read_run_record(files) for files in run_folders(folder)}
    finished = {files: record for files, record in records.items() if record.status == "done"}
    if not finished:
        raise InputError(f"{folder} holds no finished run. Give what `medldr train` printed")
    whole = SweepFolder(folder)
    sweep = read_sweep(whole)
    # What is shared has checksums of its own: they must not hide a change.
    known = {
        files: (load_config(files.config), read_results(files, record)[1], record)
        for files, record in finished.items()
    }
    names = _names(known, sweep or read_sweep(SweepFolder(folder.resolve().parent)))
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "shared"
        root.mkdir()
        further = [*WEIGHTS * weights, *SEEN * seen]
        for files, (config, _, record) in known.items():
            copy_run(files, record, config, root, names, further)
        if sweep is not None:
            for member in sweep.members:  # what has not finished has no folder
                names.runs.setdefault(member.run, names.label(member.run))
            _write_sweep(whole, sweep, SweepFolder(root), names)
        write_text(root / "README.txt", ABOUT.format(runs=counted(len(finished), "run", "runs")))
        with atomic(out) as temporary, zipfile.ZipFile(temporary, "w") as archive:
            for path in sorted(path for path in root.rglob("*") if path.is_file()):
                entry = zipfile.ZipInfo(path.relative_to(scratch).as_posix(), _THEN)
                entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
                archive.writestr(entry, path.read_bytes())
    return out


def _names(known: dict[RunFolder, Any], sweep: Sweep | None) -> Names:
    """What stands for each name in all of these runs."""
    items, groups, domains, labels = set[str](), set[str](), set[str](), set[str]()
    named, of_data, of_paths = set[Path](), set[Path](), set[str]()
    for files, (config, table, record) in known.items():
        items.update(*split_ids(files).values())
        groups.update(*split_ids(files, "groups").values())
        if table is not None:
            items |= set(table.id.tolist())
            groups |= set(table.group.tolist())
        own = set(() if record.spec is None else record.spec.domains)
        domains |= own if own & worth_hiding(groups | items) else set()
        places_of_data = {*paths_in(config.data)}
        of_data |= places_of_data - {config.data.root}
        named |= {*paths_in(config)}
        name = record.data.name or ""
        if name in {one.stem for path in places_of_data for one in (path, path.parent)}:
            of_data.add(Path(name))  # what a folder is called
        values = flatten(config.model_dump()).items()
        of_paths |= {key for key, value in values if is_path(value)}
    for member in () if sweep is None else sweep.members:  # those that have not finished, too
        axes = {**member.row_values, **member.column_values}
        labels |= {name for axis, name in axes.items() if axis in of_paths}
        named |= {Path(str(drawn)) for axis, drawn in member.drawn.items() if axis in of_paths}
    stems = numbered({path.stem for path in of_data}, "data")
    places = {**numbered({path.stem for path in named - of_data}, "file"), **stems}
    of_groups = numbered(groups | domains, "group")  # a domain of its own for each patient
    return Names(
        items=numbered(items, "item"),
        groups=of_groups,
        domains={name: of_groups[name] for name in domains},
        files={p.name: f"{places[p.stem].replace(' ', '-')}{p.suffix}" for p in named},
        data=stems,
        labels={
            **{p.name: places[p.stem].replace(" ", "-") for p in of_data if p.suffix},
            **{name: new.replace(" ", "-") for name, new in numbered(labels, "file").items()},
        },
    )


def _write_sweep(whole: SweepFolder, sweep: Sweep, made: SweepFolder, names: Names) -> None:
    """`sweep.json`, and `choices.json` where settings were chosen."""
    content: dict[str, Any] = each_text({**asdict(sweep), "overrides": ()}, names.text)
    write_json(made.sweep, {"schema": SCHEMA, **content})
    if read_choices(whole) is not None:
        choices = each_text(read_json(whole.choices), names.text)
        write_json(made.choices, {"schema": OF_CHOICES, **choices})
