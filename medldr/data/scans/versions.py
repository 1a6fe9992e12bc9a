"""Versions of the packages on which the values of a scan, and its image, depend.

Source:
    Our choice: what was read or made with others is never taken for what these would give. A
    decoder that is installed later gives a picture where there was a reason to refuse it.
"""

from __future__ import annotations

from typing import Final

from medldr.folders.provenance import installed_version

_READERS: Final = (
    *("numpy", "Pillow", "nibabel", "pydicom"),
    *("pylibjpeg", "pylibjpeg-libjpeg", "pylibjpeg-openjpeg", "pylibjpeg-rle"),
    *("python-gdcm", "pyjpegls"),  # pydicom takes these, too
)
_MAKERS: Final = ("torch", "monai")


def readers() -> str:
    """What decodes files here."""
    return _told(_READERS)


def makers() -> str:
    """What decodes files and makes images of them here."""
    return _told((*_READERS, *_MAKERS))


def _told(packages: tuple[str, ...]) -> str:
    return ", ".join(f"{name} {installed_version(name)}" for name in packages)
