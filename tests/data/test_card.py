"""A data card: filled entries as plain values, and one message for what cannot be one."""

import pytest

from medldr.config.yaml import parse_document
from medldr.data.card import card_template, read_card
from medldr.errors import InputError


@pytest.fixture
def write(tmp_path):
    def card(text):
        path = tmp_path / "card.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return card


def test_filled_entries_are_kept_in_order_and_blank_ones_left_out(write):
    path = write("mine: [a, 2]\nsource: Ärzte\ndates:\nethics: ' '\nage: {mean: 50.5, sd: }\n")
    found = read_card(path)
    assert found == {"mine": ["a", 2], "source": "Ärzte", "age": {"mean": 50.5, "sd": None}}
    assert list(found) == ["mine", "source", "age"]
    assert type(found["mine"][1]) is int


def test_the_template_is_a_card_with_nothing_filled_in(write):
    entries = parse_document(card_template(), "template").values
    assert set(entries.values()) == {None}
    assert {"source", "dates", "inclusion", "exclusion", "reference_standard", "demographics",
            "ethics", "contact"} <= set(entries)  # fmt: skip
    with pytest.raises(InputError, match=r"data\.card: .*fills in nothing"):
        read_card(write(card_template()))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- a list\n", "keys and values"),
        ("source: [\n", "keys and values"),
        ("source: {a: {b: c}}\n", "an entry nests too deeply"),
        ("source: [[1], 2]\n", "an entry nests too deeply"),
        ("source: !!python/name:os.system x\n", "keys and values"),
    ],
)
def test_what_is_no_card_is_refused_with_the_file(write, text, said):
    path = write(text)
    with pytest.raises(InputError, match=rf"data\.card: .*{said}") as refused:
        read_card(path)
    assert str(path) in str(refused.value)


def test_an_absent_card_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"data\.card: .*absent\.yaml cannot be read"):
        read_card(tmp_path / "absent.yaml")


def test_the_command_prints_the_template(medldr):
    ended = medldr("data", "card")
    assert (ended.code, ended.out) == (0, card_template())
