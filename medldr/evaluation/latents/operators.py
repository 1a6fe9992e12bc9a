"""The degradation and the restoration of a trained run, as its training used them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from medldr.algorithms import build_algorithm
from medldr.config import RunConfig
from medldr.errors import InputError
from medldr.folders.files import RunFolder, load_checkpoint
from medldr.folders.latents_record import DEGRADED, ORIGINAL, RESTORED, Latents, View
from medldr.folders.run_record import RunRecord
from medldr.latent import LatentDR
from medldr.models.base import FeatureModel
from medldr.types import DataSpec

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Operators:
    """D and R of a run with everything they need, on the CPU, in training mode.

    Attributes:
        augment: D and R, with dropout and random subsets as in training.
        classify: The classifier that judges their latents.
        set_size: Latents that are mixed at once, as in training.
        by_domain: Whether a set holds equally many latents of each source domain, as in training.
    """

    augment: LatentDR
    classify: Callable[[Tensor], Tensor]
    set_size: int
    by_domain: bool

    def views(self, latents: Latents, seed: int = 0) -> dict[str, View]:
        """Degraded and restored latents of every row, by name.

        Training rows are degraded and restored in random batches of training rows, as in training;
        the rows of other splits in batches of the same size, whose set is one of training rows, so
        that no image of the test learns anything from another one. Of methods without one of the
        two, that one is missing.

        Args:
            latents: At least one row is of ``train``.
            seed: Of batches, dropout and random subsets.

        Raises:
            InputError: If there are no training rows.
        """
        rng = np.random.default_rng(seed)
        train = self._training_rows(latents)
        other = np.flatnonzero(latents.split != "train")
        found: dict[str, Tensor] = {}
        z = torch.from_numpy(np.ascontiguousarray(latents.z))
        with _seeded(seed):
            new = np.ones(len(z), dtype=bool)  # a row that fills up a later batch stays as it was
            for rows in self._batches(latents, train, rng):
                for name, value in self._apply(z[rows], None).items():
                    kept = found.setdefault(name, torch.zeros_like(z))
                    kept[rows[new[rows]]] = value[torch.from_numpy(new[rows])]
                new[rows] = False
            for start in range(0, len(other), self.set_size):
                rows = other[start : start + self.set_size]
                z_set = z[self.draw_set(latents, train, rng)]
                for name, value in self._apply(z[rows], z_set).items():
                    found[name][rows] = value
            return {name: View(value.numpy(), self.logits(value)) for name, value in found.items()}

    def first_batch(self, latents: Latents, seed: int = 0) -> Rows:
        """Positions of training rows that `views` degrades and restores in one forward pass."""
        rng = np.random.default_rng(seed)
        return next(self._batches(latents, self._training_rows(latents), rng))

    def insert(
        self, latents: Latents, query: int, times: int = 32, seed: int = 0
    ) -> dict[str, NDArray[np.float32]]:
        """One latent, degraded and restored in several random batches of training rows.

        Args:
            latents: The latents that batches are drawn from.
            query: Position of the latent among them.
            times: Batches.
            seed: Of batches, dropout and random subsets.

        Returns:
            ``(times, D)`` latents by name.
        """
        rng = np.random.default_rng(seed)
        train = self._training_rows(latents)
        train = train[train != query]
        z = torch.from_numpy(np.ascontiguousarray(latents.z))
        found: dict[str, list[Tensor]] = {}
        with _seeded(seed):
            for _ in range(times):
                others = self.draw_set(latents, train, rng)[: max(self.set_size - 1, 0)]
                batch = z[np.concatenate([[query], others]).astype(np.int64)]
                for name, value in self._apply(batch, None).items():
                    found.setdefault(name, []).append(value[0])
        return {name: torch.stack(values).numpy() for name, values in found.items()}

    def logits(self, z: Tensor) -> NDArray[np.float32]:
        """What the classifier makes of degraded or restored latents ``(N, D)``."""
        with torch.inference_mode():
            out: NDArray[np.float32] = self.classify(z).float().numpy()
        return out

    def draw_set(self, latents: Latents, train: Rows, rng: np.random.Generator) -> Rows:
        """Positions of a random set of training rows, drawn as training draws a batch."""
        size = min(self.set_size, len(train))
        if not self.by_domain:
            return rng.choice(train, size, replace=False)
        domain = latents.domain[train]
        names = list(dict.fromkeys(domain.tolist()))
        share = max(1, size // len(names))
        parts = [train[domain == name] for name in names]
        drawn = [rng.choice(part, min(share, len(part)), replace=False) for part in parts]
        return rng.permutation(np.concatenate(drawn))

    def _training_rows(self, latents: Latents) -> Rows:
        train = np.flatnonzero(latents.split == "train")
        if not len(train):
            raise InputError("there are no latents of training images to mix with")
        return train

    def _batches(self, latents: Latents, train: Rows, rng: np.random.Generator) -> Iterator[Rows]:
        """Every training row in one batch or, to fill the last ones, in more."""
        left = rng.permutation(train)
        if self.by_domain:  # one block per domain in every batch
            names = list(dict.fromkeys(latents.domain[train].tolist()))
            share = max(1, min(self.set_size, len(train)) // len(names))
            blocks = [left[latents.domain[left] == name] for name in names]
            batches = max(-(-len(block) // share) for block in blocks)
            for number in range(batches):
                places = np.arange(number * share, (number + 1) * share)
                yield np.concatenate([np.unique(block[places % len(block)]) for block in blocks])
            return
        size = min(self.set_size, len(train))
        for start in range(0, len(left), size):
            yield left[min(start, len(left) - size) :][:size]

    def _apply(self, z: Tensor, z_set: Tensor | None) -> dict[str, Tensor]:
        """Degraded and restored latents of one batch, where the method makes them."""
        with torch.inference_mode():
            degradation, restoration = self.augment.degradation, self.augment.restoration
            own = None if z_set is not None else torch.arange(len(z))
            z_set = z if z_set is None else z_set
            z_d = z if degradation is None else degradation(z, z_set, own=own)
            found = {} if degradation is None else {DEGRADED: z_d.float()}
            if restoration is not None and "restored" in self.augment.terms:
                found[RESTORED] = restoration(z_d, z_set, own=own).float()
        return found


def with_operators(latents: Latents, operators: Operators | None, seed: int = 0) -> Latents:
    """The same latents with their degraded and restored forms, where a run has operators."""
    if operators is None:
        return latents
    views = {ORIGINAL: latents.views[ORIGINAL], **operators.views(latents, seed)}
    return Latents(**{**vars(latents), "views": views})


def find_operators(
    config: RunConfig, files: RunFolder, record: RunRecord, spec: DataSpec, model: FeatureModel
) -> tuple[Operators | None, str]:
    """D and R of a trained run.

    They are those of `best.ckpt`, which was written when the reported rule made its choice.

    Args:
        config: The run.
        files: Its folder.
        record: Its `run.json`.
        spec: Its data.
        model: Its network with the reported weights, in eval mode, on the CPU.

    Returns:
        None for a run that has none; and what to know about them or their absence, in words, empty
        for a method that never has any.

    Raises:
        InputError: If the checkpoint is damaged or of another run.
    """
    algorithm = build_algorithm(config.algorithm, spec, model, seed=config.seed)
    augment = getattr(algorithm, "augment", None)
    if not isinstance(augment, LatentDR):
        return None, ""
    if record.content.get("stages"):
        return None, "a later stage of training has changed the classifier that D and R worked with"
    if not files.best.is_file():
        return None, f"{files.best.name}, which holds D and R, is no longer in the run's folder"
    saved = load_checkpoint(files.best)
    try:
        algorithm.load_state_dict(saved["shared"]["algorithm"])
        step = int(saved["position"]["step"])
    except (KeyError, TypeError, RuntimeError) as error:
        raise InputError(
            f"{files.best} does not hold the degradation and restoration of this run "
            f"({type(error).__name__}). Train it again to analyse them"
        ) from error
    augment.train()
    own = augment.own_classifier
    size = record.content.get("set_size") or record.batch_size or len(spec.class_names)
    operators = Operators(
        augment,
        model.classify if own is None else own.eval(),
        int(size),
        record.sampler == "domains",
    )
    return operators, _other_step(config, record, step)


def _other_step(config: RunConfig, record: RunRecord, step: int) -> str:
    """In words: that the network's weights are of another step than D and R."""
    chosen = record.selection
    if config.training.averaging is not None:
        return f"D and R are those of step {step:,}; the network's weights are a mean over steps"
    if chosen is not None and chosen.step not in (None, step):
        return f"D and R are those of step {step:,}; the network's weights of step {chosen.step:,}"
    return ""


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Dropout and random subsets from a seed; the global generators are left as they were."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
