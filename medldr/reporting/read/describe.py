"""Methods and networks as papers name them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medldr.reporting.read.configuration import is_swad, section

ALGORITHM_TITLES = {
    "erm": "ERM",
    "latentdr": "LatentDR",
    "mixup": "Mixup",
    "manifold_mixup": "Manifold Mixup",
    "cutmix": "CutMix",
    "mixstyle": "MixStyle",
    "batchformer": "BatchFormer",
    "fish": "Fish",
    "coral": "CORAL",
    "irm": "IRM",
    "groupdro": "GroupDRO",
    "mldg": "MLDG",
    "mmd": "MMD",
    "dann": "DANN",
    "cdann": "CDANN",
    "sagnet": "SagNet",
    "vrex": "VREx",
    "fishr": "Fishr",
    "miro": "MIRO",
}
MODEL_TITLES = {
    "resnet18": "ResNet-18",
    "resnet50": "ResNet-50",
    "resnet32": "ResNet-32",
    "densenet121": "DenseNet-121",
}
_FORMS = {"attention": "SA", "pool": "Pool", "gaussian": "Gaussian"}
_PAPER_IDS = {
    "attention": "latentdr_sa",
    "pool": "latentdr_pool",
    "gaussian": "latentdr_gaussian",
}
_ABLATION_IDS = {
    ("pool", "degraded"): "latentdr_d_only",
    ("none", "restored"): "latentdr_r_only",
    ("gaussian", "degraded"): "latentdr_gaussian_d_only",
    ("gaussian", "restored"): "latentdr_gaussian_r_only",
}
"""Forms with one of the two further terms alone: the degradation and the term."""
_VARIANT_IDS = {
    ("mmd", "bandwidths", "median"): "mmd_median",
    ("mldg", "order", "second"): "mldg_second_order",
}
"""Forms that nobody published under the plain name."""

def method_title(config: Mapping[str, Any]) -> str:
    """The method as a paper would name it.

    Example:
        >>> method_title({"algorithm": {"name": "latentdr", "degrade": "pool"}})
        'LatentDR (Pool)'
    """
    algorithm = section(config, "algorithm")
    name = str(algorithm.get("name", "unknown method"))
    title = ALGORITHM_TITLES.get(name, name)
    form = algorithm.get("degrade")
    if name == "latentdr" and form:
        title += f" ({_FORMS.get(str(form), str(form))})"
    base = section(algorithm, "base").get("name")
    title += f" on {ALGORITHM_TITLES.get(str(base), base)}" if base else ""
    return f"{title} + SWAD" if is_swad(config) else title


def method_id(config: Mapping[str, Any]) -> str:
    """The key under which published numbers name this method; `+swad` where weights are averaged.

    LatentDR has one only in the forms that its paper reports.

    Example:
        >>> method_id({"algorithm": {"name": "latentdr", "degrade": "pool"}})
        'latentdr_pool'
        >>> method_id({"algorithm": {"name": "coral"}, "training": {"averaging": {"name": "swad"}}})
        'coral+swad'
    """
    algorithm = section(config, "algorithm")
    name = str(algorithm.get("name", ""))
    found = _latentdr_id(algorithm) if name == "latentdr" else name
    for (method, key, value), own in _VARIANT_IDS.items():
        found = own if name == method and algorithm.get(key) == value else found
    return f"{found}+swad" if is_swad(config) else found


def _latentdr_id(algorithm: Mapping[str, Any]) -> str:
    form = str(algorithm.get("degrade"))
    terms = frozenset(algorithm.get("terms") or ("degraded", "restored"))
    if algorithm.get("base") or algorithm.get("norm", "post") != "post":
        return "latentdr"
    if algorithm.get("share_classifier") is False:
        alone = form == "pool" and len(terms) == 2
        return "latentdr_own_classifier" if alone else "latentdr"
    if terms != {"degraded"} and algorithm.get("restore", "attention") != "attention":
        return "latentdr"
    if len(terms) == 2:
        return _PAPER_IDS.get(form, "latentdr")
    return _ABLATION_IDS.get((form, *terms), "latentdr")
