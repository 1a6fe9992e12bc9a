"""Pages and tables for people, made from run folders.

What can go wrong while a page is made never costs a result: a figure that cannot be drawn becomes
a sentence on the page, and `write_report_or_warn` turns anything else into a `ReportWarning`.
"""

from medldr.reporting.pages.comparison import DEMONSTRATION
from medldr.reporting.read.method import augmentation_id
from medldr.reporting.reports import (
    ReportWarning,
    compare_runs,
    print_run,
    write_comparison,
    write_report,
    write_report_or_warn,
)

__all__ = [
    "DEMONSTRATION",
    "ReportWarning",
    "augmentation_id",
    "compare_runs",
    "print_run",
    "write_comparison",
    "write_report",
    "write_report_or_warn",
]
