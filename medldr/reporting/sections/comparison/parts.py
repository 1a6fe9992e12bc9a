"""The top of a comparison's page: what must be known first, what it found, and its glossary."""

from __future__ import annotations

from collections.abc import Mapping

from medldr.evaluation.comparison.comparison import Comparison
from medldr.evaluation.comparison.findings import direction
from medldr.metrics import METRICS, metric_facts
from medldr.reporting.document import Banner, Bullets, Figures, Pairs, Paragraph, Section
from medldr.reporting.figures.drawing import looks
from medldr.reporting.figures.forest import difference_figure
from medldr.reporting.figures.overlays import overlay_figures
from medldr.reporting.prose import section, sentence
from medldr.reporting.read.run import RunFiles
from medldr.reporting.sections.basis import no_groups_note
from medldr.reporting.sections.comparison import tables
from medldr.reporting.sections.comparison.non_inferiority import judgements
from medldr.reporting.sections.degenerate import collapse_banner, collapse_texts
from medldr.reporting.wording import bracketed, split_name

MOST_LEADS = 4
"""More sentences than this are not read."""
FIGURE_METRICS = ("accuracy", "auc")


def banners(found: Comparison, remark: str | None) -> list[Banner]:
    """A remark, oracles, single seeds, runs without a result."""
    made = [Banner("remark", remark)] if remark else []
    made += collapses(found)
    oracles = ", ".join(method.name for method in found.methods if method.oracle)
    if oracles:
        made.append(Banner("oracle", sentence("oracles", rows=oracles)))
    if any(len(method.seeds) == 1 for method in found.methods):
        made.append(Banner("warning", sentence("single_seed_method")))
    if found.missing:
        runs = "1 run has" if len(found.missing) == 1 else f"{len(found.missing)} runs have"
        made.append(Banner("warning", f"{runs} no result; see the rows tagged “no result”."))
    return made


def collapses(found: Comparison) -> list[Banner]:
    """What no accuracy of the foremost split should be read without."""
    split = found.page_order[0]
    return collapse_banner(collapse_texts(*found.collapsed(split)), split_name(split).lower())


def notes(found: Comparison) -> Section | None:
    """What a reader of any number must know."""
    return section("comparison", "notes", Bullets([*found.notes, *no_groups_note([("", found)])]))


def result(found: Comparison) -> Section | None:
    """What it found, in sentences and with the numbers of every method."""
    numbers = [tables.result_table(found, split) for split in found.page_order]
    sentences = [Paragraph(text, "lead") for text in leads(found, found.primary)]
    made = Paragraph(interval_words(found), "small")
    return section("comparison", "result", *sentences, *numbers, made)


def leads(found: Comparison, metric: str = "accuracy") -> list[str]:
    """The paired differences in plain sentences; for many methods the tables say it better."""
    others = len(found.methods) - 1
    if others > MOST_LEADS:
        return []
    splits = ("test", "id_test") if others <= MOST_LEADS // 2 else ("test",)
    texts = (_lead(found, split, metric, name) for split in splits for name in found.names)
    return [text for text in texts if text]


def _lead(found: Comparison, split: str, metric: str, method: str) -> str:
    difference, known = found.difference(split, metric, method), metric_facts(metric)
    if difference is None or difference.estimate.mean is None:
        return ""
    paired, value, verdict = difference.estimate, difference.estimate.mean, ""
    oracles = {of.name for of in found.methods if of.oracle} & {method, found.reference}
    untested = difference.untested or ("oracle selection" if oracles else "")
    if untested:
        return (
            f"{found.title(split)}: {known.title.lower()} of {method} minus that of "
            f"{found.reference} is {known.show_difference(value)}"
            f"{' percentage points' if known.percent else ''}"
            f"{bracketed(paired, known, signed=True)}; not tested ({untested})."
        )
    if paired.low is not None and paired.high is not None:
        clear = direction(paired) != "unclear"
        verdict = f" {sentence('zero_excluded' if clear else 'zero_included')}"
    size = f"{known.show(abs(value))}{' percentage points' if known.percent else ''}"
    return (
        f"{found.title(split)}: {known.title.lower()} of {method} is {size} "
        f"{'higher' if value >= 0 else 'lower'} than that of {found.reference}"
        f"{bracketed(paired, known, signed=True)}.{verdict}"
    )


def interval_words(found: Comparison) -> str:
    """How the intervals of a comparison were made; empty where that is not known."""
    made = found.intervals
    if made is None:
        return ""
    return sentence("intervals", level=100 * made.level, draws=made.draws)


def differences(found: Comparison) -> Section | None:
    """Every method minus the reference, in the same draws; None for a single method."""
    if not found.others:
        return None
    styles = looks(found.names, found.reference, found.controls)
    shown = dict.fromkeys([found.primary, *FIGURE_METRICS])
    drawings = [difference_figure(found, styles, m) for m in shown if found.differs(m)]
    figures = Figures([drawing for drawing in drawings if drawing is not None])
    paired = [tables.difference_table(found, split) for split in found.page_order]
    judged = Bullets(judgements(found), "verdict")
    return section("comparison", "differences", judged, figures, *paired)


def domains(found: Comparison) -> Section | None:
    """Methods in each domain, and what each loses on the way from seen to unseen ones."""
    gaps = tables.gap_table(found)
    words = None if gaps is None else Paragraph(sentence("gap"))
    return section("comparison", "domains", tables.domain_table(found), words, gaps)


def curves(found: Comparison, files: Mapping[str, RunFiles]) -> Section | None:
    """Learning curves of all methods; None where none were logged.

    Args:
        found: The comparison.
        files: The run folders that are known, by name.
    """
    logs = {m.name: [files[run].log for run in m.runs if run in files] for m in found.methods}
    styles = looks(found.names, found.reference, found.controls)
    return section("comparison", "curves", Figures(overlay_figures(logs, styles)))


def runs(found: Comparison) -> Section | None:
    """The runs of each method."""
    return section("comparison", "runs", tables.runs_table(found))


def glossary(found: Comparison) -> Section | None:
    """What each metric of the page means."""
    shown = {metric for split in found.splits for metric in tables.main_metrics(found, split)}
    pairs = [(known.title, known.meaning) for key, known in METRICS.items() if key in shown]
    return section("comparison", "glossary", Pairs(pairs, glossary=True))
