"""The text of a study's sweep file, with a comment on every decision.

Source:
    How long a run takes, as an order of magnitude. He et al. (2016): a ResNet-18 forward at 224
    pixels is 1.8e9 multiply-adds; a training step is three times that. The rest is our choice from
    runs on two cores: 2e10 multiply-adds a second and core, 5e12 on a GPU, and no faster than 2,000
    images a second. A volume of 64 voxels an edge costs a 3D network with pooling 1.5 times a
    picture of 224 pixels. Without pooling at its start a network is 16 times as slow in 2D and 40
    times in 3D.
"""

from __future__ import annotations

import math
import os
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from medldr.commands.new_study.asking import LISTED, Finding
from medldr.commands.new_study.image_keys import RECIPES, SMALL_STEM
from medldr.commands.new_study.study import Study
from medldr.config.yaml_text import write_yaml
from medldr.data.counting import some
from medldr.sweeps.plan.file import sweep_name

METHODS: Final = ("erm", "latentdr_sa", "latentdr_pool", "erm_half_lr")
SEEDS: Final = (0, 1, 2)
BATCH: Final = {2: 32, 3: 8}
"""Images of a batch of the recipes."""
_CONTROL: Final = "erm_half_lr"
_FLIPS: Final = {
    "scan": "Nothing is mirrored, because organs have sides.",
    "photo": "Nothing is mirrored; transform.flip names axes where left and right mean nothing.",
    "microscopy": "All mirrors and quarter turns are drawn in training, for slides have no up.",
}
EPOCHS: Final = 50
_CPU: Final = 2e10
_GPU: Final = 5e12
_FASTEST: Final = 2000.0
_WIDTH: Final = 96
_MOST_UP: Final = 3


def text(study: Study, out: Path, *, gpu: bool, cores: int) -> str:
    """The file of a study.

    Args:
        study: All decisions.
        out: The file, to whose folder paths are relative.
        gpu: Whether this machine has one.
        cores: Of its processor.
    """
    domains, kind = study.held_out.names, study.kind
    lines = [
        *heading(study, study.name, f"data check {out.name}", out),
        "",
        *entry("title", f"{study.name}, one domain left out" if domains else study.name),
        "",
        "common:",
        *comment(f"{kind.why} Kind: {kind.name}. {_FLIPS[kind.name]}", 2),
        *entry("extends", [recipe(study), "data/table"], 2),
        "  data:",
        *section(study.data, out.parent, 4),
    ]
    lines += [
        *section_of("evaluation", evaluation_keys(study)),
        *_model(study, gpu=gpu),
        "",
        *methods(),
        *held_out_axis(study),
        *comment(_cost(study, gpu=gpu, cores=cores)),
        *seeds_and_table(study),
    ]
    return "".join(f"{line}\n" for line in lines)


def heading(study: Study, of: str, first: str, out: Path) -> Iterator[str]:
    """What a study is of, what to do with it, beginning with a command, and what to look at."""
    yield from comment(f"A study of {of}: {summary(study)}.")
    yield "#"
    yield from comment("Written by `medldr new`; every line may be changed. What to do with it:")
    for command in (first, f"sweep {out.name}", f"report runs/{sweep_name(out)}"):
        yield f"#   medldr {command}"
    for caution in study.cautions:
        yield "#"
        yield from comment(f"CHECK: {caution}")


def methods(*more: str) -> Iterator[str]:
    """The methods that are compared."""
    yield from comment(
        "LatentDR halves the learning rate, as in its paper; erm_half_lr is the control that "
        "tells this effect from that of the method. `medldr list algorithms` names others."
    )
    yield "runs:"
    for method in (*METHODS, *more):
        yield f"  - {{label: {method}, extends: [algorithm/{method}]}}"
    yield ""


def held_out_axis(study: Study) -> Iterator[str]:
    """The domains that are held out in turn, and why these."""
    domains = study.held_out.names
    yield from comment(study.held_out.why)
    if domains:
        yield "axes:"
        yield from entry("data.held_out", {name: [domain] for name, domain in domains.items()}, 2)
    yield ""


