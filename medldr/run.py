"""The main sequence: config -> data -> model -> algorithm -> training -> evaluation -> report.

`run` is the program. It works inside the run's folder (`medldr.folders.lifecycle`) and its
processes (`medldr.training.machine.fabric`).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from medldr.algorithms import build_algorithm
from medldr.algorithms.base import Algorithm
from medldr.config import RunConfig, identify
from medldr.console import Console, say
from medldr.data import Data, build_data, list_bad_files
from medldr.data.same_data import CURE as RETRAIN
from medldr.data.same_data import JUDGED, TRAINING, compare_parts, refuse_changed_data
from medldr.data.seen import write_seen
from medldr.errors import InputError
from medldr.evaluation.checked import (
    checked_config,
    forget_scored,
    keep_evaluation,
    note_scored,
    refuse_other_weights,
)
from medldr.evaluation.evaluate_rules import (
    check_scoring,
    network,
    predict_and_score,
    rules_with_weights,
)
from medldr.evaluation.predictions.stored import other_answers, stored_answers
from medldr.evaluation.predictions.table import read_predictions
from medldr.folders.files import RunFolder, read_json, write_json, write_text
from medldr.folders.lifecycle import is_done, open_run, status
from medldr.folders.one_run import one_run
from medldr.folders.run_record import (
    CURE,
    RunIdentity,
    RunRecord,
    add_to_run_record,
    read_run_record,
)
from medldr.models import build_model, pixel_notes
from medldr.models.base import FeatureModel
from medldr.plugins import takes_plugins
from medldr.run_result import RunResult
from medldr.training import FitResult, fit, make_fabric, make_single_fabric
from medldr.training.later_stages import retrain_all
from medldr.training.machine.fabric import Launcher, computed_in, use_threads
from medldr.training.machine.processes import Processes
from medldr.training.seen_by_start import seen_by_start
from medldr.types import DataSpec

if TYPE_CHECKING:
    from lightning_fabric import Fabric


def run(config: RunConfig, folder: RunFolder, fabric: Fabric) -> None:
    """One run, from its configuration to its numbers.

    The page is written once the folder is closed, because it reports how the run ended.
    """
    data = build_data(config)
    check_scoring(config, data)
    start = seen_by_start(config, data, folder)
    marks = [*start.get("marks", ()), *retrain_all.marks(config, data)]
    if marks and not folder.has_state:  # a run that goes on has them
        start["marks"] = marks
    model, algorithm = build(config, data)
    hold_to_start(config, folder, data, fabric)
    note_data(config, folder, data, fabric, start)
    fitted = fit(config, data, model, algorithm, folder, fabric)
    note_fit(config, folder, fitted, fabric)
    predict_and_score(config, data, folder, fabric, fitted.selections)


def build(config: RunConfig, data: Data) -> tuple[FeatureModel, Algorithm]:
    """The network and the method of a run before its first step; its seed decides both."""
    root = getattr(config.data, "root", None)
    model = build_model(config.model, data.spec, seed=config.seed, root=root)
    model.notes += pixel_notes(config.model, config.transform, root)
    return model, build_algorithm(config.algorithm, data.spec, model, seed=config.seed)


def train_run(
    config: RunConfig,
    out: Path | str = "runs",
    *,
    restart: bool = False,
    launcher: Launcher = "spawn",
) -> RunResult:
    """Run a configuration to its end, resuming where possible; a finished run is only read.

    Args:
        config: The run.
        out: Folder of run folders.
        restart: Move an earlier run of the same configuration aside and start over.
        launcher: How further processes are started: ``spawn`` from a Python program, ``script``
            by running the command line again.

    Raises:
        InputError: If the configuration, the data or the folder is at fault.
        Interrupted: If a signal stopped the run; the same call resumes it.
    """
    identity = identify(config)
    folder = identity.folder(out)
    if not restart and is_done(folder):
        refuse_changed_data(config, folder)
        if config.machine.report and not folder.report.exists():
            write_report_or_warn(folder)
        return RunResult.read(folder, fresh=False)
    fabric = make_fabric(config.machine, config.training, launcher=launcher)
    work = functools.partial(_work, config=config, identity=identity, out=out, restart=restart)
    if launcher == "spawn" and fabric.world_size > 1:
        fresh = fabric.launch(work)
    else:
        fabric.launch()
        fresh = work(fabric)
    return RunResult.read(folder, fresh=bool(fresh))


def _work(
    fabric: Fabric, config: RunConfig, identity: RunIdentity, out: Path | str, restart: bool
) -> bool:
    """What each process does; only the first one owns and writes the folder.

    Returns:
        Whether anything had to be done: another process may have finished the run meanwhile.
    """
    folder = identity.folder(out)
    if not fabric.is_global_zero:
        word = Processes(fabric).from_first(None)
        if word is None:
            raise SystemExit(2)  # the first process says why
        if word == "run":
            run(config, folder, fabric)
            fabric.barrier()  # until the first process has written the results
        return bool(word == "run")
    word = None
    try:
        with open_run(identity, out, restart=restart) as opened:
            word = Processes(fabric).from_first("finished" if opened.finished else "run")
            if opened.finished:
                return False
            if not opened.resumed:  # a resumed run keeps the number of threads it started with
                opened.record(threads=use_threads(config.machine))
                if config.evaluation.primary is not None:
                    opened.record(primary=config.evaluation.primary)
            run(config, folder, fabric)
    finally:
        if word is None:
            Processes(fabric).from_first(None)
    if config.machine.report:
        write_report_or_warn(folder)
    fabric.barrier()
    return True


def hold_to_start(config: RunConfig, folder: RunFolder, data: Data, fabric: Fabric) -> None:
    """Let an unfinished run go on only with the data that its weights have been made of so far.

    Raises:
        InputError: If what trains or selects has changed since; naming it. What only judges may
            change, unless the run reads it meanwhile.
    """
    if folder.has_state:
        record = read_run_record(folder)
        if record.data_hash is None and folder.splits.exists():  # run.json was gone
            kept = read_json(folder.splits)
            hashes = {name: kept.get(name) for name in ("data_hash", "split_hash")}
            record = record.model_copy(update=hashes)
        changed = compare_parts(data, record).changed
        reads_all = config.evaluation.domain_curves or any(
            rule.startswith("oracle") for rule in config.training.select
        )
        if TRAINING in changed or (changed and reads_all):
            differences = "; ".join(changed.values())
            raise InputError(
                f"cannot resume {folder.path}: its data has changed since it began: {differences}. "
                f"{RETRAIN}"
            )
        if changed and fabric.is_global_zero:
            say(f"training goes on, though this has changed since it began: {changed[JUDGED]}")
    fabric.barrier()  # no process may record its data before all have read the old record


def note_data(
    config: RunConfig,
    folder: RunFolder,
    data: Data,
    fabric: Fabric,
    start: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Print the notes on the data and the start; write what they were to the run folder.

    That is `run.json`, `splits.json`, `seen_images.safetensors` and a list of unusable files.
    """
    if not fabric.is_global_zero:
        return
    console = Console(stderr=True, highlight=False)
    for text in (*data.notes, *start.get("start", ()), *start.get("marks", ())):
        console.print(text, soft_wrap=not console.is_terminal, markup=False)
    if data.pack is not None:
        say(f"reading images from the pack {data.pack}", console)
    trained = data.trained_by(config)
    add_to_run_record(
        folder,
        data=data.record(),
        **data.hashes(),
        spec=asdict(trained.spec),
        **start,
    )
    write_json(folder.splits, data.manifest())
    write_seen(folder, data.table, trained.rows)
    if data.table.bad_files:
        write_text(folder.bad_files, list_bad_files(data.table))


