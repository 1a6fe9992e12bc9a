"""Trained networks as files that run without medldr: ONNX, torch.export, MONAI bundle."""

from medldr.export.card import Card, Kind
from medldr.export.write import Exported, export

__all__ = ["Card", "Exported", "Kind", "export"]
