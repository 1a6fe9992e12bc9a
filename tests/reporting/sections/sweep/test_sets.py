"""What is behind columns: data, network, protocol, sizes; and their domains."""

from dataclasses import replace

from medldr.evaluation.comparison.comparison import Gap
from medldr.evaluation.intervals.estimate import Estimate
from medldr.reporting.sections.comparison.tables import gap_table


def test_domains_end_with_the_controls_as_the_main_tables_do(whole):
    result = next(c.comparison for c in whole.results.columns if c.comparison is not None)
    names = result.names
    last = names[1]
    ordered = result.controls_last([last])
    assert ordered.names == [*(name for name in names if name != last), last]
    assert [method.control for method in ordered.methods][-1]
    assert result.names == names
    gaps = tuple(Gap("accuracy", name, "id_val", Estimate(0.1)) for name in names)
    table = gap_table(replace(ordered, gaps=gaps))
    assert table.rows[-1].heading == last
    assert (table.rows[-1].tags[-1], table.rows[-1].apart) == ("control", True)
