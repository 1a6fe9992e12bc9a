"""The page: readable on light and dark paper and without its scripts; tables of notebooks."""

import re
from importlib import resources

import pytest

from medldr.reporting.document import Document, Section, Verdict
from medldr.reporting.figures.drawing import COLOURS, HEAT, INK, VARIABLES
from medldr.reporting.table import Cell, Row, Table
from medldr.reporting.writers.html import html_notebook, html_page

TEMPLATES = resources.files("medldr.reporting") / "templates"
CSS = (TEMPLATES / "style.css").read_text(encoding="utf-8")
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def variables(text):
    return dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6}|rgb\([^)]*\))", text))


LIGHT, DARK = map(variables, CSS.split("prefers-color-scheme: dark", 1))


def rgb(scheme, name, below="paper"):
    """A colour from 0 to 1; a transparent one as it is seen on what is below it."""
    value = scheme[name]
    if value.startswith("#"):
        return [int(value[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    *parts, alpha = map(float, re.findall(r"[0-9.]+", value))
    ground = rgb(scheme, below)
    return [alpha * part / 255 + (1 - alpha) * g for part, g in zip(parts, ground, strict=True)]


def luminance(colour):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    """Contrast ratio of WCAG 2.2."""
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_that_of_wcag():
    assert contrast([0, 0, 0], [1, 1, 1]) == pytest.approx(21)
    assert contrast([0x77 / 255] * 3, [1, 1, 1]) == pytest.approx(4.48, abs=0.005)


def test_both_schemes_have_every_colour():
    assert set(LIGHT) == set(DARK)
    assert all(LIGHT[VARIABLES[colour]] == colour for colour in VARIABLES if colour != "#000000")


TEXTS = {
    "paper": ("ink", "muted", "blue", "red", "good-ink"),
    "tint": ("ink", "muted", "blue", "red", "good-ink"),
    "bad": ("ink", "muted", "bad-ink", "red", "good-ink"),
    "care": ("care-ink",),
    "hint": ("hint-ink",),
    "worst": ("worst-ink",),
    "heat": ("ink",),
    "ink": ("paper",),
}


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
def test_every_text_can_be_read_on_every_ground_it_stands_on(scheme):
    for ground, texts in TEXTS.items():
        for text in texts:
            found = contrast(rgb(scheme, text), rgb(scheme, ground))
            assert found >= 4.5, (ground, text, round(found, 2))


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
def test_every_line_of_a_figure_can_be_seen(scheme):
    for colour in (*COLOURS, INK):
        found = contrast(rgb(scheme, VARIABLES[colour]), rgb(scheme, "paper"))
        assert found >= 3, (colour, round(found, 2))


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
def test_numbers_can_be_read_in_every_shade_of_a_confusion_matrix(scheme):
    heat, paper = rgb(scheme, VARIABLES[HEAT]), rgb(scheme, "paper")
    for share in range(101):
        cell = [share / 100 * h + (1 - share / 100) * p for h, p in zip(heat, paper, strict=True)]
        assert contrast(rgb(scheme, "ink"), cell) >= 4.5


def test_no_colour_of_the_page_is_fixed():
    rules = re.sub(r":root \{[^}]*\}", "", CSS)
    assert re.findall(r"#[0-9a-f]{3,8}\b(?=[;, ])|rgba?\(|\b(?:white|black)\b(?!-)", rules) == []
    used = set(re.findall(r"var\(--([a-z-]+)", CSS)) - {"row", "width"}
    assert used <= set(LIGHT)


def test_paper_is_light_whatever_the_screen_is():
    assert "@media screen and (prefers-color-scheme: dark)" in CSS
    assert CSS.count("prefers-color-scheme") == 1


def a_page(rows):
    table = Table("Results", ["Method", "accuracy_of_all"], rows)
    return html_page(Document("t", "k", sections=[Section("result", "Result", "Result", [table])]))


def test_a_page_allows_what_it_allowed_and_follows_the_reader():
    page = a_page([Row("a", [Cell(1)])])
    assert f'content="{POLICY}"' in page
    assert '<meta name="color-scheme" content="light dark">' in page


def test_controls_have_a_body_of_their_own_and_headings_are_plain_without_the_script():
    rows = [Row("erm_half_<lr>", [Cell(2)]), Row("c", [Cell(1)], ("control",), apart=True)]
    page = a_page(rows)
    body, script = page.split("<script>")
    assert re.findall(r"<tbody[^>]*>", body) == ["<tbody>", '<tbody class="apart">']
    assert "<button" not in body
    assert "erm_<wbr>half_<wbr>&lt;lr&gt;" in body
    assert "for (const body of bodies)" in script


def test_a_table_of_a_notebook_is_escaped_and_has_no_colour_of_its_own():
    table = Table("A <caption>", ["<b>"], [Row("<i>", [Cell("<u>")])], notes=["<s>"])
    html = html_notebook("<title>", [table])
    for text in ("caption", "b", "i", "u", "s", "title"):
        assert f"&lt;{text}&gt;" in html
    assert "<style" not in html
    assert "<script" not in html
    assert re.findall(r"#[0-9a-f]{3,6}\b", html) == []


def test_the_verdict_is_what_is_read_after_the_title():
    verdict = Verdict("better", "By 3 points <of AUC>.", "good", ["One run failed."])
    page = html_page(Document("A study", "a sweep", "3 methods", verdict=verdict))
    read = " ".join(re.sub(r"<[^>]+>", " ", page.split("</head>")[1]).split())
    first = "Skip to the results A study Better. By 3 points &lt;of AUC&gt;. One run failed."
    assert read.startswith(first)
    assert 'role="region" aria-label="Verdict"' in page


def test_each_cell_names_its_column_for_screens_where_rows_are_blocks():
    page = a_page([Row("a", [Cell(1)])])
    assert '<td data-label="accuracy_of_all"' in page
    table = Table("Settings", ["Key", "Value <b>"], [Row("lr", [Cell("0.1")])], code=True)
    page = html_page(Document("t", "k", sections=[Section("s", "S", "S", [table])]))
    assert '<td data-label="Value &lt;b&gt;">' in page
