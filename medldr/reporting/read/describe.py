"""Names that moved to `read.configuration` and `read.method`; gone once nothing imports them."""

from medldr.reporting.read.configuration import dataset_name, held_out, is_swad, section
from medldr.reporting.read.method import method_id, method_title

__all__ = ["dataset_name", "held_out", "is_swad", "method_id", "method_title", "section"]
