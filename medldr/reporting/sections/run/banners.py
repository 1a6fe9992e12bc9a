"""What must be known before any number of a run is read."""

from __future__ import annotations

from medldr.reporting.document import Banner, Bullets, Section
from medldr.reporting.read.run import RunFiles
from medldr.reporting.results.headline import headline_split
from medldr.reporting.wording import split_name

ENDINGS = {
    "failed": "This run has failed",
    "interrupted": "This run was interrupted and can go on",
    "running": "This run is still going on",
}


def banners(files: RunFiles) -> list[Banner]:
    """An oracle, an end before the end, results of no test split, files that were left out."""
    found = []
    judged = files.evaluation
    if judged is not None and judged.selection is not None and judged.selection.oracle:
        text = (
            "ORACLE SELECTION. The weights were chosen by looking at the test split "
            f"(rule {judged.selection.rule}). The numbers are an upper bound of what could "
            "have been reached, not a measurement of what can be expected."
        )
        found.append(Banner("oracle", text))
    warnings = []
    ending = ENDINGS.get("" if files.record is None else files.record.status)
    if ending:
        error = files.facts.get("error")  # without ids, unlike that of the record
        warnings.append(f"{ending}{f' ({error})' if error else ''}.")
    name = headline_split(judged)
    if judged is None:
        warnings.append("This run was not evaluated yet, so there are no results.")
    elif name not in ("test", ""):
        title = split_name(name).lower()
        warnings.append(f"No test split was scored: these are {title} results.")
    if files.skipped_files:
        count = files.skipped_files
        what = "file was" if count == 1 else "files were"
        warnings.append(f"{count} unreadable {what} left out; see bad_files.csv.")
    return found + [Banner("warning", text) for text in (*warnings, *files.problems)]


def notes(files: RunFiles) -> Section | None:
    """What a reader of any number must know of the data."""
    if not files.notes:
        return None
    return Section("notes", "What to know about these data", "Notes", [Bullets(files.notes)])
