"""`run.json`: what a run is, how it ended, and how it was produced."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, PrivateAttr

from medldr.folders.checksums import CHECKSUMS, checksum_of_content
from medldr.folders.evaluation_parts import Recalibration
from medldr.folders.files import RunFolder, refuse_links, write_json
from medldr.folders.records import Name, Record, check_record, read_content
from medldr.types import DataSpec

Status = Literal["running", "interrupted", "done", "failed"]

CURE = "Put the file back, or start the run over with `medldr train ... --restart`"


def _check_time(text: str) -> str:
    try:
        datetime.datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"should be a time, but is {text!r}") from error
    return text


Time = Annotated[str, AfterValidator(_check_time)]
"""A time in ISO format, kept as written."""


@dataclass(frozen=True)
class RunIdentity:
    """Which run a folder belongs to, before anything has run.

    `medldr.config.identify` makes it from a configuration.

    Attributes:
        label: The configuration's label.
        seed: Its seed.
        hash: Eight hexadecimal digits, equal for runs that differ at most in their seed.
        protocol: The protocol it follows; empty if it follows none.
        config: The whole resolved configuration as YAML.
        settings: A digest of each value that the hash is made of, by dotted key.
    """

    label: str
    seed: int
    hash: str
    protocol: str | None
    config: str
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the run's folder.

        Example:
            >>> RunIdentity("octmnist_erm", 0, "0a1b2c3d", "", "").name
            'octmnist_erm-0a1b2c3d-s0'
        """
        return f"{self.label}-{self.hash}-s{self.seed}"

    def folder(self, out: Path | str) -> RunFolder:
        """Where this run is kept below `out`."""
        return RunFolder(Path(out) / self.name)


class Selection(Record):
    """The weights that a selection rule chose.

    Attributes:
        rule: Its name.
        split: The split that it read; None for a rule that reads none.
        epoch: The epoch of the weights.
        step: The step of the weights.
        value: The metric there; None if the rule compares nothing.
        oracle: Whether it read the test split.
    """

    rule: Name
    split: str | None = None
    epoch: int | float | None = None
    step: int | None = None
    value: float | None = None
    oracle: bool = False


class Times(Record):
    """When a run started and ended.

    Attributes:
        started: The first start.
        starts: How often it was started.
        latest_start: The last start.
        seconds: Seconds spent, over all starts.
        finished: When it ended; None while it runs.
    """

    started: Time | None = None
    starts: int = 0
    latest_start: Time | None = None
    seconds: float = 0.0
    finished: Time | None = None


class DataRecord(Record):
    """The data a run was trained and evaluated on.

    Attributes:
        name: The dataset's name, with its image size if it has one.
        notes: What readers of its numbers should know.
        files: Checksum of each file read, by name.
        pack: The pack that the images were read from.
        images: Images of each split.
        groups: Groups (patients, slides) of each split, 0 where it has none.
        subset_hash: A hash of the ids of the training rows.
        card: The filled entries of the data card; None without one.
        reading: How each file became an image; None where that does not depend on all of them.
        reader: Number of the reader of scans; see `medldr.data.files.read.READER`.
        parts: sha256 of each column, by part (``training``, ``judged``) and column.
        described: sha256 of the columns of `data.metadata` that divide results; None without.
    """

    name: str | None = None
    notes: tuple[str, ...] = ()
    files: dict[str, str] = Field(default_factory=dict)
    pack: str | None = None
    images: dict[str, int] = Field(default_factory=dict)
    groups: dict[str, int] = Field(default_factory=dict)
    subset_hash: str | None = None
    card: dict[str, Any] | None = None
    reading: dict[str, Any] | None = None
    reader: int | None = None
    parts: dict[str, dict[str, str]] = Field(default_factory=dict)
    described: str | None = None


