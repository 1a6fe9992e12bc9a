"""Whether a finished run can be repeated: its answers from its weights, its log from its data.

Both work in a temporary folder, and the run's own stays as it is. On the processor and device of
the run, with its precision, threads and version of torch, every number must be the same. Elsewhere
sums are taken in another order: then losses are compared, within `TOLERANCE`, and that is said.
"""

from __future__ import annotations

import functools
import math
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import torch

from medldr.config import RunConfig
from medldr.data import Data
from medldr.errors import InputError
from medldr.evaluation import verification
from medldr.evaluation.agreement import leaves
from medldr.evaluation.checked import checked_config
from medldr.evaluation.evaluate_rules import predict_and_score, rules_with_weights
from medldr.evaluation.predictions.table import read_predictions
from medldr.evaluation.verification import Verdict, Verified, verify_run
from medldr.folders import provenance
from medldr.folders.files import RunFolder, read_json
from medldr.folders.metrics_log import read_log
from medldr.folders.run_record import RunRecord, read_run_record
from medldr.plugins import takes_plugins
from medldr.run import build, trained, unchanged_data
from medldr.training import make_single_fabric
from medldr.training.fit import fit
from medldr.training.machine.fabric import precision_name
from medldr.training.trainer import Enough

if TYPE_CHECKING:
    from lightning_fabric import Fabric

TOLERANCE: Final = 1e-3
"""Largest relative difference of a loss, or difference of a probability, on another machine."""
SHOWN: Final = 3
_TOLD: Final = ("name", "images", "groups", "subset_hash")
Row = Mapping[str, Any]
Found = tuple[list[str], list[str]]
"""What differs, and what to know about it."""


class _Repetition(NamedTuple):
    """A run, an empty folder for what is made again, and how this machine is not the run's."""

    files: RunFolder
    record: RunRecord
    copy: RunFolder
    config: RunConfig
    data: Data
    fabric: Fabric
    elsewhere: str


@takes_plugins
def verify(
    folder: Path | str,
    *,
    predict: bool = False,
    replay: int = 0,
    device: str | None = None,
    plugins: Sequence[str] = (),
) -> Verified:
    """Check that finished runs are as they were left; nothing is written.

    Args:
        folder: A run folder, a sweep folder, a folder of run folders, or one that `medldr export`
            wrote.
        predict: Answer every scored split again from the weights; the data must be here.
        replay: Train again up to this many evaluations, and compare them with the log; 0: do not.
        device: Device to repeat on; unset: the run's own.
        plugins: Packages of your own whose plug-ins may be imported.

    Raises:
        InputError: If the folder holds none of these.
    """
    steps: list[Callable[[_Repetition], Found]] = [_predicted] if predict else []
    if replay:
        steps.append(functools.partial(_replayed, most=replay))

    def check(files: RunFolder) -> Verdict | None:
        verdict = verify_run(files)
        if verdict is None:
            return None
        for step in steps:
            differs, remarks = _repeated(files, device, step)
            verdict = replace(
                verdict,
                differs=(*verdict.differs, *differs),
                remarks=(*verdict.remarks, *remarks),
            )
        return verdict

    return verification.verify(folder, check)


def _repeated(files: RunFolder, device: str | None, step: Callable[[_Repetition], Found]) -> Found:
    """Repeat a part of a run, with its precision and threads."""
    threads = torch.get_num_threads()
    try:
        record = read_run_record(files)
        if record.redacted:
            return [], ["it was redacted, so nothing could be repeated"]
        config = checked_config(files, record)
        machine = config.machine.model_copy(update={"threads": record.threads})
        config = config.model_copy(update={"machine": machine})
        fabric = make_single_fabric(config, precision=record.precision, device=device)
        other = _elsewhere(record, fabric)
        data = unchanged_data(config, files, record)
        with tempfile.TemporaryDirectory() as place:
            copy = RunFolder(Path(place) / files.path.resolve().name)
            copy.path.mkdir()
            return step(_Repetition(files, record, copy, config, data, fabric, other))
    except InputError as error:
        return [f"it cannot be repeated: {error}"], []
    finally:
        torch.set_num_threads(threads)


def _elsewhere(record: RunRecord, fabric: Fabric) -> str:
    """How this machine is not that of the run, in words; empty where numbers must be the same."""
    made, here = record.provenance, provenance.hardware()
    then = made.get("hardware") or {}
    pairs = {
        "device": (record.device, fabric.device.type),
        "processor": (then.get("cpu"), here["cpu"]),
        "GPU": (then.get("gpus"), here["gpus"]) if fabric.device.type == "cuda" else ("", ""),
        "precision": (record.precision, precision_name(fabric)),
        "threads": (record.threads, torch.get_num_threads()),
        "processes": (record.content.get("processes", 1), 1),
        "torch": ((made.get("packages") or {}).get("torch"), provenance.versions()["torch"]),
    }
    return ", ".join(
        f"{name} {now}, was {before}" for name, (before, now) in pairs.items() if before != now
    )


