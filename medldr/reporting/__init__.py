"""Pages and tables for people, made from run folders.

What can go wrong while a page is made never costs a result: a figure that cannot be drawn becomes
a sentence on the page, and `write_report_or_warn` turns anything else into a `ReportWarning`.
"""

from medldr.reporting.pages.comparison import DEMONSTRATION, compare_runs, write_comparison
from medldr.reporting.pages.run import ReportWarning, write_report, write_report_or_warn
from medldr.reporting.pages.sweep_report import SweepReport, report_folder, write_sweep_report
from medldr.reporting.published.augmentation import augmentation_id
from medldr.reporting.writers.sweep_terminal import print_sweep
from medldr.reporting.writers.terminal import comparison_table, print_run, run_table

__all__ = [
    "DEMONSTRATION",
    "ReportWarning",
    "SweepReport",
    "augmentation_id",
    "compare_runs",
    "comparison_table",
    "print_run",
    "print_sweep",
    "report_folder",
    "run_table",
    "write_comparison",
    "write_report",
    "write_report_or_warn",
    "write_sweep_report",
]