def seeds_and_table(study: Study, seeds: Iterable[int] = SEEDS) -> Iterator[str]:
    """What every comparison ends with."""
    yield from entry("seeds", list(seeds))
    yield ""
    yield from comment(
        "AUC depends on no threshold; balanced accuracy counts every class alike, however rare."
    )
    yield from entry("table", _table(study.held_out.names))


def _table(domains: Mapping[str, str]) -> dict[str, Any]:
    table = {
        "rows": "run",
        "columns": "data.held_out" if domains else "",
        "reference": "erm",
        "controls": [_CONTROL],
        "contrasts": [["latentdr_sa", _CONTROL], ["latentdr_pool", _CONTROL]],
        "metrics": ["auc", "balanced_accuracy"],
        "titles": {name: domain for name, domain in domains.items() if name != domain},
    }
    return {key: value for key, value in table.items() if value}


def _cost(study: Study, *, gpu: bool, cores: int) -> str:
    """How many runs there are, and how long each takes."""
    counts = {"methods": len(METHODS), "domains": len(study.held_out.names), "seeds": len(SEEDS)}
    factors = [f"{count} {what}" for what, count in counts.items() if count]
    runs = math.prod(filter(None, counts.values()))
    small = small_stem(study, gpu=gpu)
    images, size, dims = study.held_out.train, study.size, study.dims
    each = " or ".join(
        f"{about(seconds(images, size, dims, small_stem=small, cores=count))} on {where}"
        for where, count in (("a GPU", None), (f"{cores} cores", cores))
    )
    return (
        f"{runs:,} runs: {' x '.join(factors)}. By a rough estimate, each takes at most {each}. "
        "Fewer seeds tell less: with one, no difference can be tested."
    )


def summary(study: Study) -> str:
    """What the data hold, in one sentence of counts."""
    table = study.table
    counts = {
        "pictures" if study.dims == 2 else "volumes": len(table),
        "classes": len(table.class_names),
        "domains": len(set(table.domains.tolist()) - {""}),
        "patients": len(set(table.groups.tolist()) - {""}),
    }
    return ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)


def classes(study: Study) -> str:
    """Each class, or label, with how many images are of it."""
    labels, names = study.table.labels, study.table.class_names
    several = labels.ndim > 1
    counts = np.nansum(labels, axis=0) if several else np.bincount(labels, minlength=len(names))
    each = (f"{name} ({count:,.0f})" for name, count in zip(names, counts, strict=True))
    return f"{'labels' if several else 'classes'}: {some(each, LISTED)}"


def recipe(study: Study) -> str:
    """The packaged recipe for such images."""
    return RECIPES[3] if study.dims == 3 else RECIPES.get(study.kind.name, RECIPES[2])


def small_stem(study: Study, *, gpu: bool) -> bool:
    """Whether the network has no pooling at its start: small images, if they can be afforded."""
    return study.size < SMALL_STEM[study.dims] and (study.dims == 2 or gpu)


def evaluation_keys(study: Study) -> list[Finding]:
    """The positive class, and the patients of several images, whom results may be of."""
    keys = [] if study.positive is None else [study.positive]
    labels, groups = study.table.labels, study.table.groups
    known = [one for one in zip(groups.tolist(), labels.tolist(), strict=True) if one[0]]
    patients = len({group for group, _ in known})
    if labels.ndim == 1 and patients and 2 * patients <= len(known) and len(set(known)) == patients:
        why = (
            f"{len(known):,} images are of {patients:,} patients, each of one class: uncomment to "
            "score patients beside images, and for answers to them (`medldr predict --group`)."
        )
        keys.append(Finding("aggregate", "mean", why, used=False))
    return keys