def _predicted(run: _Repetition) -> Found:
    """The predictions of each rule's weights, made again."""
    files, record, copy, config, data, fabric, elsewhere = run
    if not files.model.is_file():
        return [], ["its weights are not in the folder, so it could not answer again"]
    trained(files.path)
    chosen = rules_with_weights(files, record)
    for path in (files.run, files.model, *map(files.selected, chosen)):
        if path.is_file():
            to = copy.path / path.relative_to(files.path)
            to.parent.mkdir(exist_ok=True)
            shutil.copyfile(path, to)
    scoring = config.evaluation.model_copy(update={"latents": False})
    machine = config.machine.model_copy(update={"thumbnails": False})
    plain = config.model_copy(update={"evaluation": scoring, "machine": machine})
    predict_and_score(plain, data, copy, fabric, chosen)
    made = data.record()
    facts = {f"data.{key}": (made[key], getattr(record.data, key)) for key in _TOLD}
    facts |= {"spec": (data.trained_by(config).spec, record.spec)}
    differs = [f"run.json: {k} is not that of the data" for k, (n, t) in facts.items() if n != t]
    most = 0.0
    for rule in (None, *list(chosen)[1:]):
        if not files.predictions_of(rule).is_file():
            continue
        name = files.predictions_of(rule).relative_to(files.path).as_posix()
        stored, again = (
            read_predictions(folder.predictions_of(rule), data.spec.task)
            for folder in (files, copy)
        )
        columns = ("id", "split", "label", "group", "domain")
        other = [c for c in columns if not _same(getattr(stored, c), getattr(again, c))]
        if other:
            differs.append(f"{name}: {', '.join(other)} are not those of the data")
            continue
        apart = float(np.abs(stored.prob - again.prob).max(initial=0.0))
        most = max(most, apart)
        if apart > (TOLERANCE if elsewhere else 0.0):
            differs.append(f"{name}: the weights answer otherwise, by up to {apart:.3g}")
    near = TOLERANCE if elsewhere else 0.0
    both = (read_json(folder.preprocessing) for folder in (files, copy))
    for each in leaves(*both):
        one, other = each.recorded, each.computed
        numbers = isinstance(one, float) and isinstance(other, float)
        if each.key != "medldr" and not (
            math.isclose(one, other, rel_tol=near, abs_tol=near) if numbers else one == other
        ):
            differs.append(f"preprocessing.json: {each.key} is {one}, and {other} of this data")
    said = (
        f"; repeated elsewhere ({elsewhere}), where {TOLERANCE:g} is allowed" if elsewhere else ""
    )
    return differs, [f"answered again from the weights: largest difference {most:.3g}{said}"]


def _same(one: Any, other: Any) -> bool:
    return bool(np.array_equal(one, other, equal_nan=one.dtype.kind == "f"))


def _replayed(run: _Repetition, most: int) -> Found:
    """The first evaluations of training, made again."""
    files, record, copy, config, data, fabric, elsewhere = run
    if (number := record.content.get("processes", 1)) != 1:
        return [], [f"it was trained by {number} processes, so it was not trained again"]
    model, algorithm = build(config, data)
    ended = True
    try:
        fitted = fit(
            config, data, model, algorithm, copy, fabric, show_progress=False, evaluations=most
        )
        made: Sequence[Row] = fitted.history
    except Enough as enough:
        made, ended = enough.rows, False
    logged = read_log(files.metrics)[0]
    differs = list(_unlike(logged[: len(made)], made, elsewhere=bool(elsewhere)))
    if len(logged) < len(made) or (ended and len(logged) > len(made)):
        differs.append(f"metrics.jsonl holds {len(logged)} evaluations; training made {len(made)}")
    said = f"; repeated elsewhere ({elsewhere}), so losses within {TOLERANCE:g} of each other agree"
    text = f"trained again up to evaluation {len(made)}{said if elsewhere else ''}"
    more = [f"and {len(differs) - SHOWN} more numbers"] if len(differs) > SHOWN else []
    return [*differs[:SHOWN], *more], [text]


def _unlike(logged: Sequence[Row], made: Sequence[Row], *, elsewhere: bool) -> Iterator[str]:
    """Numbers of the log that training again does not give; times may differ."""
    for number, (row, again) in enumerate(zip(logged, made, strict=False), start=1):
        for key in dict.fromkeys((*row, *again)):
            before, now = row.get(key), again.get(key)
            loss = "loss" in key
            if key == "time_s" or (elsewhere and "/" in key and not loss):
                continue
            near = 0.0 if not elsewhere else TOLERANCE if loss else 1e-9
            if before == now or (
                isinstance(before, int | float)
                and isinstance(now, int | float)
                and math.isclose(before, now, rel_tol=near)
            ):
                continue
            yield (
                f"metrics.jsonl, evaluation {number}: {key} is {before}, and {now} when trained "
                "again"
            )
