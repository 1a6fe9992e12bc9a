"""Which part of an image speaks for a class: Grad-CAM, for pictures and volumes.

A map says where the network looked, and not that it was right to look there. It is as coarse as the
stage that it is made of. In a stage before the last, a channel may speak for the class at one place
and against it at another, which its one weight cannot express: such a map, the only one that small
images allow, may miss what the network saw. A map that looks plausible proves nothing.

Source:
    Selvaraju et al. 2017. MONAI's `GradCAM` gives the same maps (a test compares the two), but
    explains one class for a whole batch, clears gradients and leaves its hooks in the network;
    the taps of our networks need none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Final

import torch
from torch import Tensor, nn

from medldr.errors import InputError, did_you_mean
from medldr.evaluation.predictions.predict import evaluating
from medldr.models.base import FeatureModel, Tap, Taps

METHOD: Final = "Grad-CAM"
ENOUGH: Final = 7
"""Positions along each axis with which a map can tell one place from another."""


class NoMapError(InputError):
    """A network that answers, but of which no heat map can be made."""


def grad_cam(
    model: FeatureModel, image: Tensor, target: Sequence[int] | Tensor, stage: str = ""
) -> Tensor:
    """Where each image speaks for a class, in float32, by Grad-CAM.

    The channels of a stage's output are added up, each weighted by the gradient of the class's
    logit averaged over all positions; what is negative speaks against the class and becomes zero.
    The sum is enlarged to the image, linearly between the centres of its positions.

    The model is left as it was, and its modes, statistics and gradients with it. Images do not
    influence each other's maps. Callers may be in `torch.inference_mode`.

    Args:
        model: Any network whose stages put out maps.
        image: The network's input ``(B, C, *S)``.
        target: A class for each image, ``(B,)``: the predicted one tells why, another one what
            speaks for it. Of several labels, the label.
        stage: Name of the stage that the map is made of; by default, the last one whose map has
            at least `ENOUGH` positions along each axis, or where there is none, the last one with
            more than one position.

    Returns:
        ``(B, *S)`` float32 from 0 to 1 on the CPU; of a network that sees several views of an item,
        ``(B, views, *S)``. Each item's map is divided by its own maximum, so values do not compare
        between items; it is all zeros where nothing speaks for the class.

    Raises:
        NoMapError: If the network's stages put out tokens (see `token_map`), or no stage has more
            than one position.
        InputError: If the stage or a class does not exist.

    Source:
        Selvaraju et al. 2017, equations 1 and 2. They use the last convolution, which has 7 x 7
        positions for the pictures of 224 pixels that they explain. Our choice is to ask for as many
        of smaller images: with 4 the maps of networks that find 96 to 99% of all fractures in
        volumes of 32 voxels were near the fracture with some seeds and nowhere near with others.

    Example:
        >>> from medldr import plugins
        >>> from medldr.models import build_model
        >>> from medldr.types import DataSpec
        >>> spec = DataSpec("multi-class", ("a", "b", "c"), (1, 1, 1), 1, (28, 28))
        >>> config = plugins.load("models", "resnet18").Config(name="resnet18", width=0.125)
        >>> heat = grad_cam(build_model(config, spec, seed=0), torch.rand(2, 1, 28, 28), [0, 2])
        >>> heat.shape, float(heat.max())
        (torch.Size([2, 28, 28]), 1.0)
    """
    if not model.maps:
        raise NoMapError(
            "Grad-CAM needs feature maps, and the stages of this network put out tokens"
        )
    if stage and stage not in model.stages:
        raise InputError(
            f"this network has no stage {stage!r}.{did_you_mean(stage, model.stages)} "
            f"Its stages: {', '.join(model.stages)}"
        )
    kept: dict[str, Tensor] = {}
    taps = {name: _keep(kept, name) for name in model.stages}
    ((value, slope),) = values_and_slopes(
        model, image, target, lambda: [kept[stage or _choose(kept)]], taps
    )
    weighted = slope.mean(tuple(range(2, value.ndim)), keepdim=True) * value
    of_view = value.shape[1] // model.views
    by_view = weighted.reshape(-1, model.views, of_view, *value.shape[2:])
    return enlarged(by_view.sum(2).relu(), image.shape[2:])


def values_and_slopes(
    model: FeatureModel,
    image: Tensor,
    target: Sequence[int] | Tensor,
    wanted: Callable[[], Sequence[Tensor]],
    taps: Taps | None = None,
) -> list[tuple[Tensor, Tensor]]:
    """What a network computes on its way, and how fast a class's logit rises with each number.

    Args:
        model: It is left as it was; see `grad_cam`.
        image: The network's input ``(B, C, *S)``.
        target: A class for each image.
        wanted: Called once the images have passed through the network: what it computed.
        taps: Taps of its stages meanwhile.

    Raises:
        InputError: If a class does not exist.
    """
    first = next(model.parameters())
    with (
        evaluating(model),
        torch.inference_mode(False),
        torch.enable_grad(),
        torch.autocast(first.device.type, enabled=False),
    ):
        # Copies, because tensors of inference mode cannot take part in gradients.
        classes = _classes(target, len(image), model.num_classes).to(first.device)
        given = image.detach().clone().to(first.device, first.dtype).requires_grad_()
        logits = model.classify(model.features(given, taps))
        values = wanted()
        score = logits.gather(1, classes[:, None]).sum()
        slopes = torch.autograd.grad(score, values, materialize_grads=True) if values else ()
    return [(value.detach(), slope) for value, slope in zip(values, slopes, strict=True)]


def enlarged(heat: Tensor, size: Sequence[int]) -> Tensor:
    """Maps ``(B, views, *s)`` at the size of the image, each item's divided by its maximum.

    Returns:
        ``(B, views, *S)`` on the CPU; ``(B, *S)`` of a single view.
    """
    mode = "trilinear" if len(size) == 3 else "bilinear"
    large = nn.functional.interpolate(heat, tuple(size), mode=mode, align_corners=False)
    top = large.amax(tuple(range(1, large.ndim)), keepdim=True)
    maps = (large / top.where(top > 0, 1)).float().cpu()
    return maps.squeeze(1) if maps.shape[1] == 1 else maps


def _classes(target: Sequence[int] | Tensor, images: int, classes: int) -> Tensor:
    given = torch.as_tensor(target)
    number = given.long().clone()
    whole = not given.is_floating_point() or not images
    if given.shape != (images,) or not whole or ((number < 0) | (number >= classes)).any():
        raise InputError(
            f"target must be one class number from 0 to {classes - 1} for each of the {images} "
            f"images, but it is {given.tolist()}"
        )
    return number


def _keep(kept: dict[str, Tensor], stage: str) -> Tap:
    def tap(value: Tensor) -> Tensor:
        kept[stage] = value
        return value.clone()  # the next stage may overwrite what it is given

    return tap


def _choose(maps: Mapping[str, Tensor]) -> str:
    """The stage that a map is made of by default, of all stages' maps, in order."""
    sizes = {stage: value.shape[2:] for stage, value in maps.items()}
    fine = [stage for stage, size in sizes.items() if min(size) >= ENOUGH]
    several = [stage for stage, size in sizes.items() if prod(size) > 1]
    if not several:
        raise NoMapError(
            "every stage's map has a single position for images this small. Use larger images, or "
            "model.stem: small"
        )
    return (fine or several)[-1]
