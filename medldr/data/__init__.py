"""From a table of images to batches: splits, samplers, loaders, checks, downloads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from medldr.lazy import lazily

if TYPE_CHECKING:
    from medldr.data.build import Data as Data
    from medldr.data.build import build_data as build_data
    from medldr.data.checks.table_checks import check_table as check_table
    from medldr.data.checks.table_checks import count_rows as count_rows
    from medldr.data.checks.table_checks import list_bad_files as list_bad_files
    from medldr.data.checks.table_checks import stats as stats
    from medldr.data.checks.table_checks import validate_table as validate_table
    from medldr.data.load import load_table as load_table
    from medldr.data.loading.loaders import EvalLoader as EvalLoader
    from medldr.data.loading.loaders import TrainLoader as TrainLoader

__getattr__ = lazily(
    __name__,
    {
        "build": "Data build_data",
        "checks.table_checks": "check_table count_rows list_bad_files stats validate_table",
        "load": "load_table",
        "loading.loaders": "EvalLoader TrainLoader",
    },
)
