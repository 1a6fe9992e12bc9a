"""Images through an encoder, once: latents that many methods are then trained on in minutes.

What is written is a pack, as of images, with latents in their place: one memory-mapped array, each
block with its checksum, resumed where a killed process stopped, and a table of the rows; and the
encoder itself, through which images pass when a run on the latents is asked about them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import JsonValue

from medldr.config import RunConfig, load_config
from medldr.config.changes import Changes
from medldr.config.identity import differing
from medldr.console import Console
from medldr.data import Data, build_data
from medldr.data.config import DatasetConfig
from medldr.data.image_table import LazyImages
from medldr.data.store import make_pack
from medldr.data.store.pack_files import FACTS, read_facts
from medldr.encoding.encoder import (
    FOLDER,
    Encoder,
    Network,
    identity,
    record_of,
    write_encoder,
)
from medldr.encoding.exported import ExportedEncoder
from medldr.errors import InputError
from medldr.folders.files import RunFolder
from medldr.models import build_model
from medldr.plugins import takes_plugins
from medldr.run import trained_network
from medldr.training import make_single_fabric
from medldr.training.machine.fabric import precision_name

CPU_BATCH = 16
"""Images that pass at once on a processor, at most.

Source:
    Measured on two cores with EfficientNet-Lite0 at 224 pixels: 16 at once take half the time of
    256, whose intermediate results outgrow the caches and are given back to the system each time.
"""


@dataclass(frozen=True)
class Encoded:
    """Stored latents.

    Attributes:
        folder: Where they are.
        images: How many images they are of.
        dim: Numbers of each.
        encoder: What made them, as `pack.json` has it.
        made: Whether the folder was ``made``, ``there`` already with just these, or ``replaced``.
    """

    folder: Path
    images: int
    dim: int
    encoder: dict[str, JsonValue]
    made: str


class LatentImages(LazyImages):
    """Latents of a data set's images, made when they are asked for.

    Args:
        data: The images.
        encoder: What makes their latents.
        batch_size: Images that pass at once.
    """

    dtype = np.dtype(np.float32)

    def __init__(self, data: Data, encoder: Encoder, batch_size: int) -> None:
        self.shape = (len(data.table), encoder.model.dim)
        self.stamp = getattr(data.table.images, "stamp", "")
        self._pixels, self._encoder, self._batch_size = data.pixels, encoder, batch_size

    def __getitem__(self, rows: int | slice | NDArray[np.int64]) -> NDArray[Any]:
        """Latents ``(D,)`` of one row or ``(n, D)`` of several; images pass as in evaluation."""
        if isinstance(rows, int | np.integer):
            found: NDArray[Any] = self[np.array([rows])][0]
            return found
        numbers = np.arange(len(self))[rows]
        latents = np.empty((len(numbers), self.shape[1]), np.float32)
        for start in range(0, len(numbers), self._batch_size):
            part = numbers[start : start + self._batch_size]
            stored = torch.stack([self._pixels.row(row) for row in part.tolist()])
            latents[start : start + len(part)] = self._encoder.latents(stored)
        return latents


@takes_plugins
def features(
    source: str | Path | Mapping[str, Any],
    overrides: Changes = (),
    out: str | Path = "latents",
    *,
    encoder: str | Path | None = None,
    precision: str = "float32",
    device: str | None = None,
    force: bool = False,
    plugins: Sequence[str] = (),
) -> Encoded:
    """Store the latents of all images of a data set, as evaluation sees these.

    ``data: {name: features, root: OUT}`` then trains on them.

    Args:
        source: A packaged name, a YAML file or a mapping with its content, whose network starts
            from the weights that it names; or the folder of a finished run, whose network was
            trained.
        overrides: Changes of a configuration, as `medldr.train` takes them.
        out: The folder to write; what an unfinished call left there is gone on with.
        encoder: An ONNX file that takes the place of the configuration's network.
        precision: Of the network.
        device: Where it works; unset: as the configuration says.
        force: Replace other latents in `out`.
        plugins: Packages of your own whose plug-ins may be imported.

    Raises:
        InputError: If the configuration, the data, the network or the folder is at fault.
        StorageError: If it cannot be written.
    """
    out = Path(out)
    exported = None if encoder is None else ExportedEncoder(Path(encoder))
    config, data, model = _source(source, overrides, exported)
    if not data.spec.spatial_dims:
        raise InputError(f"{data.table.name} holds latents already: there is nothing to encode")
    if exported is not None:
        exported.fit(data.spec)
        precision, device = "float32", "cpu"
    fabric = make_single_fabric(config, precision=precision, device=device)
    record = record_of(config, data)
    facts: dict[str, JsonValue] = {
        "model": differing(config.model) if exported is None else exported.named,
        **identity(model, record),
        "precision": precision_name(fabric),
        "transform": differing(config.transform),
        "source": data.table.name,
        "data_hash": data.data_hash,
        "split_hash": data.split_hash,
    }
    _require_same(out, facts, force=force)
    at_once = config.evaluation.batch_size
    if fabric.device.type == "cpu":
        at_once = min(at_once, CPU_BATCH)
    images = LatentImages(data, Encoder(model, record, fabric), at_once)
    digest = hashlib.sha256(repr(sorted(facts.items())).encode()).hexdigest()
    hashes = {**data.table.hashes, "encoder": digest}
    table = replace(data.table, images=images, hashes=hashes, looks=None, facts=(), masks=None)
    section = config.data
    if not isinstance(section, DatasetConfig):
        raise InputError(f"data.name: the Config of {section.name} is not a DatasetConfig")
    made = make_pack(
        table, section, out.absolute(), workers=0, console=Console(stderr=True), encoder=facts
    )
    if not (out / FOLDER).is_dir():
        write_encoder(out, model, record, config, data.spec)
    return Encoded(out, len(table), model.dim, facts, made)


def _require_same(out: Path, encoder: dict[str, JsonValue], *, force: bool) -> None:
    """Refuse a folder that holds latents of another encoder or of other data.

    Raises:
        InputError: Naming what differs.
    """
    if force or not (out / FACTS).is_file():
        return
    there = read_facts(out).encoder or {}
    if other := sorted(key for key in encoder if there.get(key) != encoder[key]):
        raise InputError(
            f"{out} holds other latents: {', '.join(other)} differ. Name another folder, or "
            "replace them with --force"
        )


def _source(
    source: str | Path | Mapping[str, Any], overrides: Changes, exported: ExportedEncoder | None
) -> tuple[RunConfig, Data, Network]:
    """Configuration, data and encoder."""
    if not isinstance(source, Mapping) and RunFolder(source).run.is_file():
        if overrides or exported is not None:
            what = "its configuration cannot be changed" if overrides else "it is the encoder"
            raise InputError(f"{source} is a finished run: {what}")
        config, _, model = trained_network(source)
        return config, build_data(config), model
    config = load_config(source, overrides)
    data = build_data(config)
    root = getattr(config.data, "root", None)
    if exported is not None:
        return config, data, exported
    return config, data, build_model(config.model, data.spec, seed=config.seed, root=root)