def _model(study: Study, *, gpu: bool) -> Iterator[str]:
    model, training, train = list[Finding](), list[Finding](), study.held_out.train
    if study.size < SMALL_STEM[study.dims]:
        used = small_stem(study, gpu=gpu)
        why = "Small images: a network that does not shrink them at its start sees more."
        why += "" if used else " In 3D it takes forty times as long, too long without a GPU."
        model.append(Finding("stem", "small", why, used=used))
    if train < BATCH[study.dims]:
        training.append(smaller_batch(study))
    if not gpu:
        slow = "This machine has no GPU; for a first look, uncomment width and epochs."
        model.append(Finding("width", 0.25, slow, used=False))
        training.append(Finding("epochs", 5, "", used=False))
    yield from section_of("model", model)
    yield from section_of("training", training)


def smaller_batch(study: Study) -> Finding:
    """A batch that half of the few training images fill."""
    train = study.held_out.train
    why = f"Only {train:,} images train, less than a batch of the recipe."
    return Finding("batch_size", max(2, train // 2), why)


def section_of(name: str, keys: list[Finding]) -> Iterator[str]:
    """A section; commented out if no key of it is used."""
    if any(one.used for one in keys):
        yield f"  {name}:"
        yield from section(keys, Path(), 4)
        return
    for one in keys:
        yield from comment(one.why, 2)
    if keys:
        yield from entry(name, {one.key: one.value for one in keys}, 2, used=False)


def seconds(images: int, size: int, dims: int, *, small_stem: bool, cores: int | None) -> float:
    """Time that a run takes.

    Args:
        images: That train.
        size: Pixels or voxels an edge.
        dims: 2 or 3.
        small_stem: Whether the network has no pooling at its start.
        cores: Of the processor; None: on a GPU.
    """
    forward = 1.8e9 * (size / 224) ** 2 if dims == 2 else 2.7e9 * (size / 64) ** 3
    each = 3 * forward * ({2: 16, 3: 40}[dims] if small_stem else 1)
    rate = _GPU if cores is None else _CPU * cores
    return EPOCHS * images * max(each / rate, 1 / _FASTEST)


def about(time: float) -> str:
    """A time in words.

    Example:
        >>> about(20), about(400), about(9000), about(400_000)
        ('a minute', '7 minutes', '2.5 hours', '5 days')
    """
    if time < 90:
        return "a minute"
    if time < 5400:
        return f"{time / 60:.0f} minutes"
    if time < 48 * 3600:
        return f"{time / 3600:.2g} hours"
    return f"{time / 86400:.0f} days"


def beside(path: Path, folder: Path) -> str:
    """A path as a file in a folder writes it: relative where the two are near each other.

    Example:
        >>> beside(Path("/data/study/scans"), Path("/data/study")), beside(Path("/x"), Path("/a/b"))
        ('scans', '/x')
    """
    absolute = Path(os.path.abspath(path.expanduser()))
    home = Path(os.path.abspath(folder))
    shared = Path(os.path.commonpath([absolute, home]))
    up = len(home.parts) - len(shared.parts)
    if up > _MOST_UP or (up and len(shared.parts) <= 1):
        return str(absolute)
    return Path(os.path.relpath(absolute, home)).as_posix()


def comment(text: str, indent: int = 0) -> Iterator[str]:
    """Lines of a comment; nothing of the text can end it."""
    plain = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    if plain:
        lead = " " * indent + "# "
        yield from textwrap.wrap(
            plain, _WIDTH, initial_indent=lead, subsequent_indent=lead,
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip


def entry(key: str, value: Any, indent: int = 0, *, used: bool = True) -> Iterator[str]:
    """Lines of a key with its value; commented out where it is not used."""
    lead = " " * indent + ("" if used else "# ")
    for line in write_yaml({key: value}).splitlines():
        yield lead + line


def section(findings: Iterable[Finding], folder: Path, indent: int) -> Iterator[str]:
    """Lines of several keys, each below its comment.

    Args:
        findings: The keys.
        folder: That of the file, to which paths are relative.
        indent: Blanks before each line.
    """
    for one in findings:
        yield from comment(one.why, indent)
        if one.key:
            value = beside(one.value, folder) if isinstance(one.value, Path) else one.value
            yield from entry(one.key, value, indent, used=one.used)