def note_fit(config: RunConfig, folder: RunFolder, fitted: FitResult, fabric: Fabric) -> None:
    """Record in `run.json` how the run was trained and what each rule chose."""
    if not fabric.is_global_zero:
        return
    from medldr.config.method import augmentation_id

    add_to_run_record(
        folder,
        **fitted.facts,
        augmentation=augmentation_id(config.model_dump(mode="json")),
        steps=fitted.steps,
        epochs=fitted.epochs,
        stopped_early=fitted.stopped_early,
        selections={rule: selection.written() for rule, selection in fitted.selections.items()},
        selection=fitted.reported.written(),
        notes=list(fitted.notes),
    )


def write_report_or_warn(folder: RunFolder) -> None:
    """Write the run's page; a failure is reported as a warning."""
    from medldr.reporting import write_report_or_warn as write  # matplotlib: only at the end

    write(folder)


def evaluate_run(
    folder: Path | str,
    *,
    device: str | None = None,
    precision: str | None = None,
    new_test: bool = False,
) -> RunResult:
    """Predict and score a trained run again, and rewrite its page.

    Where the answers are not those that were stored, it says so.

    Args:
        folder: The run folder.
        device: Device to use; unset: the run's own `machine.device`.
        precision: The one to predict in; unset: that of training. Another one is noted in
            `evaluation.json`, and so on the page.
        new_test: Score it on the test data as it is now, where that alone has changed; the
            evaluation of before is kept as ``evaluation.1.json`` and so on.

    Raises:
        InputError: If the folder holds no trained run, its data has changed, or the precision is
            not available.
    """
    files = trained(folder)
    before = read_run_record(files)
    config = checked_config(files, before)
    fabric = make_single_fabric(config, precision=precision or before.precision, device=device)
    data = unchanged_data(config, files, before, new_test=new_test)
    check_scoring(config, data)
    stored = stored_answers(files)
    if changed := compare_parts(data, before).changed:
        keep_evaluation(files, changed[JUDGED])
    forget_scored(files)
    # Metadata and card may be new.
    note_data(config, files, data, fabric)
    how = computed_in(fabric, before.precision)
    predict_and_score(config, data, files, fabric, rules_with_weights(files, before), how)
    note_scored(files)
    if other := other_answers(stored, read_predictions(files.predictions)):
        say(other)
    write_report_or_warn(files)
    return RunResult.read(files)


