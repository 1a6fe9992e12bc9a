"""From a table of images to batches: splits, samplers, loaders, checks, downloads."""

from medldr.data.build import Data, build_data
from medldr.data.checks.table_checks import (
    check_table,
    count_rows,
    list_bad_files,
    stats,
    validate_table,
)
from medldr.data.load import load_table
from medldr.data.loading.loaders import EvalLoader, TrainLoader

__all__ = [
    "Data",
    "EvalLoader",
    "TrainLoader",
    "build_data",
    "check_table",
    "count_rows",
    "list_bad_files",
    "load_table",
    "stats",
    "validate_table",
]
