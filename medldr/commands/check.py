"""`medldr data check`: look at a whole data set before training on it, and write a page of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.markup import escape

from medldr import plugins
from medldr.commands.data import (
    PLAIN,
    data_section,
    print_counts,
    print_examination,
    print_files,
)
from medldr.config import PLUGIN_SECTIONS, RunConfig, load_config, packaged_names
from medldr.config.yaml import read_yaml
from medldr.data.checks.table_checks import count_rows, look_at
from medldr.data.config import DatasetConfig
from medldr.data.counting import counted
from medldr.data.image_table import ImageTable, Look
from medldr.data.inspection import Inspection, inspect_table
from medldr.data.load import load_table
from medldr.data.seen import known_images
from medldr.data.splits.make import make_splits
from medldr.data.splits.manifest import held_out_domains
from medldr.errors import InputError
from medldr.evaluation.inputs.simple_controls import Control, in_words, simple_controls
from medldr.folders.files import write_text
from medldr.folders.privacy import worth_hiding
from medldr.run import trained as trained_run

_LISTED: Final = 20


def check(
    name: str,
    overrides: Sequence[str],
    page: Path | None,
    *,
    show_ids: bool,
    trained: Path | None = None,
) -> int:
    """Read a whole data set and print what is wrong or unusual in it; published counts beside it.

    Args:
        name: A data part, a run, a sweep, or a YAML file of one.
        overrides: The folder of the files first, if it is not the usual one; ``KEY=VALUE`` texts.
        page: The page to write; None for none.
        show_ids: Whether the page may show names of files and patients.
        trained: A run folder: images that it has seen are wrong in a set that is to judge it.

    Returns:
        0 if nothing is wrong, even if there are notes; 3 if files were left out, or if images are
        equal that should not be.

    Raises:
        InputError: If the data cannot be used by a run.
    """
    sections, run = find_data(name, overrides)
    section = sections[0]
    module = plugins.load(PLUGIN_SECTIONS["data"], section.name)
    console = Console()
    bad = 0
    looks: dict[str, Look] = {}
    if hasattr(module, "examine"):

        def seen(item: str, pixels: NDArray[np.uint8]) -> None:
            (looks[item],) = look_at(pixels[None])

        bad = print_examination(name, module.examine(section, seen), console)
        if bad and getattr(section, "on_bad_file", "error") != "skip":
            raise InputError(
                f"{name}: {counted(bad, 'file is', 'files are')} missing or unusable, for the "
                "reasons above. Replace them with intact copies, or leave them out with "
                "data.on_bad_file=skip"
            )
    table = load_table(section)
    plans = {to: make_splits(table, one) for to, one in _plans(table, sections)}
    inspection = inspect_table(table, plans, looks, run)
    if trained is not None:
        inspection = _with_seen(inspection, trained)
    bad = bad or len(table.bad_files)
    _print(inspection, console)
    if page is not None:
        positive = None if run is None else run.evaluation.positive_class
        controls = simple_controls(table, inspection.plans, positive)
        if controls:
            console.print(in_words(controls), **PLAIN)
        write_page(inspection, controls, page, show_ids=show_ids)
        console.print(f"page: {page}", **PLAIN)
    return 3 if bad or inspection.wrong else 0


def _with_seen(inspection: Inspection, trained: Path) -> Inspection:
    """What was found, and which images a run has seen."""
    trained_run(trained)
    table = inspection.table
    seen, lacking = known_images(trained, table)
    ids = table.ids[seen].tolist()
    name, of = trained.resolve().name, f"{len(ids):,} of {len(table):,} images"
    said = f"{table.name}: {of} were seen in training by {name}"
    if ids:
        said += f", such as {', '.join(ids[:3])}: `medldr validate` leaves them out"
    wrong, note = ((said,), ()) if ids else ((), (said,))
    notes = (*inspection.notes, *lacking, *note)
    return replace(inspection, wrong=(*inspection.wrong, *wrong), notes=notes)


def write_page(
    inspection: Inspection, controls: Sequence[Control], path: Path, *, show_ids: bool
) -> None:
    """Write the page of what was found.

    Raises:
        StorageError: If it cannot be written.
    """
    from medldr.reporting.pages.data_check import data_check_page
    from medldr.reporting.writers.html import html_page

    table = inspection.table
    names = {*table.ids.tolist(), *table.groups.tolist(), *(file.path for file in table.bad_files)}
    ids = frozenset() if show_ids else worth_hiding(names - {""})
    write_text(path, html_page(data_check_page(inspection, controls, ids)))


def find_data(
    name: str, overrides: Sequence[str]
) -> tuple[tuple[DatasetConfig, ...], RunConfig | None]:
    """The data of a data part, a run or a sweep.

    Returns:
        Sections `data` of one data set that differ in how they divide it; and a run that uses it,
        None where only a data part is named.

    Raises:
        InputError: If there is none of that name, or a sweep has several data sets.
    """
    if name in packaged_names("data"):
        return (data_section(name, overrides),), None
    if name in packaged_names("sweep") or _is_sweep(name):
        return _of_sweep(name, _named(overrides))
    section = data_section(name, overrides)  # says what there is, where nothing is of this name
    return (section,), load_config(name, _named(overrides))


def _named(overrides: Sequence[str]) -> list[str]:
    """Changes as a run takes them: a folder is `data.root`."""
    return [
        text if text.startswith("data.") else f"data.{text}" if "=" in text else f"data.root={text}"
        for text in overrides
    ]


def _is_sweep(name: str) -> bool:
    path = Path(name).expanduser()
    if not path.is_file() or path.suffix not in (".yaml", ".yml"):
        return False
    values = read_yaml(path).values
    return bool({"common", "runs", "axes"} & set(values))


def _of_sweep(name: str, overrides: Sequence[str]) -> tuple[tuple[DatasetConfig, ...], RunConfig]:
    from medldr.sweeps.plan.expand import expand
    from medldr.sweeps.plan.file import load_sweep

    planned = expand(load_sweep(name, overrides), "runs")
    sections: dict[str, DatasetConfig] = {}
    sets: dict[str, str] = {}
    for one in planned:
        section = cast(DatasetConfig, one.config.data).with_seed(one.config.seed)
        plain = {"held_out": (), "fold": None, "split_seed": 0, "imbalance": None}
        undivided = section.model_copy(update=plain)
        sets.setdefault(undivided.model_dump_json(), section.name)
        sections.setdefault(section.model_dump_json(), section)
    if len(sets) > 1:
        raise InputError(
            f"{name} has several data sets or readings of one ({', '.join(sets.values())}): check "
            "them one by one, medldr data check NAME"
        )
    return tuple(sections.values()), planned[0].config


def _plans(
    table: ImageTable, sections: Sequence[DatasetConfig]
) -> Iterator[tuple[str, DatasetConfig]]:
    """Each section a run may have, and its text; DomainBed's splits need a held-out domain."""
    domains = sorted(set(table.domains.tolist()) - {""})
    for section in (one.with_seed(0) for one in sections):
        if section.split_rule == "domainbed" and not section.held_out and domains:
            for domain in domains:
                yield f" with {domain} held out", section.model_copy(update={"held_out": (domain,)})
            continue
        seed = f", split seed {section.split_seed}" if len(sections) > 1 else ""
        tail = _imbalance(section) if len(sections) > 1 else ""
        yield _text(section) + (seed if section.split_seed else "") + tail, section


