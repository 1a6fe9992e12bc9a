"""Start a network from a weights file, also across 2D and 3D and across 1 and 3 channels."""

from __future__ import annotations

from collections.abc import Mapping, Set
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from medldr.errors import InputError, did_you_mean
from medldr.folders.files import load_tensors
from medldr.models._acs import inflate
from medldr.models._foreign import body, read_weights, told
from medldr.models.base import ADDED, FeatureModel


def load_weights(model: FeatureModel, path: str | Path) -> bool:
    """Load a safetensors file into a network of the same kind.

    A 2D kernel goes into a 3D layer as in `medldr.models._acs.convert`. Between one and three
    input channels the first kernel is summed, or repeated and divided by three: a grey image
    gives what its three equal channels gave. The head is loaded only if all its shapes agree,
    and is not changed otherwise; so is an adapter.

    Args:
        model: Receives the weights, in place.
        path: safetensors file with our names, or those of the library the network is from.

    Returns:
        Whether the head was loaded too.

    Raises:
        InputError: If the file cannot be read, or any other name or shape disagrees.

    Source:
        Inflation: I3D. Channels: our choice, the one that is exact for grey images.
    """
    return put_weights(model, load_tensors(path), f"model.weights: {path}")


def load_published(model: FeatureModel, path: Path) -> None:
    """Load a state dict of any origin, such as torchvision's; the head is not changed.

    The first kernel reads colours. One channel gets their sum, which is exact for grey images;
    another number of channels repeats them in turn, times three over that number.

    Args:
        model: Receives the weights, in place.
        path: As of `medldr.models._foreign.read_weights`.

    Raises:
        InputError: If the file cannot be read, or a name or shape disagrees.

    Source:
        DomainBed repeats the kernels in turn, without rescaling, so responses grow with the
        number of channels. Rescaling keeps their size; our choice.
    """
    ours = {name for name in model.state_dict() if name.partition(".")[0] not in ADDED}
    tensors, prefix = body(read_weights(path), lambda name: model.our_key(name) in ours)
    put_weights(model, tensors, f"model.pretrained: {path}", colours=True)
    model.notes += told(prefix, path)


def put_weights(
    model: FeatureModel, tensors: Mapping[str, Tensor], source: str, *, colours: bool = False
) -> bool:
    """Put named tensors into a network of the same kind, as `load_weights` does.

    Args:
        model: Receives the weights, in place.
        tensors: By our names, or those of the library the network is from.
        source: Key and file, which begin every message.
        colours: The first kernel reads colours and fits any number of channels: more
            repeat them in turn, and the kernel is rescaled to keep the size of responses.

    Returns:
        Whether the head was put in too.

    Raises:
        InputError: If any other name or shape disagrees.
    """
    given = {model.our_key(key): value for key, value in tensors.items()}
    wanted = model.state_dict()
    parts = {p: {k for k in (*given, *wanted) if k.partition(".")[0] == p} for p in ADDED}
    fit = {
        part
        for part, keys in parts.items()
        if all(k in given and k in wanted and given[k].shape == wanted[k].shape for k in keys)
    }
    added = set().union(*parts.values())
    body = wanted.keys() - added
    _check_names(given.keys() - added, body, source)
    chosen = {key: given[key] for part in fit for key in parts[part]}
    for key in body & given.keys():
        first = key == model.stem_weight
        chosen[key] = _fit(key, given[key], wanted[key], source, first=first, colours=colours)
    model.load_state_dict(chosen, strict=False)
    return "head" in fit


def _check_names(given: Set[str], wanted: Set[str], source: str) -> None:
    # Files older than batch norm's step counter lack it, and nothing here depends on it.
    missing = sorted(k for k in wanted - given if not k.endswith("num_batches_tracked"))
    if missing:
        raise InputError(
            f"{source} has no key {missing[0]!r}"
            f"{_and_more(missing)}, which the network needs.{did_you_mean(missing[0], given)} "
            f"{_KIND}"
        )
    unknown = sorted(given - wanted)
    if unknown:
        raise InputError(
            f"{source} holds the key {unknown[0]!r}{_and_more(unknown)}, "
            f"which the network does not have.{did_you_mean(unknown[0], wanted)} "
            f"{_KIND}"
        )


_KIND: Final = (
    "It must come from the same kind of network (model.name); a file of another origin is named by "
    "model.pretrained"
)


def _and_more(keys: list[str]) -> str:
    return f" (and {len(keys) - 1} more)" if len(keys) > 1 else ""


def _fit(
    key: str, given: Tensor, wanted: Tensor, source: str, *, first: bool, colours: bool
) -> Tensor:
    value = given
    if value.ndim == 4 and wanted.ndim == 5:
        value = inflate(value, wanted.shape[2])
    if first and value.ndim == wanted.ndim:
        value = _rechannel(value, wanted.shape[1], colours)
    if value.shape != wanted.shape:
        cure = "Check model.stem, model.width and model.conv"
        if given.ndim > wanted.ndim:
            cure = "A 3D kernel does not fit a 2D one; set model.conv: 3d for 3D data"
        raise InputError(
            f"{source} holds {key!r} with shape {tuple(given.shape)}, "
            f"but the network needs {tuple(wanted.shape)}. {cure}"
        )
    return value


def _rechannel(kernel: Tensor, channels: int, colours: bool) -> Tensor:
    """A first kernel for another number of input channels, where it can be made."""
    given = kernel.shape[1]
    if channels == 1:
        return kernel.sum(1, keepdim=True)
    if given == 1:
        return torch.cat([kernel / channels] * channels, dim=1)
    if colours and given != channels:
        return kernel[:, [n % given for n in range(channels)]] * (given / channels)
    return kernel
