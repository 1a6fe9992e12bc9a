"""The degradation and the restoration of a trained run, as its training used them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from medldr.algorithms import build_algorithm
from medldr.config import RunConfig
from medldr.errors import InputError
from medldr.evaluation.latents.training_batches import (
    Rows,
    TrainingBatches,
    can_mix,
    training_rows,
)
from medldr.folders.files import RunFolder, load_checkpoint
from medldr.folders.latents_record import DEGRADED, ORIGINAL, RESTORED, Latents, View
from medldr.folders.run_record import RunRecord
from medldr.latent import LatentDR
from medldr.models.base import FeatureModel
from medldr.types import DataSpec

OF_ONE_SET: Final = 8
"""Images of other splits that are mixed with the same training images, at most."""
OWN_CLASSIFIER = (
    "the classifier of degraded and restored latents is one of their own, as in training; original "
    "latents are judged by that of the network"
)


@dataclass(frozen=True)
class Operators:
    """D and R of a run with everything they need, on the CPU, in training mode.

    Attributes:
        augment: D and R, with dropout and random subsets as in training.
        classify: The classifier that judges their latents.
        batches: How training drew its batches.
    """

    augment: LatentDR
    classify: Callable[[Tensor], Tensor]
    batches: TrainingBatches

    def views(self, latents: Latents, seed: int = 0) -> dict[str, View]:
        """Degraded and restored latents of every row, by name.

        Training rows are degraded and restored in random batches of training rows, as in training;
        the rows of other splits with random batches of training rows that do not hold them, so that
        no image of the test learns anything from another one. Of methods without one of the two,
        that one is missing.

        Args:
            latents: At least two rows are of ``train``.
            seed: Of batches, dropout and random subsets.

        Raises:
            InputError: If there are fewer training rows.

        Source:
            The paper degrades and restores in training alone. Our choice: one draw of everything,
            and for other splits a new batch for every 8 images, or for an eighth of the size of a
            batch where that is less. Chance is then nearly independent between images, as dropout
            is, and 95% CIs from drawing images include it. With the trained networks that we tried,
            new draws move balanced accuracy no more than chance independent between images does.
        """
        rng = np.random.default_rng(seed)
        blocks = self.batches.blocks(latents, training_rows(latents))
        other = np.flatnonzero(latents.split != "train")
        found: dict[str, Tensor] = {}
        z = torch.from_numpy(np.ascontiguousarray(latents.z))
        with _seeded(seed):
            new = np.ones(len(z), dtype=bool)  # a row that a later batch repeats stays as it was
            for batch in self.batches.every(blocks, rng):
                rows, place = np.unique(batch, return_index=True)
                rows, place = rows[new[rows]], place[new[rows]]
                for name, value in self._apply(z[batch], None).items():
                    kept = found.setdefault(name, torch.zeros_like(z))
                    kept[rows] = value[place]
                new[rows] = False
            together = max(1, min(OF_ONE_SET, self.batches.size // OF_ONE_SET))
            for start in range(0, len(other), together):
                rows = other[start : start + together]
                z_set = z[self.batches.draw(blocks, rng)]
                for name, value in self._apply(z[rows], z_set).items():
                    found[name][rows] = value
            return {name: View(value.numpy(), self.logits(value)) for name, value in found.items()}

    def first_batch(self, latents: Latents, seed: int = 0) -> Rows:
        """Positions of training rows that `views` degrades and restores in one forward pass."""
        rng = np.random.default_rng(seed)
        blocks = self.batches.blocks(latents, training_rows(latents))
        batch = next(self.batches.every(blocks, rng))
        return np.array(list(dict.fromkeys(batch.tolist())), dtype=np.int64)

    def insert(
        self, latents: Latents, query: int, times: int = 32, seed: int = 0
    ) -> dict[str, NDArray[np.float32]]:
        """One latent, degraded and restored in several random batches of training rows.

        Args:
            latents: The latents that batches are drawn from; at least two rows are of ``train``.
            query: Position of the latent among them.
            times: Batches.
            seed: Of batches, dropout and random subsets.

        Returns:
            ``(times, D)`` latents by name.

        Raises:
            InputError: If there are fewer training rows.
        """
        rng = np.random.default_rng(seed)
        train = training_rows(latents)
        blocks = self.batches.blocks(latents, train[train != query])
        z = torch.from_numpy(np.ascontiguousarray(latents.z))
        found: dict[str, list[Tensor]] = {}
        with _seeded(seed):
            for _ in range(times):
                others = self.batches.draw(blocks, rng)[: max(self.batches.size - 1, 0)]
                batch = z[np.concatenate([[query], others]).astype(np.int64)]
                for name, value in self._apply(batch, None).items():
                    found.setdefault(name, []).append(value[0])
        return {name: torch.stack(values).numpy() for name, values in found.items()}

    def logits(self, z: Tensor) -> NDArray[np.float32]:
        """What the classifier makes of degraded or restored latents ``(N, D)``."""
        with torch.inference_mode():
            out: NDArray[np.float32] = self.classify(z).float().numpy()
        return out

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
    """The same latents with their degraded and restored forms, where a run can make them."""
    if operators is None or not can_mix(latents):
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
        return None, "a later stage of training has changed the network that D and R worked with"
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
        TrainingBatches(
            int(size), record.sampler or "shuffle", record.content.get("domains_per_batch")
        ),
    )
    notes = ("" if own is None else OWN_CLASSIFIER, _other_step(config, record, step))
    return operators, "; ".join(note for note in notes if note)


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
