"""What the pages for users name exists: links, commands, keys, packaged names, examples."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from medldr import cli
from medldr.config import json_schema, load_config, packaged_names
from medldr.sweeps.plan.expand import as_record, expand
from medldr.sweeps.plan.file import load_sweep
from medldr.sweeps.plan.schema import Content
from medldr.transforms._chain import build_chain

ROOT = Path(__file__).parents[2]
NAMES = ["README.md", "CONTRIBUTING.md", *sorted(f"docs/{p.name}" for p in ROOT.glob("docs/*.md"))]
PAGES = {name: (ROOT / name).read_text(encoding="utf-8") for name in NAMES}
FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
EACH_PAGE = pytest.mark.parametrize("page", PAGES)


def prose(text):
    """A page without its blocks of code."""
    return FENCE.sub("", text)


def spans(text):
    """What stands between backticks, a line break being a blank."""
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", prose(text))]


# Links


def anchors(text):
    """The names that GitHub gives to headings."""
    found = []
    for heading in re.findall(r"^#+ (.*)$", prose(text), re.MULTILINE):
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        found.append(f"{slug}-{found.count(slug)}" if slug in found else slug)
    return found


@EACH_PAGE
def test_a_link_leads_to_a_file_and_to_a_heading_of_it(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(PAGES[page])):
        if target.startswith("https://"):
            continue
        place, _, heading = target.partition("#")
        file = (ROOT / page).parent / place if place else ROOT / page
        assert file.exists(), f"{page}: {target}"
        if heading:
            assert heading in anchors(file.read_text(encoding="utf-8")), f"{page}: {target}"


@EACH_PAGE
def test_a_page_that_is_spoken_of_is_linked(page):
    """A pointer in words, such as "see the README", is one that no test follows."""
    text = re.sub(r"\[[^\]]*\]\([^)]*\)", "", prose(PAGES[page]))
    assert not re.findall(r".*\b(?:README|CONTRIBUTING|docs/\w+|\w+\.md)\b.*", text)


def test_every_guide_is_on_the_map_of_the_readme():
    linked = re.findall(r"\]\(([^)#\s]+)", PAGES["README.md"])
    assert set(PAGES) - {"README.md"} <= set(linked)


def test_guides_that_the_code_and_the_changelog_name_exist():
    folders = ("medldr", "configs", "notebooks", "benchmarks")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    text = [path for path in files if path.suffix in (".py", ".yaml", ".json", ".ipynb")]
    named = {
        guide
        for path in (ROOT / "CHANGELOG.md", *text)
        for guide in re.findall(r"docs/\w+\.md", path.read_text(encoding="utf-8"))
    }
    assert named
    assert named <= set(PAGES)


# Commands


def written(text):
    """Words of each command of a page."""
    lines = [line for kind, code in FENCE.findall(text) if not kind for line in code.splitlines()]
    for line in [*lines, *spans(text)]:
        for command in re.findall(r"(?:^|[ /])medldr (\w[^;&|]*)", f" {line}"):
            text = re.sub(r"\[([A-Z=]+(?: \.\.\.)?)\]", r"\1", command)  # [DIR], [KEY=VALUE ...]
            words = shlex.split(text, comments=True)
            yield tuple(word for word in words if word != "...")


COMMANDS = sorted({(page, words) for page, text in PAGES.items() for words in written(text)})
KEY = re.compile(r"([a-z]\w*(?:\.\w+)*)=")


def resolved(words):
    """The click command of some words, and what is left for it."""
    command, rest = typer.main.get_command(cli.app), list(words)
    while hasattr(command, "commands") and rest:
        assert rest[0] in command.commands, f"no command {rest[0]!r}"
        command = command.commands[rest.pop(0)]
    return command, rest


@pytest.mark.parametrize(
    "words", [pytest.param(words, id=f"{page}: {' '.join(words)}") for page, words in COMMANDS]
)
def test_a_command_is_one_of_the_command_line(words):
    command, rest = resolved(words)
    if rest:  # else it is spoken of, not shown
        command.make_context(words[0], rest)


def test_pages_show_the_commands():
    shown = {words[0] for _, words in COMMANDS}
    assert shown == set(typer.main.get_command(cli.app).commands)


def packaged():
    """Kind, name and keys of each run or sweep that comes with medldr, once."""
    for kind, name, *rest in {words for _, words in COMMANDS if len(words) > 1}:
        own = re.fullmatch(r"[A-Z]+|.*\.ya?ml|runs/.*|status", name)
        if kind in ("train", "sweep") and not own:
            yield kind, name, tuple(word for word in rest if KEY.match(word) and "$" not in word)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name", "keys"), sorted(set(packaged())))
def test_a_command_names_a_packaged_run_or_sweep_and_its_keys(kind, name, keys, planned):
    if kind == "train":
        assert load_config(name, list(keys)).label.startswith(name)
    else:
        assert planned(name, keys)[1]


# Keys and names


def named_keys():
    """Keys of changes in commands, and keys in prose."""
    for _, words in COMMANDS:
        for word in words:
            if match := KEY.match(word):
                key = match[1].removeprefix("axes.")
                yield key if words[0] != "data" else f"data.{key.removeprefix('data.')}"
    sections = "data|transform|model|algorithm|training|evaluation|machine|search|table"
    files = "csv|json|md|py|safetensors|tex"
    key = re.compile(rf"((?:{sections})\.(?!(?:{files})$)[a-z_][\w.]*)(?=[=: ]|$)")
    for text in PAGES.values():
        yield from (match[1] for span in spans(text) if (match := key.match(span)))


def test_a_key_is_one_of_a_run_or_of_a_sweep():
    """All in one test, because the schema of every plug-in takes a while."""
    run, sweep = json_schema(), Content.model_json_schema()
    definitions = {**run["$defs"], **sweep["$defs"]}

    def exists(node, steps):
        if not steps:
            return True
        if "$ref" in node:
            return exists(definitions[node["$ref"].rsplit("/", 1)[-1]], steps)
        if any(exists(choice, steps) for choice in node.get("anyOf", ())):
            return True
        if steps[0] in node.get("properties", ()):
            return exists(node["properties"][steps[0]], steps[1:])
        return isinstance(node.get("additionalProperties"), dict)

    def wrong(keys):
        return {key for key in keys if not any(exists(n, key.split(".")) for n in (run, sweep))}

    assert wrong({"training.lr", "training.epoch", "data.held"}) == {"training.epoch", "data.held"}
    assert wrong(set(named_keys())) == set()


@EACH_PAGE
def test_a_part_is_packaged(page):
    kinds = "recipe|data|model|algorithm|transform|search"
    for span in spans(PAGES[page]):
        if (match := re.fullmatch(rf"({kinds})/([a-z0-9_]+)", span)) is not None:
            assert match[2] in packaged_names(match[1]), span


def test_the_table_of_packaged_sweeps_has_each_of_them():
    rows = re.findall(r"^\| (`.*?`) \|", PAGES["docs/sweeps.md"], re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", " ".join(rows))) == sorted(packaged_names("sweep"))


# Examples


def example(page, beginning):
    """The block of YAML that begins with some words, after comments."""
    (found,) = re.findall(rf"```yaml\n((?:#[^\n]*\n)*{beginning}.*?)```", PAGES[page], re.DOTALL)
    return found


def test_the_example_of_own_scans_is_a_run_of_the_recipe(tmp_path):
    text = example("README.md", r"extends: \[recipe/own_3d")
    (tmp_path / "wrists.yaml").write_text(f"{text}algorithm: erm\n", encoding="utf-8")
    config = load_config(tmp_path / "wrists.yaml")
    assert config.data.file == tmp_path / "wrists.csv"
    assert (config.data.window, config.data.size) == ("bone", (96, 96, 48))
    assert config.protocol == "own-3d"


def test_the_example_of_a_sweep_is_one(tmp_path):
    (tmp_path / "mine.yaml").write_text(example("docs/sweeps.md", "title: My"), encoding="utf-8")
    sweep = load_sweep(tmp_path / "mine.yaml")
    planned = expand(sweep, tmp_path)
    assert len(planned) == 2 * 3 * 2 * 3
    assert as_record(sweep, planned).layout.reference == "erm, slow"
    assert sweep.slurm == {"partition": "gpu", "time": 240, "mem": "16GB"}


def test_the_example_of_an_answer_is_a_sweep(tmp_path):
    text = example("docs/sweeps.md", "title: The next")
    (tmp_path / "next_scanner.yaml").write_text(text, encoding="utf-8")
    sweep = load_sweep(tmp_path / "next_scanner.yaml")
    assert sweep.notes == ()
    assert len(expand(sweep, tmp_path)) == 3 * 4 * 3


def test_the_example_of_a_search_is_one(tmp_path):
    common = "common: {extends: [recipe/domainbed, data/pacs], data: {held_out: photo}}\n"
    axes = "axes: {algorithm: [erm, latentdr_sa]}\n"
    text = example("docs/sweeps.md", "search:")
    (tmp_path / "mine.yaml").write_text(common + axes + text, encoding="utf-8")
    planned = expand(load_sweep(tmp_path / "mine.yaml"), "out")
    assert len(planned) == 2 * 20
    assert "algorithm.dropout" in planned[1].member.drawn


def test_the_stages_of_the_guide_are_stages():
    blocks = re.findall(r"```yaml\n(training:\n.*?)```", PAGES["docs/rare_classes.md"], re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        (line,) = re.findall(r"(\{name: .*\})", block)
        (stage,) = load_config("retinamnist_erm", [f"training.stages=[{line}]"]).training.stages
        assert stage.name in ("retrain_head", "tau_norm")


@pytest.mark.slow  # loads MONAI
def test_the_transforms_of_the_guide_are_transforms(tmp_path):
    text = example("docs/own_scans.md", "transform:")
    (tmp_path / "mine.yaml").write_text(f"extends: [run/retinamnist_erm]\n{text}", encoding="utf-8")
    transform = load_config(tmp_path / "mine.yaml").transform
    assert build_chain(transform.train, "transform.train", random_allowed=True).random


def test_the_readme_is_short():
    assert len(PAGES["README.md"].splitlines()) <= 180