class RunRecord(Record):
    """`run.json`. A run writes it bit by bit, so everything but its status may be missing.

    Attributes:
        status: The recorded status; see `medldr.folders.lifecycle.status`.
        error: What stopped it.
        label: The configuration's label.
        seed: The run's seed.
        primary: The primary metric when training began; None where none was stated.
        protocol: The protocol as configured, with ``+modified`` if a pinned key was changed.
        hash: Identity of the configuration without the seed.
        settings: A digest of each value that the hash is made of, by dotted key.
        validation_of: The run that another site scored; None for a run itself.
        redacted: What a folder that may leave a site does not tell, in words.
        times: Starts and end.
        provenance: Command, versions, code state, hardware.
        data: The data.
        data_hash: A single hash of all data.
        split_hash: A single hash of the splits.
        train_data_hash: A single hash of what decided the weights: images, labels, ids, groups and
            domains of the training and selecting splits.
        test_data_hash: The same of the splits that judge; None where there is none.
        spec: What the network knows about the data.
        precision: The precision used.
        device: The kind of device used: ``cpu``, ``cuda``.
        threads: Processor threads used.
        lr: Learning rate used: the recipe's, times the algorithm's factor.
        batch_size: Images per step, over all processes.
        sampler: How batches were drawn.
        augmentation: The augmentation, as published numbers name it.
        steps: Steps trained.
        epochs: Epochs trained.
        stopped_early: Whether early stopping ended the training.
        selections: What each rule chose, the reported one first.
        selection: What the reported rule chose.
        recalibration: By rule; empty where none was asked for.
        notes: What readers of the run's numbers should know.
        start: What they should know of the weights that it started from.
        marks: What stands beside every number, because it makes them all too good.
        checksums: SHA-256 of each file with results, and of this file's own content; None until
            the run has finished. Scores have none while they are made again.
        copy_of: Of a copy by `medldr share`: the hash of the run, from which its own may differ.
        scored_with: Versions of what computed the scores, and the commit of the code.
    """

    status: Status
    error: str | None = None
    label: str | None = None
    seed: int | None = None
    protocol: str | None = None
    primary: str | None = None
    hash: str | None = None
    settings: dict[str, str] = Field(default_factory=dict)
    validation_of: dict[str, Any] | None = None
    redacted: tuple[str, ...] = ()
    times: Times = Times()
    provenance: dict[str, Any] = Field(default_factory=dict)
    data: DataRecord = DataRecord()
    data_hash: str | None = None
    split_hash: str | None = None
    train_data_hash: str | None = None
    test_data_hash: str | None = None
    spec: DataSpec | None = None
    precision: str | None = None
    device: str | None = None
    threads: int | None = None
    lr: float | None = None
    batch_size: int | None = None
    sampler: str | None = None
    augmentation: str | None = None
    steps: int | None = None
    epochs: int | float | None = None
    stopped_early: bool = False
    selections: dict[Name, Selection] = Field(default_factory=dict)
    selection: Selection | None = None
    recalibration: dict[Name, Recalibration] = Field(default_factory=dict)
    notes: tuple[str, ...] = ()
    start: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    checksums: dict[str, str] | None = None
    copy_of: str | None = None
    scored_with: dict[str, str | None] = Field(default_factory=dict)
    _content: Mapping[str, Any] = PrivateAttr(default={})

    @property
    def content(self) -> Mapping[str, Any]:
        """The complete file as it was read, in its own order."""
        return self._content


def what_ran(record: RunRecord) -> dict[str, str | None]:
    """The code and the device that made a run; None for what `run.json` does not record.

    Returns:
        ``medldr_version``; ``git``, the commit and whether the code differed from it, or "none"
        outside a checkout; ``torch``; ``device``, by its model where it is a GPU.

    Example:
        >>> made = {"packages": {"torch": "2.8"}, "git": {"commit": "0a1b2c3d4e", "changed": True}}
        >>> what_ran(RunRecord(status="done", provenance=made, device="cpu"))["git"]
        '0a1b2c3d with uncommitted changes'
    """
    made = record.provenance
    packages, hardware = made.get("packages") or {}, made.get("hardware") or {}
    state = made.get("git") or {}
    git = str(state.get("commit") or "none")[:8] if "git" in made else None
    gpu = next(iter(hardware.get("gpus") or ()), "CUDA")
    kind = record.device
    return {
        "medldr_version": packages.get("medldr"),
        "git": f"{git} with uncommitted changes" if git and state.get("changed") else git,
        "torch": packages.get("torch"),
        "device": str(gpu) if kind == "cuda" else kind and kind.upper(),
    }


def read_run_record(files: RunFolder) -> RunRecord:
    """Read `run.json`.

    Raises:
        InputError: If it is missing or damaged, has no status, or a link leads out of the folder.
    """
    refuse_links(files.path)
    content = read_content(files.run, CURE)
    record = check_record(content, files.run, RunRecord, CURE)
    record._content = content
    return record


def starts(files: RunFolder) -> int:
    """How often a run was started; 0 if there is no `run.json`.

    Raises:
        InputError: If it is damaged.
    """
    return read_run_record(files).times.starts if files.run.exists() else 0


def add_to_run_record(files: RunFolder, **facts: Any) -> None:
    """Merge facts into `run.json`, one level deep; the file is created if there is none.

    Checksums are replaced, since those of files that were removed must not stay. Where it holds
    any, that of its own content follows.

    Raises:
        InputError: If the existing or the resulting content is not a valid `RunRecord`.
    """
    content = read_content(files.run, CURE) if files.run.exists() else {}
    for key, value in facts.items():
        before = content.get(key)
        if isinstance(before, dict) and isinstance(value, dict) and key != CHECKSUMS:
            value = {**before, **value}
        content[key] = value
    if content.get(CHECKSUMS):
        content[CHECKSUMS] = {**content[CHECKSUMS], "run.json": checksum_of_content(content)}
    check_record(content, files.run, RunRecord, CURE)
    write_json(files.run, content)
