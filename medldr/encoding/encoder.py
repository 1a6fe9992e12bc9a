"""The encoder that made stored latents, kept beside them so that new images pass through it.

`medldr features` writes the folder ``encoder`` into that of the latents: weights without a head, or
the exported file; what the network is built from; and how a file becomes its input, each with its
checksum. A run on the latents records the sha256 of weights and pixel rule; only an encoder that
has both is used.

Source:
    Our choice. The run does not hold the encoder: a hundred runs on the same latents would hold it
    a hundred times.
"""

from __future__ import annotations

import functools
import hashlib
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError
from torch import Tensor

from medldr import plugins
from medldr.config import RunConfig
from medldr.data import Data
from medldr.data.reading.new_item import ItemReader
from medldr.encoding.exported import ExportedEncoder
from medldr.errors import InputError
from medldr.evaluation.inputs.describe_inputs import described
from medldr.folders.checksums import checksum_of_content
from medldr.folders.files import (
    RunFolder,
    load_tensors,
    save_tensors,
    storage_errors,
    whole_folder,
    write_json,
)
from medldr.folders.preprocessing_record import (
    Preprocessing,
    read_preprocessing,
    write_preprocessing,
)
from medldr.folders.records import read_content
from medldr.models import build_model
from medldr.models.base import FeatureModel
from medldr.run import trained_network
from medldr.transforms import recorded_pipeline
from medldr.transforms.base import memory_format
from medldr.types import DataSpec

if TYPE_CHECKING:
    from lightning_fabric import Fabric

FOLDER: Final = "encoder"
WEIGHTS: Final = "model.safetensors"
NETWORK: Final = "network.json"
RECORD: Final = "preprocessing.json"
CURE: Final = "Write it again with `medldr features`"
_PIXELS: Final = {"reading", "stored", "transform", "input"}


Network = FeatureModel | ExportedEncoder


class Encoder:
    """Stored images in, latents out.

    Args:
        model: The network, whose head is not used, or an exported file.
        record: From a file to the network's input.
        fabric: Gives precision and device.

    Attributes:
        model: On the device of `fabric`, in eval mode.
        record: As given.
        pipeline: From stored images to the network's input.
    """

    def __init__(self, model: Network, record: Preprocessing, fabric: Fabric) -> None:
        if isinstance(model, FeatureModel):
            model = model.to(fabric.device).to_fast_memory().eval()
        self.model = model
        self.record = record
        self.pipeline = recorded_pipeline(record)
        self._fabric = fabric

    @property
    def device(self) -> torch.device:
        """Where it works."""
        return self._fabric.device

    @functools.cached_property
    def reader(self) -> ItemReader:
        """From items to stored images."""
        stored = self.record.stored
        dtype = np.dtype(stored.dtype)
        return ItemReader(self.record.reading, stored.spatial_size, dtype, stored.channels)

    def latents(self, stored: Tensor) -> NDArray[np.float32]:
        """``(B, D)`` latents of stored images ``(B, C, *S)``, which pass as in evaluation."""
        with torch.inference_mode(), self._fabric.autocast():
            image = self.pipeline.evaluate(stored.to(self.device))
        return self.of_input(image)

    def of_input(self, image: Tensor) -> NDArray[np.float32]:
        """``(B, D)`` latents of what the pixel rule made."""
        layout = memory_format(image.ndim - 2)
        with torch.inference_mode(), self._fabric.autocast():
            image = image.to(self.device).contiguous(memory_format=layout)
            made: NDArray[np.float32] = self.model.features(image).float().cpu().numpy()
        return made


