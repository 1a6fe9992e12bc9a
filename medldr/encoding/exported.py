"""An encoder in an ONNX file, by ONNX Runtime on the processor, in float32.

It sees what the configuration's pixel rule makes of an image. Its latents are the output called
``latent`` or, without one, the first.

Source:
    Our choice: ONNX alone. The files of torch.export (`.pt2`) are unpickled when they are read,
    which may execute whatever is in them.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from pydantic import JsonValue
from torch import Tensor

from medldr import offline
from medldr.errors import InputError
from medldr.exporting.onnx_file import METADATA, open_session, require_onnx
from medldr.folders.files import checksum, reading
from medldr.types import DataSpec

LATENT: Final = "latent"


class ExportedEncoder:
    """Images in, latents out.

    Args:
        path: The file; those beside it that it names hold further weights.

    Attributes:
        files: The file, and those with further weights.
        dim: Numbers of each latent; known once `fit` has looked.
        output: The output that is taken.
        sha256: Of the files.

    Raises:
        InputError: If it is no ONNX file of one input, a whole classifier that medldr wrote, or
            keeps weights in another folder.
        MissingExtraError: If ONNX Runtime is missing.
    """

    def __init__(self, path: Path) -> None:
        if path.suffix.lower() != ".onnx":
            raise InputError(
                f"--encoder: {path} is no .onnx file. Programs of torch.export are not read, as "
                "they may execute code: export the network as ONNX; one of timm or medldr is "
                "named in the configuration"
            )
        require_onnx("an encoder in an ONNX file")
        with reading(path, "a readable ONNX file"):
            try:
                session = open_session(path)
            except Exception as error:  # ONNX Runtime raises of every kind
                raise InputError(f"--encoder: {path} cannot be run: {_first(error)}") from error
            self.files = [path, *_further_weights(path)]
            sums = [checksum(file) for file in self.files]
            self.sha256 = hashlib.sha256("".join(sums).encode()).hexdigest()
        if METADATA in session.get_modelmeta().custom_metadata_map:
            raise InputError(
                f"--encoder: {path} was written by `medldr export`: it gives probabilities and no "
                "latents. Give `medldr features` the folder of its run in place of CONFIG"
            )
        inputs = session.get_inputs()
        if len(inputs) != 1:
            takes = ", ".join(one.name for one in inputs)
            raise InputError(f"--encoder: {path} takes {len(inputs)} inputs ({takes}), not one")
        (self._input,) = inputs
        names = [one.name for one in session.get_outputs()]
        self.output = LATENT if LATENT in names else names[0]
        self._session, self.dim = session, 0

    @property
    def named(self) -> dict[str, JsonValue]:
        """What it is called in records."""
        return {"name": self.files[0].name, "output": self.output}

    def fit(self, spec: DataSpec) -> None:
        """Check that it takes the images of a data set and gives one latent of each.

        Source:
            Our choice: the latents of two images of noise in one batch, which must be those of each
            by itself. Batch normalisation that was exported in training mode fails this.

        Raises:
            InputError: If not; names both shapes.
        """
        path, wanted = self.files[0], (spec.views * spec.channels, *spec.spatial_size)
        takes = self._input.shape[1:]
        fits = len(takes) == len(wanted) and all(
            not isinstance(one, int) or one == other
            for one, other in zip(takes, wanted, strict=True)
        )
        if self._input.type != "tensor(float)":
            raise InputError(
                f"--encoder: {path} takes {self._input.type}, and the pixel rule makes "
                "tensor(float). Export the encoder in float32, without its preprocessing"
            )
        if not fits:
            raise InputError(
                f"--encoder: {path} takes images of {takes}, and the pixel rule makes those of "
                f"{list(wanted)}. Change transform, such as transform.size"
            )
        pair = torch.rand(2, *wanted, generator=torch.Generator().manual_seed(0))
        alone = torch.cat([self.features(one[None]) for one in pair])
        self.dim = alone.shape[1]
        near = 1e-3 * float(alone.std().nan_to_num())
        if not torch.allclose(self.features(pair), alone, rtol=0, atol=near, equal_nan=True):
            raise InputError(
                f"--encoder: {path} gives other latents of an image where another is in its batch. "
                "Export the encoder in evaluation mode (model.eval() in PyTorch)"
            )

    def features(self, image: Tensor) -> Tensor:
        """``(B, D)`` float32 latents of ``(B, C, *S)``, on the processor.

        A file that was written for batches of one size is given its size at a time.

        Raises:
            InputError: If ONNX Runtime fails, or gives something other than a latent of each.
        """
        given = image.float().cpu().contiguous().numpy()
        fixed = self._input.shape[0]
        size = fixed if isinstance(fixed, int) else max(1, len(given))
        found: list[Any] = []
        for start in range(0, len(given), size):
            part = given[start : start + size]
            whole = part
            if isinstance(fixed, int) and len(part) < size:
                whole = np.concatenate([part, np.repeat(part[-1:], size - len(part), axis=0)])
            try:
                (made,) = self._session.run([self.output], {self._input.name: whole})
            except Exception as error:  # as above
                raise InputError(
                    f"--encoder: {self.files[0]} fails on images of {list(given.shape[1:])}: "
                    f"{_first(error)}"
                ) from error
            if np.ndim(made) != 2 or len(made) != len(whole):
                raise InputError(
                    f"--encoder: the output {self.output!r} of {self.files[0]} has the shape "
                    f"{list(np.shape(made))} for {len(whole)} images, where latents have [batch, "
                    "numbers]. Export the encoder with its pooling and with a batch of any size "
                    f"or of one, or call its latents {LATENT!r}"
                )
            found.append(np.asarray(made, np.float32)[: len(part)])
        return torch.from_numpy(np.concatenate(found))


def _further_weights(path: Path) -> list[Path]:
    """Files that a file of ONNX leaves weights to.

    Raises:
        InputError: If one is elsewhere than beside it, from where it could not be kept.
    """
    graph = offline.load("onnx").load(path, load_external_data=False).graph
    names = {
        entry.value
        for tensor in graph.initializer
        for entry in tensor.external_data
        if entry.key == "location"
    }
    if elsewhere := sorted(name for name in names if Path(name).name != name):
        raise InputError(
            f"--encoder: {path} keeps weights in {elsewhere[0]}. Write them into the file itself "
            "or beside it, with onnx.save_model"
        )
    return [path.parent / name for name in sorted(names)]


def _first(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
