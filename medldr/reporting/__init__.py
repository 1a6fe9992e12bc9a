"""Pages and tables for people, made from run folders.

An error while a page is made never costs a result: a figure that cannot be drawn is replaced by a
sentence on the page, and `write_report_or_warn` turns anything else into a `ReportWarning`.
"""
# mypy: implicit-reexport
# ruff: noqa: F401

from __future__ import annotations

from typing import TYPE_CHECKING

from medldr.lazy import lazily

if TYPE_CHECKING:
    from medldr.reporting.pages.comparison import DEMONSTRATION
    from medldr.reporting.reports import (
        ReportWarning,
        SweepReport,
        compare_runs,
        print_run,
        print_sweep,
        printed_tables,
        report_folder,
        write_comparison,
        write_report,
        write_report_or_warn,
        write_sweep_report,
    )

__getattr__ = lazily(
    __name__,
    {
        "pages.comparison": "DEMONSTRATION",
        "reports": "ReportWarning SweepReport compare_runs print_run print_sweep printed_tables "
        "report_folder write_comparison write_report write_report_or_warn write_sweep_report",
    },
)
