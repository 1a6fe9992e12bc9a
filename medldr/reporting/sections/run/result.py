"""The top of a run's page: what must be known first, the result, and what was trained on what."""

from __future__ import annotations

from collections.abc import Iterator

from medldr.evaluation.comparison.comparison import Collapse, Size
from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.metrics.counts import degenerate
from medldr.evaluation.primary import DEFAULT, changed
from medldr.folders.evaluation_record import EvaluationRecord, SplitRecord
from medldr.metrics import metric_facts
from medldr.reporting.document import Banner, Block, Bullets, Card, Cards, Pairs, Paragraph, Section
from medldr.reporting.prose import section, sentence, words
from medldr.reporting.read.run import RunFiles
from medldr.reporting.results.headline import headline, headline_split, metrics_of, seen_split
from medldr.reporting.sections.degenerate import collapse_banner, collapse_texts
from medldr.reporting.sections.domain_gap import gap_sentence
from medldr.reporting.sections.run.facts import facts
from medldr.reporting.table import Cell
from medldr.reporting.wording import SHOTS, bracketed, card_metrics, split_name


def banners(files: RunFiles) -> list[Banner]:
    """An oracle, an end before the end, seen images, no test split, files that were left out."""
    scored = files.evaluation
    chosen = scored and scored.selection
    found = []
    if chosen and chosen.oracle:
        found.append(Banner("oracle", sentence("run_oracle", rule=chosen.rule)))
    found += [] if scored is None else collapses(scored)
    return found + [Banner("warning", text) for text in (*_warnings(files), *files.problems)]


def collapses(scored: EvaluationRecord) -> list[Banner]:
    """What no accuracy of the headline split should be read without."""
    split, name = headline(scored), headline_split(scored)
    wrong = None if split is None else degenerate(split.decided, scored.class_names)
    found = [] if wrong is None else [Collapse(name, "This run", 0, *wrong)]
    return collapse_banner(collapse_texts(found, {"This run": (0,)}), split_name(name).lower())


def _warnings(files: RunFiles) -> Iterator[str]:
    ending = words("endings").get("" if files.record is None else files.record.status)
    if ending:
        error = files.facts.get("error")  # without ids, unlike that of the record
        yield f"{ending}{f' ({error})' if error else ''}."
    yield from () if files.record is None else files.record.marks
    split = headline_split(files.evaluation)
    if files.evaluation is None:
        yield sentence("no_evaluation")
    elif split not in ("test", ""):
        yield sentence("no_test_split", split=split_name(split).lower())
    if files.skipped_files:
        what = "file was" if files.skipped_files == 1 else "files were"
        yield f"{files.skipped_files} unreadable {what} left out; see bad_files.csv."


def notes(files: RunFiles) -> Section | None:
    """What a reader of any number must know of the data."""
    split = headline(files.evaluation)
    alike = split is not None and split.unit == "item"
    said = [sentence("no_groups", where="")] if alike else []
    said += filter(None, [changed(files.record, files.evaluation)])
    return section("run", "notes", Bullets([*files.notes, *said]))


def result(files: RunFiles) -> Section | None:
    """The result in a sentence, a few large numbers, and what was trained."""
    numbers: list[Block] = []
    if files.evaluation is not None:
        numbers = [Paragraph(lead(files.evaluation), "lead"), *cards(files.evaluation)]
    return section("run", "result", *numbers, Pairs(facts(files)))


def lead(scored: EvaluationRecord) -> str:
    """The result in a few plain sentences; empty where there is none."""
    split = headline(scored)
    key = scored.primary or DEFAULT
    number = split and split.metrics.get(key)
    if not split or not number or number.value is None:
        return ""
    known = metric_facts(key)
    where = f"the {split_name(headline_split(scored)).lower()} split"
    if split.unseen:
        where += f" ({', '.join(split.domains)}, unseen during training)"
    if key != DEFAULT:
        interval = bracketed(number, known, scored.level, unit="%" if known.percent else "")
        text = f"On {where}, {title(scored, key)} is {known.with_unit(number.value)}{interval}."
        return " ".join(filter(None, (text, gap_sentence(scored, key))))
    labels = scored.task == "multi-label"
    what = "labels were predicted correctly" if labels else "images were classified correctly"
    text = f"On {where}, {known.with_unit(number.value)} of the {what}"
    text += f"{bracketed(number, known, scored.level, unit='%')}."
    return " ".join(filter(None, (text, _comparison(scored, split), gap_sentence(scored))))


def _comparison(scored: EvaluationRecord, split: SplitRecord) -> str:
    """What always naming the most frequent class would reach; empty where that is unknown."""
    totals = [sum(row) for row in split.confusion or ()] if scored.task != "multi-label" else []
    if len(totals) != len(scored.class_names) or not sum(totals):
        return ""
    share = metric_facts("accuracy").with_unit(max(totals) / sum(totals))
    name = scored.class_names[totals.index(max(totals))]
    return sentence("most_frequent", name=name, share=share)


def cards(scored: EvaluationRecord) -> list[Cards]:
    """Large numbers of the headline split, and of the seen domains next to the unseen ones."""
    shown = dict.fromkeys((headline_split(scored), seen_split(scored)))
    return [
        Cards(_cards_title(name, scored.splits[name]), _cards(scored, name), scored.level)
        for name in shown
        if name in scored.splits
    ]


def _cards(scored: EvaluationRecord, name: str) -> list[Card]:
    numbers = metrics_of(scored.splits[name])
    return [
        Card(title(scored, key), Cell(Estimate.of(numbers[key]), metric_facts(key)))
        for key in (*card_metrics(scored.task, scored.primary), *SHOTS, "worst_group")
        if key in numbers
    ]


def _cards_title(name: str, split: SplitRecord) -> str:
    found = split_name(name) if name in ("id_test", "id_val") else f"{split_name(name)} split"
    if split.unseen:
        many = "domains" if len(split.domains) > 1 else "domain"
        found = f"{split_name(name)}, unseen {many} ({', '.join(split.domains)})"
    return f"{found} · {counts_text(split)}"


def title(scored: EvaluationRecord, key: str) -> str:
    """The name of a metric, with the specificity that this run asked for.

    Example:
        >>> point = {"specificity": 0.9}
        >>> scored = EvaluationRecord(task="binary", splits={}, operating_point=point)
        >>> title(scored, "sensitivity_at_specificity"), title(scored, "auc")
        ('Sensitivity at 90% specificity', 'AUC')
    """
    point = scored.operating_point
    wanted = None if point is None else point.specificity
    if key != "sensitivity_at_specificity" or wanted is None:
        return metric_facts(key).title
    return f"Sensitivity at {100 * wanted:g}% specificity"


def counts_text(split: SplitRecord) -> str:
    """Number of images, and of groups where they are fewer.

    Example:
        >>> counts_text(SplitRecord(n=1240, n_groups=310, unit="group"))
        '1,240 images of 310 groups (patients, slides)'
    """
    return Size(split.n, split.n_groups, unit=split.unit or "").counts
