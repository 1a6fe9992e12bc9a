"""Trained networks as files that run without medldr: ONNX, torch.export, MONAI bundle."""

from medldr.exporting.agreement import Reference
from medldr.exporting.card import Card, Kind
from medldr.exporting.joined import Joined, joined_record
from medldr.exporting.write import Exported, export

__all__ = ["Card", "Exported", "Joined", "Kind", "Reference", "export", "joined_record"]
