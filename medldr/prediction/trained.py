"""A trained run, ready to answer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from medldr.data.bags import padded
from medldr.data.files.latent import ATTENTION
from medldr.data.files.rules import LATENTS
from medldr.data.reading.new_item import ItemReader, NewItem
from medldr.encoding.encoder import find_encoder
from medldr.encoding.reader import EncodingReader
from medldr.errors import InputError
from medldr.evaluation.checked import refuse_changed
from medldr.evaluation.inputs.unlike import Centre, distances, features, moments
from medldr.evaluation.predictions.log_odds import log_odds, log_odds_of_mean
from medldr.evaluation.predictions.predict import probabilities
from medldr.folders.files import RunFolder, load_tensors
from medldr.folders.preprocessing_record import Preprocessing, read_preprocessing
from medldr.models.base import FeatureModel
from medldr.prediction.unusual import unusual_features, unusual_file, unusual_values
from medldr.prediction.views import View
from medldr.run import trained_network
from medldr.training import make_single_fabric
from medldr.training.machine.fabric import precision_name
from medldr.transforms import recorded_pipeline


class Trained:
    """A run's network with all that it takes to answer.

    Args:
        folder: The run folder.
        device: Device to use; None: the run's own `machine.device`.
        precision: Precision to compute in; None: the one that it was trained in.
        encoder: Of a run on stored latents, where their encoder is; None: beside the latents.

    Attributes:
        config: The run's configuration.
        record: Its `preprocessing.json`.
        model: Its network, on the device, in eval mode.
        pipeline: From stored images to the network's input.
        reader: From items to stored images.
        batch_size: Images that are predicted at once.
        precision: What it computes in.
        trained_in: The precision that it was trained in.
        marks: What stands beside every number of the run.

    Raises:
        InputError: If it is not a finished run, its files are damaged or of another version, or
            the device cannot compute in the precision.
    """

    def __init__(
        self,
        folder: Path | str,
        device: str | None = None,
        precision: str | None = None,
        encoder: Path | str | None = None,
    ) -> None:
        files = RunFolder(folder)
        self.folder = files.path
        self.config, run, model = trained_network(folder)
        refuse_changed(files, run, files.preprocessing, files.unlike)
        self.record = read_preprocessing(files.preprocessing)
        self._centre = _centre(files, self.record)
        chosen = precision or run.precision
        self.fabric = make_single_fabric(self.config, precision=chosen, device=device)
        self.precision = precision_name(self.fabric)
        self.trained_in = run.precision or self.precision
        self.marks = run.marks
        self.model: FeatureModel = model.to(self.fabric.device).to_fast_memory().eval()
        stored = self.record.stored
        self.dtype = np.dtype(stored.dtype)
        self.shape = (stored.channels, *stored.spatial_size)
        self.pipeline = recorded_pipeline(self.record)
        self.reader = self._reader(encoder, device)
        # Bags have any number of latents, and perhaps a great many.
        self.batch_size = 1 if self.takes_bags else self.config.evaluation.batch_size

    def _reader(self, encoder: Path | str | None, device: str | None) -> ItemReader:
        record, root = self.record, getattr(self.config.data, "root", None)
        read = (record.reading, record.stored.spatial_size, self.dtype, record.stored.channels)
        recorded = record.reading.get("encoder")
        if recorded is None:
            if encoder is not None:
                raise InputError(
                    f"--encoder: {self.folder} records no encoder, so it takes no other than "
                    f"{'latents' if record.reading.get('kind') == LATENTS else 'its own'}"
                )
            return ItemReader(*read)
        place = find_encoder(None if encoder is None else Path(encoder), root and root.expanduser())
        return EncodingReader(
            *read,
            place,
            lambda precision: make_single_fabric(self.config, precision=precision, device=device),
        )

    @property
    def encoding(self) -> EncodingReader | None:
        """What reads images of a run on stored latents; None without an encoder at hand."""
        reader = self.reader if isinstance(self.reader, EncodingReader) else None
        return None if reader is None or reader.record is None else reader

    @property
    def seen(self) -> Preprocessing:
        """What is known of the images that are given: of stored latents, by their encoder."""
        record = None if self.encoding is None else self.encoding.record
        return record or self.record

    @property
    def axes(self) -> int:
        """Axes of an image that is given; 0 where only latents can be."""
        return len(self.seen.stored.spatial_size)

    @property
    def reads_like(self) -> tuple[str, str]:
        """Equal for runs that make the same stored image of an item."""
        return repr(self.record.reading), repr(self.record.stored)

    @property
    def takes_bags(self) -> bool:
        """Whether each item is a bag of latents, which the network pools."""
        return self.record.reading.get("bag") == ATTENTION

    @property
    def takes_slices(self) -> bool:
        """Whether each slice is an item, and not one of each volume (`data.frame`)."""
        return bool(self.seen.reading.get("frame", "error") == "error")

    def answer(
        self, items: Sequence[NewItem], views: Sequence[View]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], list[dict[str, str]]]:
        """Answer a batch.

        Args:
            items: What was read.
            views: Views of each image that are averaged.

        Returns:
            ``(B, K)`` probabilities, averaged over views and recalibrated if the run was; their
            log-odds; and what is unusual about each image, by kind.
        """
        record = self.record
        given = [item.image for item in items]
        images = torch.from_numpy(padded(given) if self.takes_bags else np.stack(given))
        with torch.inference_mode(), self.fabric.autocast():
            seen = self.pipeline.evaluate(images.to(self.fabric.device))
            stages = record.latents.stages if record.latents is not None else ()
            first, averages = features(self.model, views[0](seen), stages)
            others = [self.model(self.model.arrange(view(seen))) for view in views[1:]]
        temperature = 1.0 if record.temperature is None else record.temperature
        logits = [one.cpu().double().numpy() / temperature for one in (first, *others)]
        prob = np.mean([probabilities(one, record.task) for one in logits], axis=0)
        odds = log_odds_of_mean(np.stack([log_odds(one, record.task) for one in logits]))
        mean, sd = (of.tolist() for of in moments(seen))
        far = None if self._centre is None else distances(self._centre, averages)
        unusual = []
        for row, item in enumerate(items):
            texts = {} if item.facts is None else unusual_file(item.facts, record.training)
            texts |= unusual_values(
                mean[row], sd[row], record.training, latents=not record.stored.spatial_size
            )
            if far is not None and record.latents is not None:
                texts |= unusual_features(float(far[row]), record.latents.threshold)
            unusual.append(texts)
        return prob, odds, unusual

    def probabilities(self, stored: Tensor) -> Tensor:
        """``(B, K)`` probabilities of stored images ``(B, C, *S)``, whatever their type.

        Of a run on stored latents, they are these, or images if an encoder is at hand.
        """
        if stored.ndim > 2 and self.encoding is not None:
            whole = stored.numpy().astype(self.seen.stored.dtype)
            stored = torch.from_numpy(self.encoding.encoder.latents(torch.from_numpy(whole)))
        items = [NewItem(image, None) for image in stored.numpy().astype(self.dtype)]
        return torch.from_numpy(self.answer(items, [lambda seen: seen])[0])


def _centre(files: RunFolder, record: Preprocessing) -> Centre | None:
    if record.latents is None:
        return None
    if not files.unlike.is_file():
        raise InputError(f"{files.unlike} is missing. Write it again with `medldr evaluate`")
    return Centre.from_tensors(load_tensors(files.unlike))
