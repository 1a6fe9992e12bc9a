"""Plug-ins: pixel rules (presets) and lists of MONAI transforms.

`build_pipeline` builds the path from stored pixels to the network's input, shared by training,
evaluation and prediction.
"""

from medldr.transforms._pipeline import Pipeline as Pipeline
from medldr.transforms._pipeline import build_pipeline as build_pipeline
from medldr.transforms._pipeline import build_pixel_rule as build_pixel_rule
from medldr.transforms._pipeline import recorded_pipeline as recorded_pipeline
from medldr.transforms.base import ImageShape as ImageShape
from medldr.transforms.base import PixelRule as PixelRule
from medldr.transforms.base import TransformConfig as TransformConfig
