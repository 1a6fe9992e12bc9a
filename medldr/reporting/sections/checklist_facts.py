"""What a run says of the topics of a reporting checklist, each as a text; empty where unknown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medldr.config.sections import section
from medldr.folders.evaluation_record import EvaluationRecord
from medldr.metrics import metric_facts
from medldr.reporting.read.run import RunFiles
from medldr.reporting.results.headline import headline, headline_split
from medldr.reporting.sections.domain_gap import gap_sentence
from medldr.reporting.sections.run.about import card_entries
from medldr.reporting.sections.run.about import facts as run_facts
from medldr.reporting.sections.run.verdict import scored_verdict
from medldr.reporting.wording import bracketed, card_metrics, ordered, split_name

_OF_RUN = {
    "Method": "method", "Data": "data", "Network": "network", "Augmentation": "augmentation",
    "Training": "training", "Selection": "selection", "Held out": "held_out",
    "Protocol": "protocol",
}  # fmt: skip


def known_facts(files: RunFiles, words: Mapping[str, str]) -> dict[str, str]:
    """The facts that `templates/checklist.json` has places for.

    Args:
        files: The run.
        words: Sentences to fill, by name.
    """
    found = {_OF_RUN[name]: text for name, text in run_facts(files) if name in _OF_RUN}
    found |= {f"card_{_key(name)}": text for name, text in card_entries(files).items()}
    found |= _of_data(files, words)
    found |= _of_training(files, words)
    if files.evaluation is not None:
        found |= _of_evaluation(files, files.evaluation, words)
    return found


def _key(name: str) -> str:
    return name.lower().replace(" ", "_")


def _of_data(files: RunFiles, words: Mapping[str, str]) -> dict[str, str]:
    record, data = files.record, section(files.config, "data")
    if record is None:
        return {}
    spec, split = record.spec, headline(files.evaluation)
    found = {
        "data_name": record.data.name or "",
        "data_hash": (record.data_hash or "")[:16],
        "split_hash": (record.split_hash or "")[:16],
        "images": _by_split(record.data.images),
        "groups": _by_split({name: n for name, n in record.data.groups.items() if n}),
        "notes": " ".join(f"{note.rstrip('.')}." for note in files.notes),
        "metadata": ", ".join(split.subgroups) if split is not None else "",
        "transform": str(section(files.config, "transform").get("name", "")),
        "seed": "" if record.seed is None else f"{record.seed}",
    }
    if files.skipped_files:
        found["skipped"] = words["skipped"].format(count=f"{files.skipped_files:,}")
    if data.get("split_rule"):
        rule, seed = data["split_rule"], data.get("split_seed", 0)
        found["splitting"] = words["own_splits"].format(rule=rule, seed=seed)
    if spec is not None:
        size = " x ".join(map(str, spec.spatial_size))
        counted = zip(spec.class_names, spec.class_counts, strict=False)
        found |= {
            "input": f"{spec.channels} channel{'' if spec.channels == 1 else 's'} of {size}",
            "classes": ", ".join(spec.class_names),
            "class_counts": ", ".join(f"{name} {n:,}" for name, n in counted),
            "domains": ", ".join(spec.domains),
            "task_text": words["task"].format(task=spec.task, classes=", ".join(spec.class_names)),
        }
    return found


def _by_split(counts: Mapping[str, int]) -> str:
    return "; ".join(f"{split_name(name).lower()} {n:,}" for name, n in counts.items())


def _of_training(files: RunFiles, words: Mapping[str, str]) -> dict[str, str]:
    record, training = files.record, section(files.config, "training")
    model = section(files.config, "model")
    if record is None:
        return {}
    if training.get("init_from"):
        weights = words["init_from"]
    elif model.get("weights"):
        weights = words["weights_file"]
    elif model.get("pretrained"):
        weights = words["pretrained"].format(name=model["pretrained"])
    else:
        weights = words["random_weights"]
    provenance = record.provenance
    packages, git = (provenance.get(key) or {} for key in ("packages", "git"))
    hardware = provenance.get("hardware") or {}
    commit = str(git.get("commit") or "")[:12]
    lengths = (("epoch", record.epochs), ("step", record.steps))
    devices = [str(hardware.get("cpu") or ""), *map(str, hardware.get("gpus") or ())]
    return {
        "weights": weights,
        "packages": ", ".join(f"{name} {version}" for name, version in packages.items()),
        "version": str(packages.get("medldr", "")),
        "python": str(provenance.get("python", "")),
        "code": f"{commit} with changes" if commit and git.get("changed") else commit,
        "hash": record.hash or "",
        "trained": ", ".join(
            f"{n:,} {word}{'' if n == 1 else 's'}" for word, n in lengths if n is not None
        ),
        "precision": record.precision or "",
        "class_weights": _weights_text(training),
        "sampler": record.sampler or "",
        "hardware": ", ".join(filter(None, devices)) + "." if any(devices) else "",
        "seconds": f"{record.times.seconds:,.0f}" if record.times.seconds else "",
    }


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
) -> dict[str, str]:
    split, made = headline(scored), scored.calibration
    if split is None:
        return {}
    point, mistakes, drawn = scored.operating_point, files.mistakes, scored.intervals
    threshold = words["most_probable"]
    if scored.task == "multi-label":
        own = "labels_threshold" if scored.operating_points else "labels_at_half"
        threshold = words[own].format(specificity=scored.specificity)
    elif point is not None and point.threshold is not None:
        threshold = words["threshold"].format(
            specificity=point.specificity, threshold=point.threshold, split=point.split,
            positive=scored.positive_class,
        )  # fmt: skip
    oracle = scored.selection is not None and scored.selection.oracle
    return {
        "lead": scored_verdict(scored).text,
        "metrics": ", ".join(metric_facts(key).title for key in ordered(split.metrics)),
        "intervals": ""
        if drawn is None
        else words["intervals"].format(
            level=100 * drawn.level,
            method=drawn.method,
            draws=drawn.draws,
            unit="groups (patients, slides)" if split.unit == "group" else "images",
        ),
        "calibration": words["calibration"].format(definition=made.definition, bins=made.bins),
        "threshold": threshold,
        "oracle": words["oracle"] if oracle else "",
        "blind": "" if oracle else words["blind"],
        "unseen": ", ".join(name for name, entry in split.domains.items() if not entry.seen)
        if headline_split(scored) == "test"
        else "",
        "gap": gap_sentence(scored),
        "subgroups": ", ".join(split.subgroups),
        "subgroup_result": " ".join(_subgroup_texts(scored, words)),
        "mistakes": words["mistakes"].format(shown=len(mistakes.items), wrong=f"{mistakes.wrong:,}")
        if mistakes is not None and mistakes.items
        else "",
        "result": _result(scored),
    }


def _subgroup_texts(scored: EvaluationRecord, words: Mapping[str, str]) -> list[str]:
    split, known = headline(scored), metric_facts("accuracy")
    texts = []
    for column, division in split.subgroups.items() if split is not None else ():
        gap = division.gaps.get("accuracy")
        if gap is None:
            continue
        ends = (division.values[name] for name in (gap.lowest, gap.highest))
        low, high = (end.metrics["accuracy"].value for end in ends)
        if low is None or high is None:
            continue
        texts.append(
            words["subgroup"].format(
                column=column, low=known.with_unit(low), high=known.with_unit(high), of=gap.of,
                lowest=gap.lowest,
            )
        )  # fmt: skip
    return texts


def _result(scored: EvaluationRecord) -> str:
    """The headline numbers with their intervals."""
    split = headline(scored)
    texts = []
    for key in card_metrics(scored.task):
        number = None if split is None else split.metrics.get(key)
        if number is not None and number.value is not None:
            known = metric_facts(key)
            ends = bracketed(number, known, scored.level)
            texts.append(f"{metric_facts(key).title} {known.with_unit(number.value)}{ends}")
    where = split_name(headline_split(scored))
    return f"{where}: {'; '.join(texts)}" if texts else ""
