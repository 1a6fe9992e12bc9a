"""One new item as the stored image that a trained network was taught with.

Whatever read the training images reads new ones: the run's record names it (`kind`) with its rules.

Source:
    Our choice, where a new item has more bits than those of training: it is scaled to their 8 by
    the same rules as scans (`medldr.data.files.intensity`), and said so.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medldr.data.counting import counted
from medldr.data.files.combined import facts_of_item, of_one_patient
from medldr.data.files.facts import Facts
from medldr.data.files.geometry import squashed
from medldr.data.files.image import image_of_item, read_images
from medldr.data.files.intensity import to_unit, value_range
from medldr.data.files.latent import ATTENTION, latents_of, one_latent, read_array
from medldr.data.files.picture import read_picture
from medldr.data.files.rgb import OwnRules, as_image, decode
from medldr.data.files.rules import LATENTS, OWN_PICTURE, PACK, PICTURE, SCAN, Rules
from medldr.data.files.scan import Scan, ScanError, Source, times
from medldr.data.seen import digests_of_item
from medldr.errors import InputError


@dataclass(frozen=True)
class NewItem:
    """One new item.

    Attributes:
        image: ``(C, H, W)`` or ``(C, X, Y, Z)``, as stored images are; a latent ``(D,)``, or a bag
            of them ``(n, D)``.
        facts: What its file is; None for the pictures of a published benchmark.
        digests: Of what it holds, by kind, where that was asked for; see `medldr.data.seen`.
    """

    image: NDArray[Any]
    facts: Facts | None
    digests: Mapping[str, bytes | None] = field(default_factory=dict)


class ItemReader:
    """Reads new items by the rules of a run.

    Args:
        reading: As `medldr.data.files.rules.reading_of` gave it.
        size: ``(H, W)`` or ``(X, Y, Z)`` of a stored image.
        dtype: Of a stored image: uint8 from 0 to 255, or float32 from 0 to 1.
        channels: Numbers of a stored latent.

    Attributes:
        digests: Kinds of digests that each item read from a file is to have.

    Raises:
        InputError: If this version knows no such reading.
    """

    def __init__(
        self,
        reading: Mapping[str, Any],
        size: tuple[int, ...],
        dtype: np.dtype[Any],
        channels: int = 0,
    ) -> None:
        self.size = size
        self.channels = channels
        self.dtype = dtype
        self.digests: Collection[str] = ()
        rules = dict(reading)
        self.kind = rules.pop("kind", None)
        try:
            if self.kind == SCAN:
                self.rules = Rules.from_dict(rules)
            elif self.kind == OWN_PICTURE:
                self.own = OwnRules(**rules)
            elif self.kind == PACK:
                raise InputError(
                    "how a file becomes an image is not known: the run was evaluated from a pack, "
                    "without the original files. Run `medldr evaluate` on it where they are"
                )
            elif self.kind == LATENTS:
                self.bag = str(rules.get("bag", "refuse"))
            elif self.kind != PICTURE:
                raise InputError(
                    f"images were read as {self.kind!r}, which this version of medldr does not "
                    "know. Use the version that trained the run"
                )
        except (TypeError, ValueError) as error:
            raise InputError(
                f"the rules by which images were read are damaged ({error}). Write them again "
                "with `medldr evaluate` on the run"
            ) from error

    def read(self, source: Source) -> NewItem:
        """Read one item.

        Raises:
            ScanError: If it cannot be used.
        """
        self.require_images(source.images or (source,))
        if self.kind == SCAN:
            scans = read_images(source, self.rules)
            values = [None if scan is None else scan.values for scan in scans]
            return self._with_digests(self.of_scans(scans, source), *values)
        if self.kind == LATENTS:
            try:
                latent = latents_of(read_array(source.path, source.part))
                if self.bag != ATTENTION:
                    latent = one_latent(latent, self.bag)
            except InputError as error:
                raise ScanError(str(error)) from error
            if latent.shape[-1] != self.channels:
                raise ScanError(
                    f"it has {latent.shape[-1]} numbers, and those of training have "
                    f"{self.channels}: is it of another encoder?"
                )
            return self._with_digests(NewItem(latent, None), latent)
        height, width = self.size
        if source.part:
            raise ScanError(f"it has no part {source.part!r}: this network reads whole pictures")
        if self.kind == OWN_PICTURE:
            own = self.own
            scan = read_picture(source.path, ground=own.ground, exif=own.exif, first=True)
            return self._with_digests(self.of_scans([scan], source), scan.values)
        pixels = decode(source.path, None)
        return self._with_digests(NewItem(squashed(pixels, (height, width)), None), pixels)

    @property
    def images(self) -> tuple[str, ...]:
        """Names of the images of each item, where the network takes several."""
        how = self.rules.combined if self.kind == SCAN else None
        return () if how is None else how.names

    def require_images(self, images: Sequence[object]) -> None:
        """Refuse an item that has not the images of those of training.

        Args:
            images: Each of its images; None for one that is missing.

        Raises:
            ScanError: Naming what is missing.
        """
        names = self.images
        if len(images) != max(1, len(names)):
            takes = f"{len(names)} ({', '.join(names)})" if names else "one"
            has = counted(len(images), "image", "images")
            raise ScanError(f"it has {has}, and the network takes {takes} per item")
        missing = [name for name, one in zip(names, images, strict=False) if one is None]
        how = self.rules.combined if missing else None
        if how is not None and how.on_missing != "zeros":
            raise ScanError(
                f"it has no {', no '.join(missing)}, and no item of training lacked one"
            )

    def _with_digests(self, item: NewItem, *values: NDArray[Any] | None) -> NewItem:
        if not self.digests:
            return item
        return replace(item, digests=digests_of_item(values, item.image, self.digests))

    def of_scans(self, scans: Sequence[Scan | None], source: Source) -> NewItem:
        """The image of an item whose scans were read, or of its arrays.

        Args:
            scans: Of each image; None for one that is missing.
            source: Where the item is.

        Raises:
            ScanError: If it cannot be used.
        """
        first = next(scan for scan in scans if scan is not None)
        if self.kind != SCAN:
            depth = self.own.depth if self.kind == OWN_PICTURE else 8
            return NewItem(as_image(first, (self.size[0], self.size[1]), depth), Facts.of(first))
        rules = self.rules
        given = [_as_in_training(scan, rules) for scan in scans]
        each = [
            None
            if scan is None or used is None
            else Facts.of(scan)._replace(warnings=used.warnings)
            for scan, used in zip(scans, given, strict=True)
        ]
        if reason := of_one_patient(each):
            raise ScanError(reason)
        facts = facts_of_item(each, self.images) if self.images else each[0]
        image = image_of_item(given, source, rules)
        if self.dtype == np.uint8 and image.dtype != np.uint8:
            image = np.rint(image * 255).astype(np.uint8)
        if image.shape[1:] != self.size:
            raise ScanError(
                f"it becomes {times(image.shape[1:])} pixels, and the network was trained on "
                f"{times(self.size)}"
            )
        return NewItem(image, facts)


def _as_in_training(scan: Scan | None, rules: Rules) -> Scan | None:
    if scan is None or not rules.eight_bit or scan.values.dtype == np.uint8:
        return scan
    return _with_8_bits(scan, rules)


def _with_8_bits(scan: Scan, rules: Rules) -> Scan:
    if scan.kind == "array" and scan.values.min() >= 0:
        # The same picture as other types of number: from 0 to 1, or from 0 to 255.
        high = scan.values.max()
        factor = 255 if scan.values.dtype.kind == "f" and high <= 1 else 1
        if high * factor <= 255:
            return replace(scan, values=np.rint(scan.values * factor).astype(np.uint8))
    unit = to_unit(scan.values, *value_range(scan, rules))
    warning = f"its pixels ({scan.mode}) were scaled to the 8 bits of training"
    values = np.rint(unit * 255).astype(np.uint8)
    return replace(scan, values=values, warnings=(*scan.warnings, warning))
