"""A whole data set is read, examined, and shown on a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medldr.checking.find_data import find_data
from medldr.config import PLUGIN_SECTIONS
from medldr.config.changes import Changes, change_texts
from medldr.console import Console, say
from medldr.data.checks.table_checks import look_at
from medldr.data.config import DatasetConfig
from medldr.data.counting import counted
from medldr.data.image_table import ImageTable, Look
from medldr.data.inspection import Inspection, inspect_table
from medldr.data.load import load_table
from medldr.data.seen import known_images
from medldr.data.splits.make import make_splits
from medldr.data.splits.manifest import held_out_domains
from medldr.errors import InputError
from medldr.evaluation.inputs.simple_controls import Control, simple_controls
from medldr.folders.files import write_text
from medldr.folders.privacy import worth_hiding
from medldr.plugins import load as load_plugin
from medldr.plugins import takes_plugins
from medldr.reporting.writers.terminal import console
from medldr.run import trained as trained_run

_MOST_BAD: Final = 1000  # files that are printed where they are refused


@dataclass(frozen=True, repr=False)
class DataCheck:
    """What a look at a whole data set found.

    Attributes:
        inspection: What is wrong or unusual in it, and how a run would divide it.
        controls: What plain numbers tell about the classes; none where no page was asked for.
        left_out: Whether files are missing or unusable, so that runs leave them out.
        page: The page that was written; None without.
    """

    inspection: Inspection
    controls: tuple[Control, ...]
    left_out: bool
    page: Path | None

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong, and no file is left out."""
        return not (self.left_out or self.inspection.wrong)

    def __repr__(self) -> str:
        found, page = self.inspection, "" if self.page is None else f", page {self.page}"
        wrong, notes = len(found.wrong), len(found.look) + len(found.notes)
        return f"DataCheck({found.table.name}, {wrong} wrong, {notes} notes{page})"

    def _repr_html_(self) -> str:
        """The table of its images, for a notebook."""
        from medldr.reporting.pages.data_check import overview
        from medldr.reporting.writers.html import html_notebook

        counts = overview(self.inspection, self.controls).tables(["counts"])
        return html_notebook(repr(self), [table for _, table in counts])


@takes_plugins
def data_check(
    name: str,
    overrides: Changes = (),
    *,
    page: str | Path | None = None,
    no_page: bool = False,
    show_ids: bool = False,
    run: str | Path | None = None,
    plugins: Sequence[str] = (),
) -> DataCheck:
    """Read a whole data set, find what is wrong or unusual in it, and write a page of it.

    Args:
        name: A data part, a run, a sweep, or a YAML file of one.
        overrides: The folder of the files first, if it is not the usual one, and ``KEY=VALUE``
            texts; or values by key, the folder as ``root``.
        page: The page to write; unset: ``NAME_check.html``.
        no_page: Write no page, and try no controls.
        show_ids: Whether the page may show names of files and patients.
        run: A run folder: images that it has seen are wrong in a set that is to judge it.
        plugins: Packages of your own whose plug-ins may be imported.

    Raises:
        InputError: If the data cannot be used by a run.
    """
    sections, config = find_data(name, change_texts(overrides))
    section = sections[0]
    module = load_plugin(PLUGIN_SECTIONS["data"], section.name)
    examined: Mapping[str, Any] = {}
    looks: dict[str, Look] = {}
    if hasattr(module, "examine"):

        def seen(item: str, pixels: NDArray[np.uint8]) -> None:
            (looks[item],) = look_at(pixels[None])

        examined = module.examine(section, seen)
        refuse_bad_files(name, examined, section, console())
    table = load_table(section)
    plans = {to: make_splits(table, one) for to, one in _plans(table, sections)}
    found = _with_examined(inspect_table(table, plans, looks, config), examined)
    if run is not None:
        found = _with_seen(found, Path(run))
    controls: list[Control] = []
    place = None if no_page else Path(page or f"{Path(name).stem}_check.html")
    if place is not None:  # else every image would be read once more
        positive = None if config is None else config.evaluation.positive_class
        controls = simple_controls(table, found.plans, positive)
        write_page(found, controls, place, show_ids=show_ids)
    bad = bool(table.bad_files or examined.get("missing") or examined.get("unreadable"))
    return DataCheck(found, tuple(controls), bad, place)


def refuse_bad_files(
    name: str, examined: Mapping[str, Any], section: DatasetConfig, out: Console
) -> None:
    """Print the files that are missing or unreadable, and refuse them unless they are left out.

    Raises:
        InputError: If there are any, and `data.on_bad_file` is not ``skip``.
    """
    unreadable = [f"{path}: {reason}" for path, reason in examined["unreadable"]]
    bad = len(examined["missing"]) + len(unreadable)
    if not bad or getattr(section, "on_bad_file", "error") == "skip":
        return
    for what, lines in {"missing": examined["missing"], "unreadable": unreadable}.items():
        if lines:
            _print_files(what, lines, _MOST_BAD, out)
    raise InputError(
        f"{name}: {counted(bad, 'file is', 'files are')} missing or unusable, for the "
        "reasons above. Replace them with intact copies, or leave them out with "
        "data.on_bad_file=skip"
    )


def _print_files(what: str, lines: Sequence[str], most: int, console: Console) -> None:
    """Print how many files are something, and the first of them."""
    say(f"{counted(len(lines), 'file', 'files')} {what}", console)
    for line in lines[:most]:
        say(f"  {line}", console)
    if len(lines) > most:
        say(f"  and {len(lines) - most:,} more", console)


def _with_examined(found: Inspection, examined: Mapping[str, Any]) -> Inspection:
    """What was found, and what the data set's own examination says of its files."""
    if not examined:
        return found
    counts = [one for one in examined["counts"] if one["published"] is not None]
    published = {(one["split"], one["domain"]): one["published"] for one in counts}
    gaps = [one for one in counts if one["found"] != one["published"]]
    look, notes = [*found.look], [*found.notes, *examined.get("findings", ())]
    if gaps:
        first = " ".join(filter(None, (gaps[0]["split"], gaps[0]["domain"])))
        look.append(
            f"{found.table.name}: {len(gaps)} of {len(counts)} parts have not the published number "
            f"of images, such as {first}: {gaps[0]['found']:,}, not {gaps[0]['published']:,}"
        )
    if examined["extra"]:
        extra = examined["extra"]
        files = counted(len(extra), "file is", "files are")
        notes.insert(0, f"{files} not listed in the table, so not used, such as {extra[0]}")
    return replace(found, look=tuple(look), notes=tuple(notes), published=published)


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