def identity(model: Network, record: Preprocessing) -> dict[str, str]:
    """What a run on latents knows their encoder by: sha256 of its weights and of its pixel rule.

    The head does not count, nor does in which version of medldr the rule was written.
    """
    pixels = checksum_of_content(record.model_dump(mode="json", include=_PIXELS))
    if isinstance(model, ExportedEncoder):
        return {"weights": model.sha256, "pixels": pixels}
    digest = hashlib.sha256()
    for name, value in sorted(_weights(model).items()):
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        digest.update(value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
    return {"weights": digest.hexdigest(), "pixels": pixels}


def record_of(config: RunConfig, data: Data) -> Preprocessing:
    """How the images of a configuration become the input of its network."""
    return Preprocessing(**described(config, data))


def write_encoder(
    folder: Path, model: Network, record: Preprocessing, config: RunConfig, spec: DataSpec
) -> None:
    """Write the folder ``encoder`` into one of latents, whole or not at all.

    Raises:
        StorageError: If it cannot be written.
    """
    network: dict[str, Any] = {"spec": asdict(spec)}
    with whole_folder(folder / FOLDER) as made, storage_errors(folder):
        if isinstance(model, ExportedEncoder):
            names = [file.name for file in model.files]
            network["file"] = names[0]
            for file in model.files:
                shutil.copyfile(file, made / file.name)
        else:
            names, section = [WEIGHTS], config.model.model_dump(mode="json")
            network["model"] = {**section, "weights": None, "pretrained": None}  # they are kept
            save_tensors(made / WEIGHTS, _weights(model))
        write_json(made / NETWORK, network)
        write_preprocessing(made / RECORD, record, [*names, NETWORK])


def find_encoder(given: Path | None, known: Path | None) -> Path | None:
    """The folder of an encoder.

    Args:
        given: One that a user named: a folder of latents, its folder ``encoder``, or a finished run
            whose network was the encoder.
        known: The folder of latents that a run was trained on; it need not be there any more.

    Returns:
        The folder with `RECORD`; None if none was named and none is known.

    Raises:
        InputError: If the named one is none.
    """
    if given is None:
        beside = None if known is None else known / FOLDER
        return beside if beside is not None and (beside / RECORD).is_file() else None
    for folder in (given / FOLDER, given):
        if (folder / RECORD).is_file():
            return folder
    raise InputError(
        f"--encoder: {given} holds no encoder. Name the folder of latents that `medldr features` "
        "wrote, or the run whose network made them"
    )


def load_encoder(folder: Path, recorded: Mapping[str, Any]) -> tuple[Network, Preprocessing]:
    """The encoder in a folder as it was saved, on the CPU, and how images become its input.

    Args:
        folder: As `find_encoder` gives it.
        recorded: What a run on its latents records of it.

    Raises:
        InputError: If it is damaged, or another encoder.
    """
    record = read_preprocessing(folder / RECORD, CURE)
    of_run = RunFolder(folder).run.is_file()
    model: Network = trained_network(folder)[2] if of_run else _network(folder)
    found = identity(model, record)
    said = {"weights": "its weights", "pixels": "how it reads images"}
    if other := [said[key] for key, value in found.items() if recorded.get(key) != value]:
        raise InputError(
            f"{folder} is not the encoder of the run's latents: {' and '.join(other)}, by sha256. "
            "Name the one that made them with --encoder"
        )
    return model, record


def _weights(model: FeatureModel) -> dict[str, Tensor]:
    return {k: v for k, v in model.state_dict().items() if not k.startswith("head.")}


def _network(folder: Path) -> Network:
    content = read_content(folder / NETWORK, CURE)
    try:
        spec = TypeAdapter(DataSpec).validate_python(content["spec"])
        if "file" in content:
            exported = ExportedEncoder(folder / Path(content["file"]).name)
            exported.fit(spec)
            return exported
        values = content["model"]
        section = plugins.load("models", values["name"]).Config.model_validate(values)
    except (KeyError, TypeError, ValidationError) as error:
        raise InputError(
            f"{folder / NETWORK} is of another version of medldr ({error}). {CURE}"
        ) from error
    model = build_model(section, spec, seed=0)
    weights = load_tensors(folder / WEIGHTS)
    head = {k: v for k, v in model.state_dict().items() if k.startswith("head.")}
    model.load_state_dict({**head, **weights})
    return model.eval()
