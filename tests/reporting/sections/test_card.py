"""The data card on a page: every entry as it was filled, without ids; or how to add one."""

import pytest

from medldr.reporting import write_report

CARD = {
    "source": "Two hospitals; see MRN-77test00001.",
    "demographics": {"age": "30 to 90", "sex": ["F", "M"]},
    "my_entry": 3,
    "<i>odd</i>": True,
}


@pytest.fixture
def page(run_folder, read):
    def made(data):
        files = run_folder(run={"data": {"name": "own", **data}})
        return files, read(write_report(files))

    return made


def test_entries_are_shown_in_order_and_without_ids(page):
    files, found = page({"card": CARD})
    text = found.text[found.text.index("Data card SourceTwo") :]
    assert text.startswith(
        "Data card SourceTwo hospitals; see [hidden id] Demographicsage: 30 to 90; "
        "sex: F, M My entry3 <i>odd</i>yes"
    )
    assert "MRN-" not in files.report.read_text() + files.checklist.read_text()
    assert "<i>odd" not in files.report.read_text()
    assert found.text.count("Two hospitals") == 1  # it is not repeated under provenance
    assert "Two hospitals; see [hidden id]" in files.checklist.read_text()


@pytest.mark.parametrize("data", [{}, {"card": None}])
def test_without_a_card_the_page_says_how_to_add_one(page, data):
    _, found = page(data)
    assert (
        "This run has no data card. To add one, fill the output of `medldr data card`" in found.text
    )
