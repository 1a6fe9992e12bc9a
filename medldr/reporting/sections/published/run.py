"""One run beside published numbers: of the test split, or of the domain that it held out."""

from __future__ import annotations

from medldr.config.sections import held_out
from medldr.evaluation.estimate import Estimate
from medldr.metrics import metric_facts
from medldr.reporting.published.match import Ours, by_source
from medldr.reporting.published.numbers import METRICS
from medldr.reporting.read.run import RunFiles
from medldr.reporting.results.target_parts import target_value
from medldr.reporting.sections.published.cells import METRIC, TARGET, Place, add_rows, finished
from medldr.reporting.sections.published.comparison import OwnRow, ours_and_published
from medldr.reporting.table import Table


def run_published(files: RunFiles) -> Table | None:
    """A run's numbers on the test split beside the published ones.

    Returns:
        None where it has none there, or none were published.
    """
    test = None if files.evaluation is None else files.evaluation.splits.get("test")
    if test is None:
        return None
    numbers = {key: Estimate.of(number) for key, number in test.metrics.items() if key in METRICS}
    own = [OwnRow("This run", Ours.of(files), numbers)] if test.metrics else []
    return ours_and_published(own) or _held_out(files)


def _held_out(files: RunFiles) -> Table | None:
    """Accuracy on target_in with the published numbers of the run's method on that domain.

    Returns:
        None unless it held out one domain, of which somebody published a number of its method.
    """
    domains, ours = held_out(files.config), Ours.of(files)
    if len(domains) != 1:
        return None
    table = Table(
        f"Ours and published, {domains[0]} held out, on {TARGET}",
        ["Method", "Protocol", metric_facts(METRIC).heading],
        texts=(1,),
    )
    own = Estimate(target_value(files.evaluation, TARGET, METRIC))
    add_rows(table, "This run", [Place(ours, own)], by_source(ours.dataset, ours.method, domains))
    return finished(table)
