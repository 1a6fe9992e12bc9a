"""`latents.safetensors`: the latents of a run's images, with what is needed to analyse them.

The file holds no name of a file, an image or a patient: groups are numbered in their order of
appearance, and images are rows of the dataset's table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medldr.errors import InputError
from medldr.folders.files import RunFolder, load_tensors, save_tensors
from medldr.types import SPLITS, DataSpec

ORIGINAL, DEGRADED, RESTORED = "original", "degraded", "restored"
VIEWS: Final = (ORIGINAL, DEGRADED, RESTORED)
"""The names of z, z_d and z_r, in the order of the method."""
TESTED: Final = ("test", "id_test", "val", "id_val")
"""Splits that stand for the test: the first that has any image."""

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class View:
    """Latents of all images, and what the classifier makes of them.

    Attributes:
        z: ``(N, D)`` latents.
        logits: ``(N, K)`` logits of the run's classifier.
    """

    z: Floats
    logits: Floats


@dataclass(frozen=True)
class Latents:
    """Latents of a run's images, row by row.

    Attributes:
        spec: The data.
        row: ``(N,)`` int64, row of the dataset's table.
        split: ``(N,)`` text, one of `SPLITS`.
        domain: ``(N,)`` text, empty where the dataset has none.
        group: ``(N,)`` int64, number of the group (patient, slide); -1 where there is none.
        label: ``(N,)`` int64, or ``(N, L)`` float64 with NaN where a label is missing.
        views: By name: ``original`` always; ``degraded`` and ``restored`` where the run's method
            makes them. Degraded and restored latents of training images come of batches of
            training images as in training; those of others are made with a set of training images.
        left_out: Images of each split that were left out, because there were too many.
    """

    spec: DataSpec
    row: NDArray[np.int64]
    split: NDArray[np.str_]
    domain: NDArray[np.str_]
    group: NDArray[np.int64]
    label: NDArray[np.int64] | NDArray[np.float64]
    views: Mapping[str, View]
    left_out: Mapping[str, int]

    def __len__(self) -> int:
        return len(self.row)

    @property
    def z(self) -> Floats:
        """``(N, D)``: the latents of the unmodified images."""
        return self.views[ORIGINAL].z

    @property
    def unseen(self) -> NDArray[np.bool_]:
        """``(N,)``: whether an image is of a domain that training has not seen.

        That says nothing of how the model was chosen: images of `val` may have done that. What is
        said of images of unseen domains is said of `unseen_test`.
        """
        named = self.domain != ""
        out: NDArray[np.bool_] = named & ~np.isin(self.domain, list(self.spec.train_domains))
        return out

    @property
    def unseen_test(self) -> NDArray[np.bool_]:
        """``(N,)``: whether an image is a test image of a domain that training has not seen."""
        out: NDArray[np.bool_] = self.unseen & (self.split == "test")
        return out

    @property
    def tested_split(self) -> str:
        """The split that stands for the test: the first of `TESTED` with an image; else empty."""
        present = set(self.split.tolist())
        return next((name for name in TESTED if name in present), "")

    @property
    def tested(self) -> NDArray[np.bool_]:
        """``(N,)``: whether an image is of `tested_split`."""
        out: NDArray[np.bool_] = self.split == self.tested_split
        return out

    @property
    def units(self) -> NDArray[np.int64]:
        """``(N,)``: what is kept together: the group, or the image itself where it has none."""
        first = int(self.group.max(initial=-1)) + 1
        return np.where(self.group >= 0, self.group, first + np.arange(len(self)))

    def select(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> Latents:
        """The same with only these rows: a mask or positions."""
        arrays = {name: getattr(self, name)[rows] for name in _COLUMNS}
        views = {k: View(v.z[rows], v.logits[rows]) for k, v in self.views.items()}
        return replace(self, **arrays, views=views)

    def some(self, number: int, seed: int = 0) -> NDArray[np.int64]:
        """Positions of at most so many rows, drawn at random, in ascending order."""
        if len(self) <= number:
            return np.arange(len(self))
        drawn = np.random.default_rng(seed).choice(len(self), number, replace=False)
        return np.sort(drawn)

    def at_most(self, number: int, seed: int = 0) -> Latents:
        """The same with at most so many rows, those of `some`."""
        return self if len(self) <= number else self.select(self.some(number, seed))


_COLUMNS = ("row", "split", "domain", "group", "label")


def write_latents(files: RunFolder, latents: Latents) -> None:
    """Write `latents.safetensors`, whole or not at all."""
    import torch

    domains = list(latents.spec.domains)
    columns: dict[str, Any] = {
        "row": latents.row,
        "split": np.array([SPLITS.index(name) for name in latents.split.tolist()], np.int64),
        "domain": np.array(
            [domains.index(name) if name else -1 for name in latents.domain.tolist()], np.int64
        ),
        "group": latents.group,
        "label": latents.label,
        "left_out": np.array([latents.left_out.get(name, 0) for name in SPLITS], np.int64),
    }
    for name, view in latents.views.items():
        columns |= {f"{name}.z": view.z, f"{name}.logits": view.logits}
    save_tensors(
        files.latents,
        {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in columns.items()},
    )


def read_latents(files: RunFolder, spec: DataSpec) -> Latents:
    """Read `latents.safetensors`.

    Args:
        files: The run folder.
        spec: The data, as `run.json` has it.

    Raises:
        InputError: If the file is missing, damaged, or of another run.
    """
    stored = {name: tensor.numpy() for name, tensor in load_tensors(files.latents).items()}
    try:
        domains = np.array([*spec.domains, ""], dtype=np.str_)
        latents = Latents(
            spec=spec,
            row=stored["row"],
            split=np.array(SPLITS, dtype=np.str_)[stored["split"]],
            domain=domains[stored["domain"]],
            group=stored["group"],
            label=stored["label"],
            views={
                name: View(stored[f"{name}.z"], stored[f"{name}.logits"])
                for name in VIEWS
                if f"{name}.z" in stored
            },
            left_out=dict(zip(SPLITS, stored["left_out"].tolist(), strict=True)),
        )
        _check(latents)
    except (KeyError, IndexError, ValueError) as error:
        raise InputError(
            f"{files.latents} does not hold the latents of this run ({error}). Write it again with "
            f"`medldr evaluate {files.path}`"
        ) from error
    return latents


def _check(latents: Latents) -> None:
    """Refuse arrays that do not fit each other or the data.

    Raises:
        ValueError: Naming what does not fit.
    """
    lengths = {name: len(getattr(latents, name)) for name in _COLUMNS}
    for name, view in latents.views.items():
        lengths |= {f"{name}.z": len(view.z), f"{name}.logits": len(view.logits)}
        if view.logits.shape[1:] != (latents.spec.num_classes,):
            raise ValueError(f"{name}.logits has shape {view.logits.shape}")
    if ORIGINAL not in latents.views:
        raise ValueError("it has no latents")
    if len(set(lengths.values())) != 1:
        raise ValueError(f"its parts differ in length: {lengths}")