def unchanged_data(
    config: RunConfig, files: RunFolder, record: RunRecord, *, new_test: bool = False
) -> Data:
    """The data of a trained run, as it was in training.

    Args:
        config: Its configuration.
        files: Its folder.
        record: Its `run.json`.
        new_test: Whether what only judges may be other data than it was.

    Raises:
        InputError: If it cannot be read, or has changed since.
    """
    data = build_data(config)
    compared = compare_parts(data, record)
    if compared.changed.keys() - ({JUDGED} if new_test else ()):
        differences = compared.told(files.path)
        raise InputError(f"the data of {files.path} has changed since training: {differences}")
    return data


def trained(folder: Path | str) -> RunFolder:
    """The files of a run that has selected weights.

    Raises:
        InputError: If it is not a run folder, training has not finished, or its weights or record
            were changed.
    """
    files = one_run(folder)
    if read_run_record(files).validation_of:
        raise InputError(
            f"{folder} is the validation of a run at another site: it holds numbers and no "
            "network. Give the folder of the run itself"
        )
    if not files.model.exists() or read_run_record(files).selection is None:
        raise InputError(
            f"{folder} has no selected weights yet: its status is {status(files)}. Run "
            f"`medldr train {files.config}` to finish it"
        )
    refuse_other_weights(files, read_run_record(files))
    return files


@takes_plugins
def load_model(folder: Path | str, *, plugins: Sequence[str] = ()) -> FeatureModel:
    """The selected network of a trained run, in eval mode, on the CPU; no data is read.

    Raises:
        InputError: If the folder holds no trained run.
    """
    return trained_network(folder)[2]


def trained_network(folder: Path | str) -> tuple[RunConfig, RunRecord, FeatureModel]:
    """The same, with its configuration and `run.json`.

    Raises:
        InputError: If the folder holds no trained run.
    """
    files = trained(folder)
    record = read_run_record(files)
    config = checked_config(files, record)
    return config, record, network(config, recorded_spec(files, record), files.model)


def recorded_spec(files: RunFolder, record: RunRecord) -> DataSpec:
    """The description of the data that a run's network was built for.

    Raises:
        InputError: If `run.json` does not say so.
    """
    if record.spec is None:
        raise InputError(f"{files.run} does not say what data the run was trained on. {CURE}")
    return record.spec
