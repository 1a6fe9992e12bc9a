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
from pydantic import JsonValue

from medldr.config import RunConfig, load_config
from medldr.config.changes import Changes
from medldr.config.identity import differing
from medldr.console import Console, say
from medldr.data import Data, build_data
from medldr.data.config import DatasetConfig
from medldr.data.image_table import ImageTable
from medldr.data.store import make_pack
from medldr.data.store.pack import VIEWS
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
from medldr.encoding.latent_images import LatentImages, LatentViews
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
        views: How many augmented versions of each image are stored, too.
        encoder: What made them, as `pack.json` has it.
        made: Whether all were ``there`` already; else whether the folder was ``made`` or
            ``replaced``, or the versions alone were.
    """

    folder: Path
    images: int
    dim: int
    views: int
    encoder: dict[str, JsonValue]
    made: str


@takes_plugins
def features(
    source: str | Path | Mapping[str, Any],
    overrides: Changes = (),
    out: str | Path = "latents",
    *,
    views: int = 0,
    encoder: str | Path | None = None,
    precision: str = "float32",
    device: str | None = None,
    force: bool = False,
    plugins: Sequence[str] = (),
) -> Encoded:
    """Store the latents of all images of a data set, as evaluation sees these.

    ``data: {name: features, root: OUT}`` then trains on them; with ``views: true`` on augmented
    versions, of which epoch ``e`` sees that of number ``e mod views``: the same that a run on the
    images with the same seed would see in the epoch of that number.

    Args:
        source: A packaged name, a YAML file or a mapping with its content, whose network starts
            from the weights that it names; or the folder of a finished run, whose network was
            trained.
        overrides: Changes of a configuration, as `medldr.train` takes them.
        out: The folder to write; what an unfinished call left there is gone on with.
        views: How many augmented versions of each image to store as well.
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
        if precision != "float32" or device not in (None, "auto", "cpu"):
            raise InputError(
                "--encoder: an ONNX file works on the processor, in float32. Leave out --precision "
                "and --device"
            )
        exported.fit(data.spec)
        device = "cpu"
    fabric = make_single_fabric(config, precision=precision, device=device)
    if views < 0:
        raise InputError(f"--views: {views} is no number of versions; give one from 0 up")
    if views and not data.pipeline.random:
        raise InputError(
            "--views: transform has no random step, so all versions would be the same. Name one "
            "in transform.train, such as RandFlip, or choose a preset that augments"
        )
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
    of_views: dict[str, JsonValue] = {**facts, "views": views, "seed": config.seed}
    if not force:
        _require_same(out, facts)
        if views:
            _require_same(out / VIEWS, of_views)
    at_once = config.evaluation.batch_size
    if fabric.device.type == "cpu":
        at_once = min(at_once, CPU_BATCH)
    working = Encoder(model, record, fabric)
    section = config.data
    if not isinstance(section, DatasetConfig):
        raise InputError(f"data.name: the Config of {section.name} is not a DatasetConfig")
    made = []

    def beside(folder: Path) -> None:
        """The encoder and the versions: the folder has its name only once it has them, too."""
        if force or not (folder / FOLDER).is_dir():
            write_encoder(folder, model, record, config, data.spec)
        if views:
            images = LatentViews(data, working, at_once, views=views, seed=config.seed)
            table = _table(_repeated(data.table, views), images, of_views)
            to = folder.absolute() / VIEWS
            made.append(make_pack(table, section, to, workers=0, console=console, encoder=of_views))

    console = Console(stderr=True)
    for note in getattr(model, "notes", ()):  # a file in ONNX has none
        say(f"note: {note}", console)
    table = _table(data.table, LatentImages(data, working, at_once), facts)
    of_images = make_pack(
        table, section, out.absolute(), workers=0, console=console, encoder=facts, beside=beside
    )
    done = [of_images, *made]
    return Encoded(
        out, len(table), model.dim, views, facts, next((d for d in done if d != "there"), "there")
    )


def _table(table: ImageTable, images: LatentImages, encoder: dict[str, JsonValue]) -> ImageTable:
    """A table with latents in the place of images."""
    digest = hashlib.sha256(repr(sorted(encoder.items())).encode()).hexdigest()
    hashes = {**table.hashes, "encoder": digest}
    return replace(table, images=images, hashes=hashes, looks=None, facts=(), masks=None)


def _repeated(table: ImageTable, views: int) -> ImageTable:
    """All rows once for each version, whose number their ids name."""
    names = [f"{item} view {view}" for view in range(views) for item in table.ids.tolist()]
    labels: Any = np.concatenate([table.labels] * views)
    return replace(
        table,
        ids=np.array(names),
        labels=labels,
        domains=np.tile(table.domains, views),
        groups=np.tile(table.groups, views),
        splits=np.tile(table.splits, views),
        metadata={},
    )


def _require_same(folder: Path, encoder: dict[str, JsonValue]) -> None:
    """Refuse a folder that holds latents of another encoder or of other data.

    Raises:
        InputError: Naming what differs.
    """
    if not (folder / FACTS).is_file():
        return
    there = read_facts(folder).encoder or {}
    if other := sorted(key for key in encoder if there.get(key) != encoder[key]):
        raise InputError(
            f"{folder} holds other latents: {', '.join(other)} differ. Name another folder, or "
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
