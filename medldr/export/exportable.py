"""What is exported: pixel rule, network and answer as one module of plain torch.

Whoever runs it gives stored pixels, as `preprocessing.json` describes them, and gets the numbers
that medldr's own prediction gives: nothing between the image and the probability is left to be
written a second time.
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from medldr.errors import InputError
from medldr.folders.preprocessing_record import Preprocessing
from medldr.models.base import FeatureModel
from medldr.transforms import Pipeline, recorded_pipeline

INPUT = "image"
OUTPUTS = ("logits", "probabilities")


class Exportable(nn.Module):
    """Stored pixels in, logits and probabilities out; see `make_exportable`.

    Args:
        model: The network, in eval mode.
        pipeline: The pixel rule.
        record: What the network must be told.

    Shape:
        - Input ``(B, C, *S)`` float32: whole numbers from 0 to 255 where ``record.stored.dtype`` is
          ``uint8``, else numbers from 0 to 1.
        - Output ``(B, K)`` logits as the network gives them, and ``(B, K)`` probabilities: softmax
          (multi-label: sigmoid) of the logits divided by ``record.temperature``.
    """

    def __init__(self, model: FeatureModel, pipeline: Pipeline, record: Preprocessing) -> None:
        super().__init__()
        self.model = model
        self.pipeline = pipeline
        self.whole = record.stored.dtype == "uint8"
        self.temperature = 1.0 if record.temperature is None else record.temperature
        self.multi_label = record.task == "multi-label"

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and probabilities of stored images."""
        if self.whole:  # the rule sees the type that it saw in training
            image = image.round().clamp(0, 255).to(torch.uint8)
        logits: Tensor = self.model(self.pipeline.evaluate(image))
        scaled = logits / self.temperature
        return logits, scaled.sigmoid() if self.multi_label else scaled.softmax(1)


def make_exportable(model: FeatureModel, record: Preprocessing) -> Exportable:
    """The module that is exported, on the CPU and in eval mode; the network is not changed.

    Raises:
        InputError: If the record holds transforms that act on one image at a time, or does not fit
            the network.
    """
    _refuse_single(record)
    pipeline = recorded_pipeline(record)
    if model.num_classes != len(record.class_names):
        raise InputError(
            f"preprocessing.json: class_names has {len(record.class_names)} names, but the network "
            f"has {model.num_classes} outputs. Take both from the same run"
        )
    return Exportable(copy.deepcopy(model).cpu(), pipeline, record).eval()


def _refuse_single(record: Preprocessing) -> None:
    listed = record.transform.get("eval") or ()
    if listed:
        names = ", ".join(one if isinstance(one, str) else next(iter(one)) for one in listed)
        raise InputError(
            f"transform.eval: MONAI transforms ({names}) act on one image at a time and cannot "
            "become part of an exported network. Train with transform.eval left empty: the keys of "
            "the preset (transform.size, mean, std) are exported"
        )
