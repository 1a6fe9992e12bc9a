"""The two files of a study on stored latents: what makes these, and what trains on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from medldr.commands.new_study.study import Study
from medldr.commands.new_study.study_file import (
    beside,
    comment,
    entry,
    evaluation_keys,
    heading,
    held_out_axis,
    methods,
    recipe,
    section,
    section_of,
    seeds_and_table,
    smaller_batch,
)
from medldr.data.config import DatasetConfig

HUB: Final = "hf-hub:"
_MORE: Final = ("coral", "groupdro", "balanced_softmax")
"""Methods that cost little more than ERM on stored latents: one of each kind."""
_BATCH: Final = 128
"""Latents of a batch of the recipe."""


def encoder_text(study: Study, out: Path, network: str, weights: Path | None) -> str:
    """The file that latents are made by: the images, and a network that is not trained further.

    Args:
        study: All decisions.
        out: The file, to whose folder paths are relative.
        network: timm's name of the encoder, or ``hf-hub:OWNER/NAME``.
        weights: Its weights; None: those that were published.
    """
    model: dict[str, Any] = {"name": "timm"}
    if network.startswith(HUB):
        model["pretrained"] = network
    else:
        pretrained = True if weights is None else beside(weights, out.parent)
        model |= {"network": network, "pretrained": pretrained}
    if study.dims == 3:
        model["slices"] = "mean"
    lines = [
        *comment(f"The images of {study.name}, and the network that makes latents of them once."),
        "#",
        *comment("Written by `medldr new`. What to do with it:"),
        f"#   medldr data check {out.name}",
        f"#   medldr features {out.name} --out {latents_of(out)}",
        "",
        *comment(f"{study.kind.why} Kind: {study.kind.name}."),
        *entry("extends", [recipe(study), "data/table", "algorithm/erm"]),
        "data:",
        *section(study.data, out.parent, 2),
        "",
        *comment("Images are scaled and normalised as this network was trained."),
        *entry("model", model),
    ]
    return "".join(f"{line}\n" for line in lines)


def latents_text(study: Study, out: Path, encoder: Path) -> str:
    """The study of methods on the latents that the file of `encoder_text` makes.

    Args:
        study: All decisions.
        out: The file, to whose folder paths are relative.
        encoder: That file, beside it.
    """
    shared = [one for one in study.data if one.key in DatasetConfig.model_fields]
    first = f"features {encoder.name} --out {latents_of(encoder)}"
    lines = [
        *heading(study, f"latents of {study.name}", first, out),
        "",
        *entry("title", f"{study.name}, latents of a network that is not trained further"),
        "",
        "common:",
        *entry("extends", ["recipe/own_features", "data/features"], 2),
        "  data:",
        *entry("root", latents_of(encoder), 4),
        *section((one for one in shared if one.key != "root"), out.parent, 4),
        *comment(
            "Without an adapter, methods such as CORAL have nothing that they could change.", 2
        ),
        "  model: {adapter: mlp}",
        *section_of("evaluation", evaluation_keys(study)),
    ]
    if study.held_out.train < _BATCH:
        lines += section_of("training", [smaller_batch(study)])
    lines += [
        "",
        *methods(*_MORE),
        *held_out_axis(study),
        *comment("On stored latents a run takes seconds, so five seeds."),
        *seeds_and_table(study, range(5)),
    ]
    return "".join(f"{line}\n" for line in lines)


def latents_of(encoder: Path) -> str:
    """The folder of the latents that the file of an encoder makes, beside it.

    Example:
        >>> latents_of(Path("study_encoder.yaml"))
        'study_latents'
    """
    return encoder.stem.removesuffix("_encoder") + "_latents"
