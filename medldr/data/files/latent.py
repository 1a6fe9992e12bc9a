"""Latents in the files that other programs write: `.npy`, `.npz`, `.h5`, `.pt`.

Source:
    TRIDENT and CLAM keep the latents of a slide's patches as ``features`` ``(n, D)`` or
    ``(1, n, D)`` beside their ``coords``, in HDF5, or as a tensor of that shape. Nothing is
    unpickled but tensors.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medldr.errors import InputError, MissingExtraError, did_you_mean, some
from medldr.folders.files import reading

NAME: Final = "features"
"""What the array is called where a file holds several."""
ATTENTION: Final = "attention"
"""The `data.bag` of items that stay bags, which the network pools by weights that it learns."""
COORDS: Final = "coords"
"""Name of the array with the positions of patches, which are no latents."""
HDF5: Final = (".h5", ".hdf5")
TORCH: Final = (".pt", ".pth")
ENDINGS: Final = (".npy", ".npz", *HDF5, *TORCH)


def read_array(path: Path, member: str = "") -> NDArray[np.float32]:
    """All latents of a file.

    Args:
        path: The file; its ending says what it is.
        member: Which array of it; empty: its only one, or ``features``.

    Returns:
        ``(D,)``, ``(n, D)`` or ``(1, n, D)`` float32; narrower floats are widened.

    Raises:
        InputError: If it cannot be read, holds no such array, or no numbers; names the file.
    """
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise InputError(
            f"{path} is not read as latents, which are in {', '.join(ENDINGS)}. Images become "
            "latents by `medldr features`"
        )
    with reading(path, "a readable file of latents"):
        if ending == ".npy":
            values: Any = np.load(path, allow_pickle=False)
        elif ending == ".npz":
            with np.load(path, allow_pickle=False) as archive:
                values = archive[_member(path, archive.files, member)]
        elif ending in HDF5:
            values = _hdf5(path, member)
        else:
            values = _tensor(path, member)
        array = np.asarray(values)
        if array.dtype.kind not in "fiu":
            raise InputError(f"{path} holds {array.dtype} and no numbers")
        return array.astype(np.float32)


def latents_of(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """All latents of what a file holds, checked.

    Args:
        values: ``(D,)``, or a bag ``(n, D)`` or ``(1, n, D)``.

    Returns:
        ``(n, D)`` float32.

    Raises:
        InputError: If there are none, or not all of them are numbers.
    """
    array = values[0] if values.ndim == 3 and len(values) == 1 else np.atleast_2d(values)
    if array.ndim != 2 or not array.size:
        what = "no latent" if array.ndim == 2 else "no latents as rows of numbers"
        raise InputError(f"it holds {what}: its shape is {values.shape}")
    if not np.isfinite(array).all():
        raise InputError("it holds NaN or infinite numbers")
    return np.ascontiguousarray(array, dtype=np.float32)


def one_latent(latents: NDArray[np.float32], bag: str) -> NDArray[np.float32]:
    """One latent of a bag.

    Args:
        latents: ``(n, D)``.
        bag: What several become: their ``mean`` or ``max``; ``refuse``: they are a fault.

    Returns:
        ``(D,)`` float32.

    Raises:
        InputError: If they are several and `bag` says nothing.
    """
    if len(latents) > 1 and bag == "refuse":
        raise InputError(
            f"it holds {len(latents)} latents: say in data.bag what they become, such as mean"
        )
    one: NDArray[np.float32] = latents.max(0) if bag == "max" else latents.mean(0)
    return one


def _hdf5(path: Path, member: str) -> Any:
    try:
        import h5py
    except ImportError as error:
        raise MissingExtraError("h5py", "latents", f"reading {path.name}") from error
    with h5py.File(path, "r") as file:
        arrays = [name for name, item in file.items() if isinstance(item, h5py.Dataset)]
        return file[_member(path, arrays, member)][()]


def _tensor(path: Path, member: str) -> Any:
    import pickle

    import torch

    try:
        stored = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise InputError(
            f"{path} is refused: it contains more than tensors, and loading it could execute code"
        ) from error
    if isinstance(stored, dict):
        stored = stored[_member(path, list(map(str, stored)), member)]
    if not isinstance(stored, torch.Tensor):
        raise InputError(f"{path} holds a {type(stored).__name__} and no tensor")
    return stored.detach().float().numpy()


def _member(path: Path, names: list[str], member: str) -> str:
    """The array that is meant."""
    wanted = member or (names[0] if len(names) == 1 and names != [COORDS] else NAME)
    if wanted not in names:
        raise InputError(
            f"{path} has no array {wanted!r}.{did_you_mean(wanted, names)} It has "
            f"{some(names) if names else 'none'}. Name it after a #, as in {path.name}#latents"
        )
    return wanted
