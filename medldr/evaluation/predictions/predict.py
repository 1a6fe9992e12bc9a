"""Run a model over a split: every item once, in the order of the dataset."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from medldr.data.image_table import ImageTable
from medldr.data.splits.target_parts import part_column
from medldr.evaluation.predictions.log_odds import log_odds
from medldr.types import Batch, DataSpec, Predictions, Task

if TYPE_CHECKING:
    from lightning_fabric import Fabric


@contextlib.contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Put a model into evaluation mode, and restore the mode of each of its parts afterwards."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


def probabilities(
    logits: NDArray[np.float32] | NDArray[np.float64], task: Task
) -> NDArray[np.float64]:
    """Softmax (multi-label: sigmoid) of logits ``(N, K)``, in float64.

    Example:
        >>> probabilities(np.array([[0.0, 0.0]]), "binary")
        array([[0.5, 0.5]])
    """
    z = torch.as_tensor(np.asarray(logits, dtype=np.float64))
    prob = torch.sigmoid(z) if task == "multi-label" else torch.softmax(z, dim=1)
    out: NDArray[np.float64] = prob.numpy()
    return out


def predict_each(
    models: Sequence[nn.Module],
    loader: Iterable[Batch],
    *,
    spec: DataSpec,
    table: ImageTable,
    split: str,
    parts: Mapping[str, NDArray[np.int64]] | None = None,
    fabric: Fabric | None = None,
) -> list[Predictions]:
    """Probabilities of every item of a split and their log-odds, of several models in one pass.

    The models' modes and running statistics are left unchanged. With several processes each
    predicts its part of the rows and all receive the whole table; a row that a sampler repeated
    counts once.

    Args:
        models: Each from images to logits ``(B, K)``.
        loader: Batches of this process's rows, on the models' device.
        spec: Of the data the models were built for.
        table: Where ids, labels, domains and groups come from, by `Batch.index`.
        split: Name to write next to each row.
        parts: Rows of each part of the held-out domains, to name next to each row; None: there are
            none.
        fabric: Gives precision and processes; unset: float32, this process alone.

    Returns:
        One table per model, with rows in the order of the data's, the same on every process.
    """
    logits, index = _forward(models, loader, spec.num_classes, fabric)
    if fabric is not None and fabric.world_size > 1:
        logits = [_gather(one, fabric) for one in logits]
        index = _gather(index, fabric)
    rows, first = np.unique(index.numpy(), return_index=True)
    labels = table.labels[rows]
    return [
        Predictions(
            task=spec.task,
            class_names=spec.class_names,
            id=np.asarray(table.ids[rows], dtype=np.str_),
            split=np.full(len(rows), split),
            domain=np.asarray(table.domains[rows], dtype=np.str_),
            group=np.asarray(table.groups[rows], dtype=np.str_),
            label=labels.astype(np.float64 if spec.multi_label else np.int64),
            prob=probabilities(one.numpy()[first], spec.task),
            part=part_column(rows, parts or {}),
            columns={name: column[rows] for name, column in table.metadata.items()},
            log_odds=log_odds(one.numpy()[first], spec.task),
        )
        for one in logits
    ]


def _forward(
    models: Sequence[nn.Module], loader: Iterable[Batch], classes: int, fabric: Fabric | None
) -> tuple[list[Tensor], Tensor]:
    logits = [[torch.empty(0, classes)] for _ in models]
    index = [torch.empty(0, dtype=torch.int64)]
    with contextlib.ExitStack() as stack:
        for model in models:
            stack.enter_context(evaluating(model))
        stack.enter_context(torch.inference_mode())
        for batch in loader:
            for model, found in zip(models, logits, strict=True):
                with fabric.autocast() if fabric is not None else contextlib.nullcontext():
                    out = model(batch.image)
                # Left on the device until the end: copying each batch would wait for it.
                found.append(out.float())
            index.append(batch.index)
    # Copied one by one, since rows and logits may come from different devices.
    return [torch.cat([x.cpu() for x in found]) for found in logits], torch.cat(
        [x.cpu() for x in index]
    )


def _gather(part: Tensor, fabric: Fabric) -> Tensor:
    """Rows of all processes, one after the other; the parts may differ in length."""
    device = fabric.device
    lengths = _stack(torch.tensor([len(part)], device=device), fabric).flatten().tolist()
    padded = torch.zeros(max(lengths), *part.shape[1:], dtype=part.dtype, device=device)
    padded[: len(part)] = part.to(device)
    gathered = _stack(padded, fabric).cpu()
    return torch.cat([rows[:n] for rows, n in zip(gathered, lengths, strict=True)])


def _stack(value: Tensor, fabric: Fabric) -> Tensor:
    """``(processes, ...)`` of a tensor that has the same shape on each."""
    gathered = fabric.all_gather(value)
    if not isinstance(gathered, Tensor):
        raise TypeError(f"expected a tensor of all processes, found {type(gathered).__name__}")
    return gathered
