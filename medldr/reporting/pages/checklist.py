"""The reporting checklist of one run: each topic with what its files say, and what is left open."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from medldr.config.method import method_title
from medldr.config.sections import dataset_name, section
from medldr.folders.evaluation_record import EvaluationRecord
from medldr.folders.privacy import hide_ids
from medldr.folders.run_record import RunRecord
from medldr.metrics import metric_facts
from medldr.reporting.document import Document, Paragraph, Section
from medldr.reporting.read.run import RunFiles
from medldr.reporting.results.headline import headline, headline_split
from medldr.reporting.sections.run.about import card_entries
from medldr.reporting.sections.run.about import facts as run_facts
from medldr.reporting.sections.run.parts import subgroup_notes
from medldr.reporting.sections.run.verdict import scored_verdict, threshold_text
from medldr.reporting.table import DASH, Cell, Row, Table
from medldr.reporting.wording import ordered
from medldr.types import SPLIT_TITLES

PLACE = re.compile(r"\{([\w.]+)(?::([^}]*))?\}")
"""A place of a sentence: a fact or, with dots, a field of one, and how it is printed."""


@cache
def template() -> dict[str, Any]:
    """The fixed words of the checklist."""
    path = Path(__file__).parents[1] / "templates" / "checklist.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def checklist_page(files: RunFiles) -> Document:
    """The checklist of one run: a section for each part of a paper."""
    words = template()
    facts = known_facts(files, words["sentences"])
    about = f"{method_title(files.config)} on {dataset_name(files.config, files.facts)}"
    how = [Paragraph(words["lead"], "lead"), Paragraph(words["remark"])]
    sections = [Section("about", "How to use this page", "How to use", list(how))]
    for part in words["parts"]:
        table = Table(part["title"], list(words["columns"]), texts=(1, 2), intervals=False)
        for item in part["items"]:
            texts = (known(item.get("known", ()), facts), item["authors"])
            cells = [Cell(hide_ids(text, files.ids) or DASH, style="wide") for text in texts]
            table.rows.append(Row(item["topic"], cells))
        sections.append(Section(part["anchor"], part["title"], part["short"], [table]))
    title = f"{words['title']}: {about}"
    return Document(title, words["kicker"], files.name, sections=sections)


def known(sentences: list[str] | tuple[str, ...], facts: Mapping[str, Any]) -> str:
    """The sentences of an item of which every fact is known.

    Example:
        >>> known(["Seed {seed}.", "Taken in {card.dates}."], {"seed": "0", "card": {}})
        'Seed 0.'
    """
    placed = [(text, PLACE.findall(text)) for text in sentences]
    whole = [(text, of) for text, of in placed if all(fact(path, facts) for path, _ in of)]
    # A sentence about nothing known says nothing of this run.
    if not any(of for _, of in whole) and any(of for _, of in placed):
        return ""
    told = (PLACE.sub(lambda m: _shown(fact(m[1], facts), m[2] or ""), text) for text, _ in whole)
    return " ".join(re.sub(r"([.!?])\.$", r"\1", text) for text in told)


def fact(path: str, facts: Mapping[str, Any]) -> Any:
    """A fact, or a field of one; None where it is unknown.

    Example:
        >>> fact("record.seed", {"record": {"seed": 4}}), fact("record.hash", {"record": None})
        ('4', None)
    """
    held: Any = facts
    for name in path.split("."):
        held = held.get(name) if isinstance(held, Mapping) else getattr(held, name, None)
    return str(held) if type(held) is int else held  # seed 0 is known


def _shown(value: Any, how: str) -> str:
    if isinstance(value, Mapping):
        named = ((SPLIT_TITLES[k].lower() if k in SPLIT_TITLES else k, v) for k, v in value.items())
        return "; ".join(f"{k} {v:,}" if isinstance(v, int) else f"{k} {v}" for k, v in named if v)
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return format(value, how)


def known_facts(files: RunFiles, words: Mapping[str, str]) -> dict[str, Any]:
    """What `templates/checklist.json` has places for: files as they are, and texts made of them.

    Args:
        files: The run.
        words: Sentences to fill, by name.
    """
    data = section(files.config, "data")
    found: dict[str, Any] = {
        **{_key(name): text for name, text in run_facts(files)},
        "card": {_key(name): text for name, text in card_entries(files).items()},
        "record": files.record,
        "config": files.config,
        "notes": " ".join(f"{note.rstrip('.')}." for note in files.notes),
    }
    if files.skipped_files:
        found["skipped"] = words["skipped"].format(count=f"{files.skipped_files:,}")
    if data.get("split_rule"):
        rule, seed = data["split_rule"], data.get("split_seed", 0)
        found["splitting"] = words["own_splits"].format(rule=rule, seed=seed)
    if files.record is not None:
        found |= _of_record(files.record, files.config, words)
    if files.evaluation is not None:
        found |= _of_evaluation(files, files.evaluation, words)
    return found


def _key(name: str) -> str:
    return name.lower().replace(" ", "_")


def _of_record(
    record: RunRecord, config: Mapping[str, Any], words: Mapping[str, str]
) -> dict[str, Any]:
    spec, training, model = record.spec, section(config, "training"), section(config, "model")
    pretrained = words["pretrained"].format(name=model.get("pretrained"))
    sources = {
        words["init_from"]: training.get("init_from"),
        words["weights_file"]: model.get("weights"),
        pretrained: model.get("pretrained"),
        words["random_weights"]: True,
    }
    git, hardware = (record.provenance.get(key) or {} for key in ("git", "hardware"))
    commit = str(git.get("commit") or "")[:12]
    lengths = (("epoch", record.epochs), ("step", record.steps))
    shape = () if spec is None else spec.spatial_size
    return {
        "weights": next(text for text, used in sources.items() if used),
        "code": f"{commit} with changes" if commit and git.get("changed") else commit,
        "trained": [f"{n:,} {w}{'' if n == 1 else 's'}" for w, n in lengths if n is not None],
        "class_weights": _weights_text(training),
        "devices": [*filter(None, [hardware.get("cpu")]), *(hardware.get("gpus") or ())],
        "size": " x ".join(map(str, shape)),
        "class_counts": {} if spec is None else dict(
            zip(spec.class_names, spec.class_counts, strict=False)
        ),
    }  # fmt: skip


def _weights_text(training: Mapping[str, Any]) -> str:
    value = training.get("class_weights")
    if isinstance(value, Mapping):
        words = str(value.get("kind", "")).replace("_", " ")
        words += f", beta {value['beta']:g}" if "beta" in value else ""
        unit = "steps" if training.get("steps") else "epochs"
        return words + (f", after {value['start']} {unit}" if value.get("start") else "")
    if isinstance(value, list | tuple):
        return ", ".join(f"{weight:g}" for weight in value)
    return str(value or "none")


def _of_evaluation(
    files: RunFiles, scored: EvaluationRecord, words: Mapping[str, str]
) -> dict[str, Any]:
    split, point, mistakes = headline(scored), scored.operating_point, files.mistakes
    if split is None:
        return {}
    threshold = words["most_probable"]
    if scored.task == "multi-label":
        own = "labels_threshold" if scored.operating_points else "labels_at_half"
        threshold = words[own].format(specificity=scored.specificity)
    elif point is not None and point.threshold is not None:
        threshold = words["threshold"].format(
            how=threshold_text(scored), threshold=point.threshold, positive=scored.positive_class
        )
    oracle = scored.selection is not None and scored.selection.oracle
    said, tested = scored_verdict(scored), headline_split(scored) == "test"
    unseen = [name for name, entry in split.domains.items() if not entry.seen]
    of_subgroups = [
        f"{column}: {note}"
        for column, division in split.subgroups.items()
        for note in subgroup_notes(division, scored)
    ]
    pictured = mistakes is not None and mistakes.items
    return {
        "evaluation": scored,
        "lead": f"{said.word.capitalize()}. {said.text}",
        "metrics": [metric_facts(key).title for key in ordered(split.metrics)],
        "unit": "groups (patients, slides)" if split.unit == "group" else "images",
        "threshold": threshold,
        "oracle": words["oracle"] if oracle else "",
        "blind": "" if oracle else words["blind"],
        "unseen": unseen if tested else [],
        "subgroups": list(split.subgroups),
        "subgroup_result": " ".join(of_subgroups),
        "mistakes": words["mistakes"].format(shown=len(mistakes.items), wrong=mistakes.wrong)
        if mistakes is not None and pictured
        else "",
        "result": " ".join([said.text, *said.more]),
    }
