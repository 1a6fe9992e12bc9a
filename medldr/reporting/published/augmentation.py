"""Which augmentation a run had, under the names it is imported by; see `read.method`."""

from medldr.config.method import augmentation_id, augmentation_title

__all__ = ["augmentation_id", "augmentation_title"]
