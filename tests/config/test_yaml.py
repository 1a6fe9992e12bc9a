"""YAML is read as YAML 1.2 means it, and nothing in a file is executed."""

import io
import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from medldr.config.yaml import parse_document, parse_value, plain, read_yaml
from medldr.config.yaml_text import write_yaml
from medldr.errors import InputError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001),
        ("5E-4", 0.0005),
        ("1.0e-8", 1e-8),
        ("-.5", -0.5),
        ("1.", 1.0),
        ("2e3", 2000.0),
        ("12", 12),
        ("0x1F", 31),
        ("0o17", 15),
        ("true", True),
        ("~", None),
        ("", None),
        (".inf", math.inf),
        # Text that YAML 1.1 readers turn into something else.
        ("no", "no"),
        ("Yes", "Yes"),
        ("0123", "0123"),
        ("00.5", "00.5"),
        ("1_000", "1_000"),
        ("2026-01-02", "2026-01-02"),
        ("~/data", "~/data"),
        ("'12'", "12"),
        ('"true"', "true"),
        ("!!str 12", "12"),
    ],
)
def test_a_scalar_is_what_yaml_1_2_says(text, value):
    found = plain(parse_value(text, "test"))
    assert found == value
    assert type(found) is type(value)


def test_a_yaml_1_1_directive_does_not_bring_its_surprises_back():
    assert parse_document("%YAML 1.1\n---\na: no\nb: 0123\n", "x").values == {
        "a": "no",
        "b": "0123",
    }


def test_numbers_remember_how_they_were_written():
    values = [parse_value(text, "test") for text in ("1e5", "0x1F", "+7", "1.50")]
    assert [str(value) for value in values] == ["1e5", "0x1F", "+7", "1.50"]
    assert plain(values) == [1e5, 31, 7, 1.5]
    assert [type(value) for value in plain(values)] == [float, int, int, float]


@pytest.mark.parametrize(
    ("text", "lines"),
    [("a: 1\nb: 2\na: 3\n", ("3", "1")), ("s:\n  k: 1\n  j: 2\n  k: 1\n", ("4", "2"))],
)
def test_a_key_that_stands_twice_is_an_error_with_both_lines(text, lines):
    with pytest.raises(
        InputError, match=rf"x.yaml:{lines[0]}: .*twice \(also on line {lines[1]}\)"
    ):
        parse_document(text, "x.yaml")


@pytest.mark.parametrize(
    ("text", "line"),
    [("a: 1\nb: [1, 2\n", 3), ("a: b: c", 1), ("a: 1\n\tb: 2", 2), ("a: *nobody", 1)],
)
def test_a_syntax_error_names_file_and_line(text, line):
    with pytest.raises(InputError, match=rf"^x.yaml:{line}: "):
        parse_document(text, "x.yaml")


def test_a_blank_that_is_missing_after_a_colon_is_said():
    with pytest.raises(InputError, match="blank after a colon"):
        parse_value("{adc:[0, 3000]}", "test")


@pytest.mark.parametrize(
    "text",
    [
        "a: !!python/object/apply:os.system ['exit 1']",
        "a: !mine 3",
        "a: !!binary aGk=",
        "!!python/object:object {}",
    ],
)
def test_tags_that_make_objects_are_refused(text):
    with pytest.raises(InputError, match=r"x\.yaml:1: the tag .* is not allowed"):
        parse_document(text, "x.yaml")


def test_anchors_and_merge_keys_are_plain_copies():
    text = "base: &b {lr: 1, k: 2}\none: *b\ntwo: {<<: *b, k: 3}\nlist: {<<: [*b, {z: 9}], z: 1}\n"
    assert parse_document(text, "x").values == {
        "base": {"lr": 1, "k": 2},
        "one": {"lr": 1, "k": 2},
        "two": {"lr": 1, "k": 3},
        "list": {"lr": 1, "k": 2, "z": 1},
    }


def test_an_anchor_that_contains_itself_is_an_error():
    with pytest.raises(InputError, match="contains itself"):
        parse_document("a: &x [1, *x]", "x.yaml")


def test_anchors_cannot_grow_without_bound():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 9)]
    with pytest.raises(InputError, match="more than 100,000 values"):
        parse_document("\n".join(lines), "x.yaml")


def test_nesting_without_end_is_an_input_error():
    with pytest.raises(InputError, match="nested"):
        parse_document("a: " + "[" * 500, "x.yaml")


def test_a_file_must_hold_one_mapping(tmp_path):
    empty = tmp_path / "empty.yaml"
    empty.write_text("# only a comment\n")
    assert read_yaml(empty).values == {}
    for text, found in (
        ("- a\n- b\n", "a list"),
        ("hello", "'hello'"),
        ("a: 1\n---\nb: 1", "another document"),
    ):
        empty.write_text(text)
        with pytest.raises(InputError, match=found):
            read_yaml(empty)


@pytest.mark.parametrize("text", ["a: 1\n? [x, y]\n: 2\n", "{[1]: 2}"])
def test_keys_are_plain_words(text):
    with pytest.raises(InputError, match="a key must be a plain word"):
        parse_document(text, "x.yaml")


def test_files_that_are_no_text_are_named(tmp_path):
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"a: \xff\xfe")
    with pytest.raises(InputError, match=r"binary.yaml is not UTF-8 text"):
        read_yaml(binary)
    with pytest.raises(InputError, match=r"absent\.yaml cannot be read"):
        read_yaml(tmp_path / "absent.yaml")
    with pytest.raises(InputError, match="is a folder, not a file"):
        read_yaml(tmp_path)


def test_lines_are_known_for_every_value():
    document = parse_document("seed: 1\ntraining:\n  lr: 1\n  milestones:\n    - 5\n    - 6\n", "x")
    assert document.lines["training", "lr"] == 3
    assert document.lines["training", "milestones", 1] == 6


TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30),
    st.sampled_from(["no", "0123", "1e3", "~", "", " x ", "a: b", "#", "true", "2026-01-01", "y"]),
    st.text("0123456789.eE+-_:", max_size=6),
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**12), 10**12),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXTS,
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)


@settings(deadline=None, derandomize=True, max_examples=20)
@given(st.dictionaries(st.from_regex(re.compile(r"[a-z_]{1,8}", re.A), fullmatch=True), VALUES))
def test_what_is_written_is_read_again_type_for_type(values):
    text = write_yaml(values, comment="A comment.")
    assert repr(plain(parse_document(text, "x").values)) == repr(values)


def test_a_yaml_1_1_reader_reads_what_is_written_alike():
    values = {
        "words": ["no", "yes", "on", "off", "y", "n", "null", "~"],
        "ids": ["0123", "0o17", "1e3", "1_000", "12:30", "2026-01-01", "0x1f", "1.5", ".5", "="],
        "eps": 1e-08,
        "large": 1e22,
        "count": 3,
        "none": None,
        "flag": True,
    }
    reader = YAML(typ="safe", pure=True)
    reader.version = (1, 1)
    assert reader.load(io.StringIO(write_yaml(values))) == values


def test_written_order_is_the_given_order():
    text = write_yaml({"z": 1, "a": {"m": [1, 2], "b": {}}, "k": []}, comment="first\nsecond")
    assert text == "# first\n# second\nz: 1\na:\n  m: [1, 2]\n  b: {}\nk: []\n"
