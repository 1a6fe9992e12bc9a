"""Plug-ins: pixel rules (presets) and lists of MONAI transforms.

`build_pipeline` builds the path from stored pixels to the network's input, shared by training,
evaluation and prediction.
"""

from medldr.transforms._pipeline import (
    Pipeline,
    build_pipeline,
    build_pixel_rule,
    recorded_pipeline,
)
from medldr.transforms.base import ImageShape, PixelRule, TransformConfig

__all__ = [
    "ImageShape",
    "Pipeline",
    "PixelRule",
    "TransformConfig",
    "build_pipeline",
    "build_pixel_rule",
    "recorded_pipeline",
]
