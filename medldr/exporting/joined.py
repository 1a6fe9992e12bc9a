"""An encoder and the head that was trained on its latents, as one network."""

from __future__ import annotations

from torch import Tensor, nn

from medldr.folders.preprocessing_record import Preprocessing
from medldr.models.base import FeatureModel
from medldr.transforms import recorded_pipeline


class Joined(nn.Module):
    """Images in, logits out.

    Args:
        encoder: Its head is not used.
        head: The network of a run on the encoder's latents.
        record: How the encoder's output becomes the head's input.

    Attributes:
        num_classes: Number of logits ``K``.
    """

    def __init__(self, encoder: FeatureModel, head: FeatureModel, record: Preprocessing) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head
        self.num_classes = head.num_classes
        self._pipeline = recorded_pipeline(record)

    def forward(self, image: Tensor) -> Tensor:
        """Logits ``(B, K)`` of what the encoder is to see, ``(B, C, *S)``."""
        logits: Tensor = self.head(self._pipeline.evaluate(self.encoder.features(image).float()))
        return logits


def joined_record(head: Preprocessing, encoder: Preprocessing) -> Preprocessing:
    """What a joined network must be told: the encoder's images, and the head's answers.

    What was measured on training latents says nothing about images, and is left out.
    """
    of_images = {key: getattr(encoder, key) for key in ("reading", "stored", "transform", "input")}
    training = head.training.model_copy(update={"mean": None, "sd": None})
    return head.model_copy(update={**of_images, "training": training, "latents": None})
