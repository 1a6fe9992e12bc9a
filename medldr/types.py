"""What passes between the stages of a run.

`Batch` and `StepOutput` are NamedTuples, because Lightning Fabric refuses frozen dataclasses
and because DDP and `torch.compile` walk tuples. `DataSpec` and `Predictions` stay on the host
and are frozen dataclasses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # reading results needs no torch
    from torch import Tensor

Task = Literal["multi-class", "binary", "ordinal", "multi-label"]
TASKS: tuple[str, ...] = get_args(Task)

SplitName = Literal["train", "id_val", "val", "id_test", "test"]
SPLITS: tuple[str, ...] = get_args(SplitName)
SPLIT_TITLES: Mapping[str, str] = {
    "test": "Test",
    "id_test": "Test, seen domains",
    "val": "Validation",
    "id_val": "Validation, seen domains",
    "train": "Training",
}
"""Names of the splits, in the order in which pages show them."""


class Batch(NamedTuple):
    """Some samples, as an algorithm receives them.

    Attributes:
        image: ``(B, C, [D,] H, W)`` float32, after the pixel rule; of stored latents ``(B, D)``;
            of bags of them ``(B, N, D)``, where rows of NaN follow those of a shorter bag.
        label: ``(B,)`` int64, or ``(B, L)`` float32 for multi-label, where NaN means missing.
        domain: ``(B,)`` int64; 0..n-1 within `DataSpec.train_domains`, -1 for any other domain.
        group: ``(B,)`` int64; number of the group (patient, slide), -1 where there are none.
        index: ``(B,)`` int64; row number in the dataset's table, where the id texts are kept.
        views: Extra augmented views of the images, by name; empty unless an algorithm asks.
    """

    image: Tensor
    label: Tensor
    domain: Tensor
    group: Tensor
    index: Tensor  # type: ignore[assignment]  # the field hides tuple.index, on purpose
    views: dict[str, Tensor] = {}  # noqa: RUF012  (a NamedTuple default; never changed in place)

    def select(self, rows: Tensor) -> Batch:
        """The same batch with only these rows: ``rows`` is a boolean mask or row numbers."""
        image, label, domain, group, index, views = self
        chosen = {name: view[rows] for name, view in views.items()}
        return Batch(image[rows], label[rows], domain[rows], group[rows], index[rows], chosen)

    def by_domain(self) -> list[Batch]:
        """One batch per domain present, in ascending order of the domain number.

        Example:
            >>> import torch
            >>> row = torch.arange(4)
            >>> batch = Batch(row[:, None], row, torch.tensor([1, 0, 1, 0]), row, row)
            >>> [part.index.tolist() for part in batch.by_domain()]
            [[1, 3], [0, 2]]
        """
        return [self.select(self.domain == d) for d in self.domain.unique()]  # type: ignore[no-untyped-call]


class StepOutput(NamedTuple):
    """What one evaluation of an algorithm's loss yields.

    Attributes:
        loss: Scalar, attached to the graph.
        z: ``(B, D)`` latents of the unmodified images, attached; of the mixed ones where
            `Algorithm.mixes_labels`, which has no second pass for the others.
        logits: ``(B, K)`` logits of the same images, attached.
        logs: One detached scalar per term, with keys such as ``loss/degraded``.
    """

    loss: Tensor
    z: Tensor
    logits: Tensor
    logs: dict[str, Tensor]


@dataclass(frozen=True)
class DataSpec:
    """What a model and an algorithm need to know about the data, and nothing else.

    Attributes:
        task: Kind of labels.
        class_names: One name per class (multi-class, binary, ordinal) or per label (multi-label).
        class_counts: Training rows actually used, per class; positives per label for multi-label.
        channels: Channels of the image tensor after the pixel rule; of each view. The numbers of
            each latent where these are stored.
        spatial_size: ``(H, W)`` or ``(D, H, W)`` after the pixel rule; empty for stored latents.
        domains: All domains of the dataset; empty where it has none.
        train_domains: Those that training rows come from, in the order `Batch.domain` counts.
        views: Images of each item that the network sees one by one, ``(B, views * channels, ...)``;
            their features are averaged.
        bags: Whether each item is a bag of latents, which the network pools.
    """

    task: Task
    class_names: tuple[str, ...]
    class_counts: tuple[int, ...]
    channels: int
    spatial_size: tuple[int, ...]
    domains: tuple[str, ...] = ()
    train_domains: tuple[str, ...] = ()
    views: int = 1
    bags: bool = False

    @property
    def num_classes(self) -> int:
        """Number of logits ``K``."""
        return len(self.class_names)

    @property
    def spatial_dims(self) -> int:
        """2 for pictures, 3 for volumes, 0 for stored latents."""
        return len(self.spatial_size)

    @property
    def multi_label(self) -> bool:
        """Whether each label is decided independently (sigmoid) rather than one of K (softmax)."""
        return self.task == "multi-label"


@dataclass(frozen=True)
class Predictions:
    """Predicted probabilities with what is known of each item; every table is computed from these.

    Attributes:
        task: Kind of labels.
        class_names: One name per column of `prob`.
        id: ``(N,)`` text, the item's name in its dataset.
        split: ``(N,)`` text, one of `SPLITS`.
        domain: ``(N,)`` text, empty where the dataset has no domains.
        group: ``(N,)`` text (patient, slide), empty where there are none.
        label: ``(N,)`` int64, or ``(N, L)`` float64 with NaN for a missing label.
        prob: ``(N, K)`` float64, softmax or (multi-label) sigmoid of the logits.
        part: ``(N,)`` text, ``target_in`` or ``target_out`` for items of a held-out domain, else
            empty; may be left out where all are.
        columns: Further columns ``(N,)`` of text by name (sex, age, device), those of
            ``data.metadata`` that results are divided by; empty where a value is missing.
        decision: ``(N,)`` whether each item is called positive, or ``(N, L)`` each label present,
            where models with thresholds of their own predicted the items (the folds of a
            cross-validation); None: one threshold decides for all.
        log_odds: ``(N, K)`` log-odds of each class, which `ranks_by` takes; None: not known.
    """

    task: Task
    class_names: tuple[str, ...]
    id: NDArray[np.str_]
    split: NDArray[np.str_]
    domain: NDArray[np.str_]
    group: NDArray[np.str_]
    label: NDArray[np.int64] | NDArray[np.float64]
    prob: NDArray[np.float64]
    part: NDArray[np.str_] = field(default_factory=lambda: np.empty(0, dtype=np.str_))
    columns: Mapping[str, NDArray[np.str_]] = field(default_factory=dict)
    decision: NDArray[np.bool_] | None = None
    log_odds: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        if not len(self.part):
            object.__setattr__(self, "part", np.full(len(self.id), "", dtype=np.str_))

    def __len__(self) -> int:
        return len(self.id)

    @property
    def ranks_by(self) -> NDArray[np.float64]:
        """``(N, K)`` what orders items: log-odds where they are known, else probabilities."""
        return self.prob if self.log_odds is None else self.log_odds

    def select(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> Predictions:
        """The same table with only these rows."""
        arrays = ["id", "split", "domain", "group", "label", "prob", "part"]
        arrays += [name for name in ("decision", "log_odds") if getattr(self, name) is not None]
        chosen: dict[str, Any] = {name: getattr(self, name)[rows] for name in arrays}
        columns = {name: column[rows] for name, column in self.columns.items()}
        return replace(self, **chosen, columns=columns)
