"""Lists of MONAI transforms from a configuration: by name, checked before anything runs.

A configuration is data. So only transforms that turn one image array into another may be named;
nothing that reads or writes files, takes a function or calls outside packages. MONAI is imported
only when a list is not empty, because that takes seconds.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from medldr import offline
from medldr.errors import InputError, did_you_mean
from medldr.transforms.base import Entry, ImageShape

_MODULES = ("spatial", "intensity", "croppad", "smooth_field")
_UTILITIES = {
    *("AddCoordinateChannels", "CastToType", "EnsureType", "Identity", "ImageFilter"),
    *("RandImageFilter", "RemoveRepeatedChannel", "RepeatChannel", "SqueezeDim", "Transpose"),
}
_NOT_ONE_IMAGE = {  # boxes, masks, several samples, or a second array
    *("BoundingRect", "ComputeHoVerMaps", "ConvertBoxToPoints", "ConvertPointsToBoxes"),
    *("GridPatch", "GridSplit", "MaskIntensity", "RandCropByLabelClasses", "RandGridPatch"),
    *("RandCropByPosNegLabel", "RandSpatialCropSamples", "RandWeightedCrop"),
    *("ResampleToMatch", "UltrasoundConfidenceMapTransform"),
}
_PAD_ARGUMENTS = frozenset({"constant_values", "value", "stat_length", "end_values"})


class Chain:
    """MONAI array transforms one after another, for one sample at a time.

    Attributes:
        key: Position of the list in the configuration, for messages.
        random: Whether any of them is random.
    """

    def __init__(self, key: str, transforms: Sequence[Any]) -> None:
        library = _library()
        self.key = key
        self.random = any(isinstance(t, library.Randomizable) for t in transforms)
        self._names = [type(t).__name__ for t in transforms]
        self.compose = library.Compose(list(transforms))

    def __call__(self, image: Tensor, entropy: Sequence[int] = ()) -> Tensor:
        """Apply the chain to ``(C, [D,] H, W)`` float32.

        Args:
            image: One sample.
            entropy: What the sample's randomness is made of, such as (seed, epoch, index). The
                same numbers give the same result in any process.
        """
        if self.random:
            state = np.random.SeedSequence(entropy).generate_state(1)
            self.compose.set_random_state(seed=int(state[0]))
        # Some of MONAI's steps write into the image they are given.
        return _plain(self.compose(image.clone()))

    def output_shape(self, shape: ImageShape) -> ImageShape:
        """Shape of what comes out, found by running every step on a made-up image.

        Raises:
            InputError: If a step fails on such an image, or does not give one image.
        """
        ramp = torch.linspace(0, 1, int(np.prod([shape.channels, *shape.spatial_size])))
        image: Any = ramp.view(shape.channels, *shape.spatial_size)
        for number, (name, transform) in enumerate(
            zip(self._names, self.compose.transforms, strict=True)
        ):
            before = ImageShape(image.shape[0], tuple(image.shape[1:]))
            transform = copy.deepcopy(transform)
            if hasattr(transform, "prob") and isinstance(transform.prob, float):
                transform.prob = 1.0  # a step that is rarely drawn must not fail late
            try:
                image = transform(image)
            except Exception as error:  # whatever MONAI raises, the list is at fault
                raise InputError(
                    f"{self.key}[{number}]: {name} fails on an image of {before}: {error}"
                ) from error
            if not isinstance(image, (torch.Tensor, np.ndarray)) or image.ndim != 1 + len(
                shape.spatial_size
            ):
                found = getattr(image, "shape", type(image).__name__)
                raise InputError(
                    f"{self.key}[{number}]: {name} gives {found} for an image of {before}; each "
                    "step must give one image (channels first) with as many dimensions."
                )
        return ImageShape(image.shape[0], tuple(image.shape[1:]))


def _plain(image: Any) -> Tensor:
    """A plain float32 tensor of whatever array MONAI returns."""
    tensor = torch.as_tensor(image)
    if hasattr(tensor, "as_tensor"):  # MONAI's own subclass, which carries a history along
        tensor = tensor.as_tensor()
    return tensor.to(torch.float32)


def build_chain(entries: Sequence[Entry], key: str, *, random_allowed: bool) -> Chain | None:
    """The chain that a list of a configuration describes; None for an empty list.

    Args:
        entries: Bare names, or mappings of one name to its arguments.
        key: Position of the list, such as ``transform.train``.
        random_allowed: Whether random transforms may be named.

    Raises:
        InputError: If a name or an argument is unknown (with the nearest) or refused.
    """
    if not entries:
        return None
    return Chain(
        key, [_one(entry, f"{key}[{n}]", random_allowed) for n, entry in enumerate(entries)]
    )


def _one(entry: Entry, key: str, random_allowed: bool) -> Any:
    if isinstance(entry, str):
        name, arguments = entry, {}
    elif len(entry) == 1:
        name, given = next(iter(entry.items()))
        arguments = dict(given or {})
    else:
        raise InputError(
            f"{key}: each line names one transform, but this one names {', '.join(entry)}. "
            "Give each its own line that starts with '- '."
        )
    transform = _find(name, key)
    if not random_allowed and issubclass(transform, _library().Randomizable):
        raise InputError(
            f"{key}: {name} is random, but evaluation must not be. Move it to transform.train."
        )
    _check_arguments(transform, name, arguments, key)
    try:
        return transform(**arguments)
    except Exception as error:  # whatever MONAI raises, the arguments are at fault
        raise InputError(f"{key}: {name} rejects its arguments {arguments}: {error}") from error


def _library() -> Any:
    return offline.load("monai.transforms")


def known_transforms() -> dict[str, type]:
    """MONAI's transforms that turn one image array into another, by name."""
    library = _library()
    found = {}
    for name, thing in vars(library).items():
        # MONAI also offers each class under names ending in d, D and Dict, for dictionaries.
        if not inspect.isclass(thing) or thing.__name__ != name:
            continue
        package, _, kind = thing.__module__.rpartition(".")
        module = package.rpartition(".")[2]
        if kind != "array" or not issubclass(thing, library.Transform):
            continue
        if name in _UTILITIES or (module in _MODULES and name not in _NOT_ONE_IMAGE):
            found[name] = thing
    return found


def _find(name: str, key: str) -> type:
    known = known_transforms()
    if name not in known:
        raise InputError(
            f"{key}: {name!r} is none of MONAI's array transforms of one image, which are all that "
            f"a configuration may name.{did_you_mean(name, known)} See the list of array "
            "transforms in MONAI's documentation"
        )
    return known[name]


def _check_arguments(transform: type, name: str, arguments: dict[str, Any], key: str) -> None:
    """Refuse an argument that the transform lacks, or that is a function."""
    parameters = dict(inspect.signature(transform).parameters)
    if transform.__init__ is object.__init__:  # type: ignore[misc]
        parameters = {}
    variadic = {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}
    settable = [
        argument
        for argument, parameter in parameters.items()
        if parameter.kind not in variadic and "Callable" not in str(parameter.annotation)
    ]
    takes_pad = any(p.kind == inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    allowed = {*settable, *(_PAD_ARGUMENTS if takes_pad else ())}
    for argument in arguments:
        if argument not in allowed:
            raise InputError(
                f"{key}: {name} has no argument {argument!r} that a configuration may set."
                f"{did_you_mean(str(argument), settable)} {name} takes: "
                f"{', '.join(settable) or 'no arguments'}"
            )
