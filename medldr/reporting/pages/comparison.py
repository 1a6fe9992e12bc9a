"""The page of a comparison: its verdict, one figure and one table, then all that is behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from medldr.config.method import method_title
from medldr.config.sections import dataset_name
from medldr.errors import InputError, did_you_mean
from medldr.evaluation.comparison.comparison import Comparison, Method, Score
from medldr.evaluation.primary import DEFAULT
from medldr.metrics import METRICS, metric_facts, other_half
from medldr.reporting.document import (
    Banner,
    Bullets,
    Document,
    Drawing,
    Figures,
    Pairs,
    Paragraph,
    Section,
    Verdict,
)
from medldr.reporting.figures.drawing import looks
from medldr.reporting.figures.forest import BETTER, Whisker, forest_figure
from medldr.reporting.prose import Parts, answered, assemble, section, sentence
from medldr.reporting.read.run import RunFiles
from medldr.reporting.read.study import printed_titles
from medldr.reporting.sections import basis
from medldr.reporting.sections.basis import (
    collapse_texts,
    interval_words,
    no_groups_note,
)
from medldr.reporting.sections.comparison import tables
from medldr.reporting.sections.comparison.verdict import Asked, verdict
from medldr.reporting.sections.published import comparison_published
from medldr.reporting.sections.rows import count
from medldr.reporting.sections.training import overlay_figures
from medldr.reporting.table import interval
from medldr.reporting.wording import leading_metrics, split_name, spoken

DEMONSTRATION = "A demonstration of the tool, not evidence for the method."


def comparison_page(
    found: Comparison, title: str | None, remark: str | None, files: Mapping[str, RunFiles]
) -> Document:
    """The page of a comparison.

    Args:
        found: The comparison.
        title: The title of the page; None: made of the methods' titles.
        remark: A banner at its top, such as `DEMONSTRATION`.
        files: The run folders that are known, by name, for titles, curves and published numbers.
    """
    found, show = titled(found, files), partial(section, "comparison")
    sections: Parts = [
        ("result", lambda: result(found)),
        ("metrics", lambda: metrics(found)),
        ("domains", lambda: show("domains", tables.domain_table(found), tables.gap_table(found))),
        ("published", lambda: show("published", comparison_published(found, files))),
        ("curves", lambda: curves(found, files)),
        ("runs", lambda: show("runs", tables.runs_table(found, files))),
        ("notes", lambda: numbers_made(found)),
    ]
    runs = count(sum(len(method.seeds) for method in found.methods), "run")
    sets = {dataset_name(each.config, each.facts): None for each in files.values()}
    sizes = ": ".join([*sets, f"{count(len(found.methods), 'method')}, {runs}"])
    return Document(
        title or " and ".join(found.names),
        "medldr · comparison of runs",
        f"{sizes}; differences are relative to {found.reference}",
        banners(found, remark),
        assemble("comparison", sections),
        verdict=answered(lambda: comparison_verdict(found, found.primary)),
    )


def titled(found: Comparison, files: Mapping[str, RunFiles]) -> Comparison:
    """Name methods by their titles, where their runs are known; others by their short names."""
    _, short = found.short_names()
    known = {
        m.name: method_title(files[m.runs[0]].config) for m in short.methods if m.runs[0] in files
    }
    oracles = [method.name for method in short.methods if method.oracle]
    titles = printed_titles({name: (name,) for name in short.names}, known, oracles)
    return short.renamed({n: titles[n] if n in known else n for n in short.names})


def leading_metric(found: Comparison, files: Mapping[str, RunFiles]) -> str:
    """What speaks where nobody says: the primary metric, else what leads on the page of a run.

    Args:
        found: The comparison.
        files: The run folders that are known, by name; they tell whether a study stated a metric.
    """
    if found.margin is not None:
        return found.margin.metric
    if found.primary != DEFAULT or any(
        of.evaluation and of.evaluation.primary for of in files.values()
    ):
        return found.primary
    split = found.page_order[0]
    shares = [*found.splits[split].class_shares.values()]
    there = found.metrics(split)
    return next((key for key in leading_metrics(found.task, shares) if key in there), DEFAULT)


def comparison_verdict(found: Comparison, metric: str) -> Verdict:
    """Which method is better than the first one, by a metric on the foremost split.

    Args:
        found: The comparison.
        metric: The metric that speaks; the other main ones may disagree.
    """
    split = found.page_order[0]
    metrics = dict.fromkeys([metric, *tables.main_metrics(found, split)])
    kept = [key for key in metrics if key == metric or not metric_facts(key).calibration]
    names = [method.name for method in found.others]
    differences = {
        key: {name: of for name in names if (of := found.difference(split, key, name)) is not None}
        for key in (*kept, other_half(metric))
    }
    domains = found.unseen(split)
    where = f"in the unseen domain {domains[0]}" if len(domains) == 1 else "in unseen domains"
    place = where if domains else f"on the {split_name(split).lower()} split"
    apart = [m.name for m in found.methods if m.oracle or m.control]
    methods = [name for name in names if name not in apart]
    missing = f"Missing: {count(len(found.missing), 'run')} without a result."
    lost, judged = [missing] if found.missing else [], judgements(found)
    if not methods or found.reference in apart:
        return Verdict("not compared", _why_not(found), more=[*lost, *judged])
    asked = Asked(found.reference, methods, kept, differences, dict.fromkeys(names, place), {})
    return verdict(asked, lost, judged)


def _why_not(found: Comparison) -> str:
    """Why there is no method to compare with the reference."""
    if found.others:
        return sentence("only_apart")
    own = {run.rpartition("-s")[0] for method in found.methods for run in method.runs}
    others = [run for run, _ in found.missing if run.rpartition("-s")[0] not in own]
    if not others:
        return sentence("only_reference")
    return sentence("none_finished", runs=", ".join(others))


def banners(found: Comparison, remark: str | None) -> list[Banner]:
    """A remark, degenerate predictions, oracles."""
    split = found.page_order[0]
    oracles = [method.name for method in found.methods if method.oracle]
    return basis.banners(remark, collapse_texts(*found.collapsed(split)), split, oracles)


def overview(found: Comparison, metric: str) -> Document:
    """What is printed: the verdict and the first table, by a metric.

    Args:
        found: The comparison, with the titles of its methods.
        metric: The metric.

    Raises:
        InputError: If that metric was not computed; with the nearest name.
    """
    known = sorted(found.metrics())
    if metric not in known:
        raise InputError(
            f"this comparison has no metric {metric!r}.{did_you_mean(metric, known)} "
            f"Known: {', '.join(known)}"
        )
    table = tables.overview_table(found, found.page_order[0], metric)
    table = replace(table, caption=f"{table.caption}; below each number its 95% CI")
    shown = Section("result", "", "", [table])
    verdict = comparison_verdict(found, metric)
    return Document("", "", "", banners(found, None), [shown], verdict)


def result(found: Comparison) -> Section | None:
    """One figure and one table: the primary metric of every method on the foremost split."""
    figure = difference_figure(found, found.primary)
    table = tables.overview_table(found, found.page_order[0], found.primary)
    return section("comparison", "result", Figures.of(figure), table)


def difference_figure(found: Comparison, metric: str) -> Drawing | None:
    """Every method minus the reference on every split and domain; None for a single method."""
    styles = looks(found.names, found.reference, found.controls)
    known = metric_facts(metric)
    rows = [
        Whisker(_label(found, score), held, "s" if unseen else "o", styles[score.method]["color"])
        for score, unseen in _scores(found, metric)
        if (minus := found.difference(score.split, metric, score.method, score.domain)) is not None
        and (held := minus.estimate).mean is not None
    ]
    each = [found.difference(found.page_order[0], metric, m.name) for m in found.others]
    few = all(of is None or of.untested for of in each)
    margin = None
    if found.margin is not None and found.margin.metric == metric:
        margin = found.margin.value * (1 if known.better == "lower" else -1)
    unseen = any(row.shape == "s" for row in rows)
    return forest_figure(
        f"difference-{metric.replace('_', '-').replace('/', '-')}", metric, rows,
        title=f"{known.title}: difference from {found.reference}", reference=found.reference,
        legend={"o": "seen in training", "s": "unseen"} if unseen else None,
        caption="Each row is a paired difference with its 95% CI; "
        f"{BETTER.get(known.better, 'the line marks no difference')}. "
        f"{sentence('line_few' if few else 'line')}"
        + ("" if margin is None else " The dashed line is the margin of non-inferiority."),
        margin=margin,
    )  # fmt: skip


def _scores(found: Comparison, metric: str) -> Iterator[tuple[Score, bool]]:
    """Scores in the order of rows, and whether each is of unseen domains."""
    for split in found.page_order:
        domains = list(found.splits[split].domains)
        for domain in [None, *(domains if len(domains) > 1 else [])]:
            for method in found.others:
                score = found.score(split, metric, method.name, domain)
                if score is not None:
                    yield score, score.seen is False if domain else bool(found.unseen(split))


def _label(found: Comparison, score: Score) -> str:
    place = split_name(score.split) if score.domain is None else f"  {score.domain}"
    return place if len(found.others) == 1 else f"{score.method}, {place.strip()}"


def metrics(found: Comparison) -> Section | None:
    """All main metrics on every split, of methods and of their differences, in the same draws."""
    each = ((split, minus) for split in found.page_order for minus in (False, True))
    shown = (
        tables.metrics_table(found, split, differences=minus)
        for split, minus in each
        if found.others or not minus
    )
    return section("comparison", "metrics", *shown)


def curves(found: Comparison, files: Mapping[str, RunFiles]) -> Section | None:
    """Learning curves of all methods; None where none were logged.

    Args:
        found: The comparison.
        files: The run folders that are known, by name.
    """
    logs = {m.name: [files[run].log for run in m.runs if run in files] for m in found.methods}
    styles = looks(found.names, found.reference, found.controls)
    drawings = overlay_figures(logs, styles)
    return section("comparison", "curves", Figures(drawings), count=len(drawings))


def numbers_made(found: Comparison) -> Section | None:
    """What readers should know of the numbers: how they were made, and what metrics mean."""
    shown = {metric for split in found.splits for metric in tables.main_metrics(found, split)}
    meanings = [(known.title, known.meaning) for key, known in METRICS.items() if key in shown]
    notes = [*found.notes, *no_groups_note([("", found)])]
    words = Paragraph(interval_words(found), "small")
    return section("comparison", "notes", Bullets(notes), words, Pairs(meanings, glossary=True))


def judgements(found: Comparison) -> list[str]:
    """What is known of every method on every split; empty where no margin was asked for."""
    if found.margin is None:
        return []
    said = [
        _judgement(found, split, method) for split in found.page_order for method in found.others
    ]
    return [text for text in said if text] + [sentence("margins")]


def _judgement(found: Comparison, split: str, method: Method) -> str:
    if found.margin is None:
        return ""
    metric, margin = found.margin
    difference = found.difference(split, metric, method.name)
    base = next(other for other in found.methods if other.name == found.reference)
    # An oracle's numbers are optimistic and say nothing about who is better.
    if difference is None or method.oracle or base.oracle:
        return ""
    known = metric_facts(metric)
    verdict = difference.non_inferiority
    return sentence(
        "cannot_be_told" if difference.untested and verdict else verdict or "not_judged",
        place=found.title(split),
        untested=difference.untested,
        method=method.name,
        reference=found.reference,
        metric=spoken(metric),
        margin=f"{100 * margin:g} percentage points" if known.percent else f"{margin:g}",
        ends=interval(difference.estimate, known, signed=True),
        reason=difference.estimate.reason or "there is no interval",
    )
