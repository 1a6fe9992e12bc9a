"""Runs that the same cause stopped are listed together: on a page without names, here with them."""

from medldr.folders.sweep_record import Layout, Member
from medldr.reporting.read.study import Entry, Study
from medldr.reporting.sections.sweep.missing_runs import missing_table
from medldr.reporting.writers.cells import printed


def study(*kinds):
    """A sweep whose runs have these states, hidden and true errors."""
    entries = tuple(
        Entry(Member(f"erm-00000000-s{n}", "erm", n, "ERM", "OCT"), state, error, said)
        for n, (state, error, said) in enumerate(kinds)
    )
    return Study("x", Layout("X"), entries, {}, {})


def lost(number):
    return [("failed", "E: [hidden name] is gone. Buy it.", "E: a.nii is gone. Buy it.")] * number


def rows(table):
    return [(row.heading, *(printed(cell).text for cell in row.cells)) for row in table.rows]


def test_equal_errors_are_one_row_with_at_most_three_names():
    table = missing_table(study(*lost(12), ("not run", "", ""), ("failed", "other", "other")))
    told = "E: [hidden name] is gone. Buy it."
    few = "erm-00000000-s0, erm-00000000-s1, erm-00000000-s2"
    assert rows(table) == [
        ("12 runs", "failed", told, f"{few} and 9 more"),
        ("1 run", "not run", "–", "erm-00000000-s12"),
        ("1 run", "failed", "other", "erm-00000000-s13"),
    ]
    assert rows(missing_table(study(*lost(3)))) == [("3 runs", "failed", told, few)]
    assert "hidden here" in table.notes[0]
    assert missing_table(study(("not run", "", ""))).notes == []
    assert missing_table(study()) is None


def test_the_table_of_a_sweep_names_nobody(whole):
    table = missing_table(whole.results.study)
    assert sorted((row.heading, row.cells[0].content) for row in table.rows) == [
        ("1 run", "failed"), ("3 runs", "not run"),
    ]  # fmt: skip
    (why,) = [row.cells[1].content for row in table.rows if row.cells[0].content == "failed"]
    assert why == "InputError: [hidden name]: item [hidden id] of batch_size 0"