def _text(section: DatasetConfig) -> str:
    held_out = held_out_domains(section)
    if held_out:
        return f" with {', '.join(held_out)} held out"
    return f" in fold {section.fold}" if section.fold is not None else ""


def _imbalance(section: DatasetConfig) -> str:
    """What tells one long-tailed training set from another in a sweep over several."""
    wanted = section.imbalance
    if wanted is None:
        return ""
    chosen = wanted.model_dump(exclude_defaults=True)
    texts = {k: f"{v:g}" if isinstance(v, float) else v for k, v in chosen.items()}
    return f", imbalance {', '.join(f'{key} {text}' for key, text in texts.items())}"


def _print(inspection: Inspection, console: Console) -> None:
    table = inspection.table
    print_counts(table.name, count_rows(table), console)
    for to, rows in inspection.plans.items():
        used = ", ".join(f"{split} {len(of_split):,}" for split, of_split in rows.items())
        console.print(f"images a run would use{to}: {used}", **PLAIN)
    left_out = [f"{file.path}: {file.reason}" for file in table.bad_files]
    for what, lines in (("left out", left_out), ("not referred to by any row", table.unused)):
        if lines:
            print_files(what, lines, _LISTED, console)
    for text in inspection.wrong:
        console.print(f"[red]wrong[/red] {escape(text)}", highlight=False, soft_wrap=True)
    for text in inspection.notes:
        console.print(f"[yellow]note[/yellow] {escape(text)}", highlight=False)
    summary = f"{len(table):,} images read, {counted(len(inspection.notes), 'note', 'notes')}"
    if inspection.wrong:
        summary += f", {len(inspection.wrong)} of what is wrong"
    console.print(summary)
