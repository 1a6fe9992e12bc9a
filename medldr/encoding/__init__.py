"""Latents of images by an encoder, stored for many runs to train on."""

from medldr.encoding.encode import Encoded, features

__all__ = ["Encoded", "features"]
