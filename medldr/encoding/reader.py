"""New items of a run on stored latents: latents as they are, images through their encoder."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from medldr.data.files.latent import ATTENTION, ENDINGS
from medldr.data.files.scan import Scan, Source
from medldr.data.reading.new_item import ItemReader, NewItem
from medldr.encoding.encoder import CURE, RECORD, Encoder, Network, load_encoder
from medldr.errors import InputError
from medldr.folders.preprocessing_record import Preprocessing, read_preprocessing

if TYPE_CHECKING:
    from lightning_fabric import Fabric


class EncodingReader(ItemReader):
    """Reads latents, and images as their encoder does, which is loaded for the first of them.

    Args:
        reading: As `ItemReader` takes it, and so `size`, `dtype` and `channels`.
        size: Empty.
        dtype: Of a latent.
        channels: Numbers of a latent.
        place: The encoder's folder; None where it is not known.
        fabric: Gives the encoder, by its own precision, the device.

    Attributes:
        record: How the encoder reads images; None where it is not known.
    """

    def __init__(
        self,
        reading: Mapping[str, Any],
        size: tuple[int, ...],
        dtype: np.dtype[Any],
        channels: int,
        place: Path | None,
        fabric: Callable[[str], Fabric],
    ) -> None:
        super().__init__(reading, size, dtype, channels)
        self.record = None if place is None else read_preprocessing(place / RECORD, CURE)
        self._place, self._fabric = place, fabric
        self._recorded = reading["encoder"]
        self._encoder: Encoder | None = None
        self._lock = threading.Lock()  # items are read in threads

    @property
    def encoded(self) -> bool:
        """Whether an image was read by now."""
        return self._encoder is not None

    @property
    def encoder(self) -> Encoder:
        """What made the latents, loaded when it is first needed; see `load`."""
        with self._lock:
            if self._encoder is None:
                fabric = self._fabric(str(self._recorded.get("precision", "float32")))
                self._encoder = Encoder(*self.load(), fabric)
            return self._encoder

    def load(self) -> tuple[Network, Preprocessing]:
        """Another copy of it; see `medldr.encoding.encoder.load_encoder`.

        Raises:
            InputError: If it is nowhere to be found, or another one.
        """
        if self._place is None:
            raise InputError(
                "the run was trained on stored latents, and their encoder is not where they were: "
                "images need it. Name with --encoder the folder of latents that `medldr features` "
                "wrote, or the run whose network made them; or give latents"
            )
        return load_encoder(self._place, self._recorded)

    def read(self, source: Source) -> NewItem:
        """Read one item; by its ending it is a latent or an image.

        Raises:
            ScanError: If it cannot be used.
            InputError: If it is an image and there is no encoder.
        """
        if not source.images and source.path.suffix.lower() in ENDINGS:
            return super().read(source)
        return self._encoded(self.encoder.reader.read(source))

    def of_scans(self, scans: Sequence[Scan | None], source: Source) -> NewItem:
        """The latent of an image that was read; see `read`."""
        return self._encoded(self.encoder.reader.of_scans(scans, source))

    def _encoded(self, item: NewItem) -> NewItem:
        latent = self.encoder.latents(torch.from_numpy(item.image[None]))[0]
        if self.bag == ATTENTION:
            latent = latent[None]  # a bag of one
        return self._with_digests(NewItem(latent, item.facts), latent)
