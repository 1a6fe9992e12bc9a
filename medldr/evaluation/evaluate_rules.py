"""The weights of every selection rule, evaluated in one pass over each split.

Several rules may choose weights from one training. Each split is read once, however many rules
there are, and rules that chose the same step share their weights, which predict once.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from medldr.config import RunConfig
from medldr.config.training_options import SWAD
from medldr.data import Data
from medldr.errors import InputError
from medldr.evaluation import aggregate, recalibration
from medldr.evaluation.explain.mistakes import picture_mistakes
from medldr.evaluation.from_predictions import check, evaluate
from medldr.evaluation.inputs.describe_inputs import describe_inputs
from medldr.evaluation.latents.collect import collect_latents
from medldr.evaluation.latents.held_back import leaks_of
from medldr.evaluation.latents.operators import find_operators, with_operators
from medldr.evaluation.predictions.predict import predict_each
from medldr.evaluation.predictions.submission import submission_files
from medldr.evaluation.predictions.table import join, write_predictions
from medldr.folders import provenance
from medldr.folders.evaluation_record import write_evaluation
from medldr.folders.files import RunFolder, load_tensors, save_tensors, write_text
from medldr.folders.latents_record import write_latents
from medldr.folders.mistakes_record import write_mistakes
from medldr.folders.preprocessing_record import write_preprocessing
from medldr.folders.run_record import CURE, RunRecord, Selection, add_to_run_record, read_run_record
from medldr.models import build_model
from medldr.models.base import FeatureModel
from medldr.types import DataSpec, Predictions

if TYPE_CHECKING:
    from lightning_fabric import Fabric

Choice = tuple[float | None, int | None, bool]
"""Epoch, step, and whether weights of many steps were averaged; equal keys mean equal weights."""


def check_scoring(config: RunConfig, data: Data) -> None:
    """Check before training that the run can be scored afterwards, images and groups.

    Raises:
        InputError: As `medldr.evaluation.check`, and if groups cannot be scored as asked.
    """
    wanted, table = config.evaluation, data.table
    check(wanted, data.spec, data.rows, table.metadata)
    scored = [rows for split, rows in data.rows.items() if split in wanted.splits]
    held = [(table.labels[rows], table.groups[rows]) for rows in scored]
    aggregate.check(wanted, data.spec.task, held)


def predict_and_score(
    config: RunConfig,
    data: Data,
    folder: RunFolder,
    fabric: Fabric,
    selections: Mapping[str, Selection],
    computed: str = "",
) -> None:
    """Predict every split with the weights of each rule and score it: the only look at the test.

    Writes `predictions.csv`, `evaluation.json` and the files a benchmark asks for from the weights
    of the first rule, `mistakes.json` with pictures of its most confident mistakes,
    `preprocessing.json` and `unlike.safetensors` for predictions on new images, and
    `selected/<rule>/` from those of each other rule. Where recalibration is asked for, each rule
    has its own, which `run.json` records, as it does the software; files for a benchmark hold what
    the network gave, as the benchmark judges the network. `latents.safetensors` is written where
    it is asked for.

    Args:
        config: The run.
        data: Its images, split.
        folder: Holds the weights.
        fabric: Gives precision, device and processes.
        selections: What each rule chose; the first one is reported.
        computed: In what other precision than in training, for the notes; empty: in the same.
    """
    reported, *others = selections
    choice = {
        rule: (chosen.epoch, chosen.step, rule == SWAD) for rule, chosen in selections.items()
    }
    weights = {choice[reported]: folder.model}
    for rule in others:
        weights.setdefault(choice[rule], folder.selected(rule))
    models = {
        key: network(config, data.spec, path).to(fabric.device) for key, path in weights.items()
    }
    tables = _predict(config, data, fabric, models)
    if not fabric.is_global_zero:
        return
    oracle = selections[reported].oracle
    files, notes = submission_files(config, data.table, tables[choice[reported]], oracle=oracle)
    for name, text in files.items():
        write_text(folder.submission / name, text)
    trained, record = data.trained_by(config), read_run_record(folder)
    shared = with_training_groups(data, trained)
    # The reported rule comes last: once its evaluation exists, every rule has been evaluated.
    for rule in (*others, reported):
        given = tables[choice[rule]]
        predicted, made = recalibration.recalibrated(given, config.evaluation)
        said = [*record.marks, *data.notes, *record.start, *filter(None, [computed])]
        said += notes if rule == reported else ()
        if made is not None:
            add_to_run_record(folder, recalibration={rule: made.model_dump()})
        how = None if made is None else recalibration.written(made, given, config.evaluation)
        evaluation = evaluate(
            predicted,
            config.evaluation,
            selection=selections[rule].written(),
            seen=trained.spec.train_domains,
            shared=shared,
            notes=said,
            recalibrated=how,
            trained_on=trained.spec.class_counts,
        )
        further = None if rule == reported else rule
        if further is None:
            evaluation |= leaks_of(config, trained, models[choice[rule]], fabric)
            wanted = config.machine.thumbnails and not data.table.latents
            pictures = picture_mistakes(predicted, data.table, data.rows) if wanted else None
            write_mistakes(folder, pictures)
            inputs, centre = describe_inputs(
                config, data, models[choice[rule]], fabric, evaluation, made
            )
            write_preprocessing(folder.preprocessing, inputs)
            if centre is not None:
                save_tensors(folder.unlike, centre.tensors())
        place = folder.predictions if further is None else folder.predictions_of(further)
        write_predictions(place, join(list(predicted.values())))
        write_evaluation(folder, evaluation, further)
    if config.evaluation.latents:
        keep_latents(config, data, folder, models[choice[reported]], fabric)
    add_to_run_record(folder, scored_with=dict(provenance.scoring()))


def keep_latents(
    config: RunConfig, data: Data, folder: RunFolder, model: FeatureModel, fabric: Fabric
) -> None:
    """Write `latents.safetensors`, with degraded and restored latents where the method has any."""
    found = collect_latents(config, data, model, fabric)
    on_host = network(config, data.spec, folder.model)
    operators, _ = find_operators(config, folder, read_run_record(folder), data.spec, on_host)
    write_latents(folder, with_operators(found, operators))


def with_training_groups(data: Data, trained: Data) -> list[str]:
    """Splits that contain training rows, or groups with other rows among these.

    Args:
        data: The data, split.
        trained: The same, with all that the weights were trained on as training rows.
    """
    groups = data.table.groups
    known = {group for group in groups[trained.rows["train"]].tolist() if group}
    return [
        split
        for split, rows in data.rows.items()
        if split != "train"
        and (split not in trained.rows or not known.isdisjoint(groups[rows].tolist()))
    ]


def _predict(
    config: RunConfig, data: Data, fabric: Fabric, models: Mapping[Choice, FeatureModel]
) -> dict[Choice, dict[str, Predictions]]:
    """A table per choice and split."""
    for model in models.values():
        model.to_fast_memory()
    tables: dict[Choice, dict[str, Predictions]] = {choice: {} for choice in models}
    for split in config.evaluation.splits:
        if not len(data.rows.get(split, ())):
            continue
        loader = data.eval_loader(
            split,
            config,
            device=fabric.device,
            rank=fabric.global_rank,
            world=fabric.world_size,
        )
        found = predict_each(
            list(models.values()),
            loader,
            spec=data.spec,
            table=data.table,
            split=split,
            parts=data.parts,
            fabric=fabric,
        )
        for choice, table in zip(models, found, strict=True):
            tables[choice][split] = table
    return tables


def rules_with_weights(folder: RunFolder, record: RunRecord) -> dict[str, Selection]:
    """What each rule of a trained run chose, the reported one first, for `predict_and_score`.

    A further rule whose weights have been removed is left out, and its remaining files are ignored.

    Args:
        folder: The run's files.
        record: Its `run.json`.

    Raises:
        InputError: If no rule has chosen yet.
    """
    reported = record.selection
    if reported is None:
        raise InputError(f"{folder.run} does not record which weights were selected. {CURE}")
    found = record.selections
    there = {rule: chosen for rule, chosen in found.items() if folder.selected(rule).is_file()}
    return {reported.rule: reported, **there}


def network(config: RunConfig, spec: DataSpec, weights: Path) -> FeatureModel:
    """The network of a run with the weights of a file, in eval mode, on the CPU.

    Raises:
        InputError: If the weights cannot be read.
    """
    # The initial weights are overwritten, so their source need not exist any more.
    section = config.model.model_copy(update={"weights": None, "pretrained": None})
    model = build_model(section, spec, seed=config.seed)
    model.load_state_dict(load_tensors(weights))
    return model.eval()
