"""Any network of the package timm that turns pictures into features (extra ``timm``).

It sees volumes slice by slice, with ``model.slices``.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import Field, field_validator, model_validator
from torch import Tensor, nn

from medldr.errors import InputError
from medldr.models._foreign import body, differences, read_weights, told
from medldr.models._timm import arguments_of, check_network, library
from medldr.models._timm_start import complete as complete
from medldr.models._timm_start import own_pixels as own_pixels
from medldr.models.base import STAGES, FeatureModel, ModelConfig, Taps
from medldr.types import DataSpec

SPATIAL_DIMS = (2,)


class Config(ModelConfig):
    """Keys of timm's networks."""

    name: Literal["timm"] = "timm"
    network: str | None = Field(
        None,
        description="timm's name for the network, such as convnext_tiny; of pretrained: "
        "hf-hub:OWNER/NAME it is known",
    )
    arguments: dict[str, Any] = Field(
        {},
        description="arguments of timm's network, such as {init_values: 1.0e-5, dynamic_img_size: "
        "true}",
    )

    @model_validator(mode="after")
    def _which_network(self) -> Config:
        if self.network is None and not str(self.pretrained).startswith("hf-hub:"):
            raise ValueError(
                "network is missing: timm's name for the network, such as convnext_tiny"
            )
        return self

    @field_validator("width")
    @classmethod
    def _as_published(cls, width: float) -> float:
        if width != 1:
            raise ValueError("timm's networks come in fixed widths: leave model.width at 1")
        return width


class TimmModel(FeatureModel):
    """A network of timm, cut into stages where timm itself takes features from it.

    Latents are what timm's own classifier would see. Stages by kind of network:

    - five or more feature levels (ResNets, DenseNets, EfficientNets): our five names, the last
      four levels being ``stage1`` to ``stage4``. ``stem`` comes before a max-pool, if there is one;
    - four levels (ConvNeXt, Swin): ``stage1`` to ``stage4``, no stem;
    - no levels (ViT, mixers): ``stage1`` to ``stage4`` are the blocks that end each quarter of the
      depth, and their outputs are tokens, including the class token (`maps` is false).

    A tap gets maps as ``(B, C, H, W)``, whatever the network's layout, and tokens as ``(B, T, C)``.
    ``model.weights`` takes files of this class only; all others are named by ``pretrained``.

    Args:
        config: ``network``: its name without a tag; ``arguments`` of its constructor in timm.
        spec: Channels, classes and size of the images. A network that is made for one size is
            made for this one, its position embedding with it.

    Raises:
        InputError: If timm or the network is absent, or it cannot take such images, or its stages
            cannot be identified.

    Source:
        timm's ``feature_info``. The cut of a ViT into quarters is our choice.
    """

    def __init__(self, config: Config, spec: DataSpec) -> None:
        name = str(config.network)
        check_network(name)
        fixed = _fixed_size(name)
        keys: dict[str, Any] = {"in_chans": spec.channels}
        if fixed not in (None, spec.spatial_size):
            keys["img_size"] = spec.spatial_size
        keys |= arguments_of(name, config.arguments)
        try:
            network = library().create_model(name, num_classes=0, **keys)
        except (TypeError, ValueError, AssertionError) as error:
            raise InputError(
                f"model.network: {name} cannot be made for {spec.channels} channel(s) of "
                f"{spec.spatial_size} pixels: {error}. "
                + ("" if fixed is None else f"It was published for {fixed}; ")
                + "set transform.size, or choose another network"
            ) from error
        places = _places(name, network)
        probed = _probe(name, network, places, spec)
        super().__init__(
            stage_dims=tuple(probed.widths.values()),
            dim=probed.dim,
            num_classes=spec.num_classes,
            config=config,
        )
        self.stages = tuple(places)
        self.maps = not probed.tokens
        self.token_grid = probed.grid
        self.network: nn.Module = network
        self._made = (name, keys)
        self._of_file = isinstance(config.pretrained, Path)
        self._places = places
        self._taps: Taps | None = None
        self._channels_last = probed.channels_last
        self._hook_stages()

    def latents(self, image: Tensor, taps: Taps | None = None) -> Tensor:
        """Latents: what timm's classifier would see, its pooling in float32 or better."""
        self.require_stages(taps or (), "taps")
        self._taps = taps
        try:
            return _latents(self.network, self.arrange(image))
        finally:
            self._taps = None

    @contextlib.contextmanager
    def attending(self) -> Iterator[list[Tensor]]:
        """As of any network: what timm's blocks would drop entries of, with fused kernels off."""
        seen: list[Tensor] = []
        with contextlib.ExitStack() as stack:
            for module in self.network.modules():
                drop = getattr(module, "attn_drop", None)
                if not isinstance(drop, nn.Module):
                    continue
                if getattr(module, "fused_attn", False):  # else no attention is ever in memory
                    stack.callback(setattr, module, "fused_attn", True)
                    module.fused_attn = False  # type: ignore[assignment]  # no tensor
                note = drop.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
                stack.callback(note.remove)
            yield seen

    def share_batch_norm(self) -> FeatureModel:
        """As for any network; timm's own, because its norms hold their activation too."""
        self.network = library().layers.convert_sync_batchnorm(self.network)
        self._hook_stages()  # a norm that ends a stage is another module now
        return self

    def _hook_stages(self) -> None:
        for stage, place in self._places.items():
            module = self.network.get_submodule(place)
            if not any(isinstance(hook, _Hook) for hook in module._forward_hooks.values()):
                module.register_forward_hook(_Hook(self, stage))

    def load_published(self, path: Path) -> None:
        """Load a file of any origin as timm does, with its renaming and resizing, without the head.

        Raises:
            InputError: If the file lacks more than the head, or holds more than it.
        """
        name, keys = self._made
        names = self.network.state_dict().keys()
        tensors, prefix = body(read_weights(path), names.__contains__)
        # Nothing is then taken from timm's own files, and every name is held to the network's.
        overlay = {
            "state_dict": tensors, "custom_load": False, "classifier": None, "num_classes": 0,
        }  # fmt: skip
        with torch.random.fork_rng(devices=[]):
            try:
                full = library().create_model(
                    name, pretrained=True, pretrained_cfg_overlay=overlay, num_classes=0, **keys
                )
            except (RuntimeError, KeyError, ValueError) as error:
                raise InputError(
                    f"model.pretrained: {path} does not hold weights of {name}: {_fault(error)}. "
                    "Set model.network, and model.arguments, to those of the file"
                ) from error
        self.network.load_state_dict(full.state_dict())
        self.notes += told(prefix, path) + (_doubt(name, path) if self._of_file else [])


def _doubt(name: str, path: Path) -> list[str]:
    """A note on the other network whose weights have just these names and shapes."""
    twin = name.removeprefix("tf_") if name.startswith("tf_") else f"tf_{name}"
    if not library().is_model(twin):
        return []
    return [
        f"weights of {twin} have the names and shapes of {name}, which pads images in another way "
        f"and may expect other pixels: {path.name} does not say whose it holds"
    ]


def _fault(error: Exception) -> str:
    """What torch found wrong with the names and shapes of a file, in our words."""
    text = str(error)
    kinds = (r"Missing key\(s\)[^:]*: (.*)", r"Unexpected key\(s\)[^:]*: (.*)")
    missing, unknown = (
        re.findall(r'"([^"]+)"', " ".join(re.findall(kind, text))) for kind in kinds
    )
    said = differences(missing, unknown, re.findall(r"size mismatch for (\S+):", text))
    return said or text.strip().partition("\n")[0]


class _Hook:
    """Passes a stage's output through its tap, a map's channels second, and back."""

    def __init__(self, model: TimmModel, stage: str) -> None:
        self.model = model  # copied together with the model, it is the copy's
        self.stage = stage

    def __call__(self, module: nn.Module, inputs: Any, output: Tensor) -> Tensor | None:
        taps = self.model._taps
        if taps is None or self.stage not in taps:
            return None
        if not self.model._channels_last:
            return taps[self.stage](output)
        return taps[self.stage](output.movedim(-1, 1)).movedim(1, -1)


class _Probed:
    """What one blank image showed: widths by stage, in order, and their layout."""

    def __init__(self) -> None:
        self.dim = 0
        self.widths: dict[str, int] = {}
        self.tokens = False
        self.grid: tuple[int, ...] | None = None
        self.channels_last = False


def build(config: Config, spec: DataSpec) -> TimmModel:
    """The network for these data, with fresh weights."""
    return TimmModel(config, spec)


def load_published(model: TimmModel, path: Path) -> None:
    """Start a network from a file; see `TimmModel.load_published`."""
    model.load_published(path)


def _fixed_size(network: str) -> tuple[int, ...] | None:
    """The only size that a network takes as it is published; None where it takes any."""
    config = library().get_pretrained_cfg(network)
    if config is None or not config.fixed_input_size:
        return None
    return tuple(config.input_size[1:])


def _places(name: str, network: Any) -> dict[str, str]:
    """The module that ends each stage, by stage name, in order."""
    info = list(getattr(network, "feature_info", ()))
    steps = [entry["reduction"] for entry in info]
    if len(info) >= 4 and len(set(steps)) == 1:  # no pyramid: all blocks are of one scale
        chosen = [info[round(len(info) * quarter / 4) - 1] for quarter in (1, 2, 3, 4)]
    else:
        chosen = info[-5:]
    if len(chosen) < 4:
        raise InputError(
            f"model.network: {name} reports {len(chosen)} feature levels, but its stages need 4. "
            " Choose another network, such as resnet50"
        )
    return {
        stage: entry["module"] for stage, entry in zip(STAGES[-len(chosen) :], chosen, strict=True)
    }


def _probe(name: str, network: Any, places: dict[str, str], spec: DataSpec) -> _Probed:
    """See one blank image through the network, and refuse it if the stages do not come in order."""
    probed = _Probed()
    seen: list[tuple[str, Any]] = []
    with contextlib.ExitStack() as stack:
        modules = dict(network.named_modules())
        for stage, place in places.items():
            if place in modules:  # else it will not be seen
                stack.enter_context(_watching(modules[place], stage, seen))
        network.eval()
        try:
            with torch.no_grad():
                z = _latents(network, torch.zeros(1, spec.channels, *spec.spatial_size))
        except (AssertionError, RuntimeError, ValueError) as error:
            reason = (str(error) or type(error).__name__).splitlines()[0]
            raise InputError(
                f"model.network: {name} cannot take images of size {spec.spatial_size}: {reason}. "
                "Resize them (transform.size), or choose another network"
            ) from error
        finally:
            network.train()
    values = [value for _, value in seen]
    if [stage for stage, _ in seen] != list(places) or z.ndim != 2:
        raise InputError(f"model.network: the stages of {name} cannot be identified. {_OTHERS}")
    if not all(isinstance(v, Tensor) and v.ndim in (3, 4) for v in values):
        raise InputError(f"model.network: the stages of {name} do not output tensors. {_OTHERS}")
    probed.dim = z.shape[1]
    probed.tokens = values[0].ndim == 3
    patches = getattr(network, "patch_embed", getattr(network, "stem", None))
    of_size = getattr(patches, "dynamic_feat_size", None)  # a dynamic network's own grid differs
    grid = of_size(spec.spatial_size) if of_size else getattr(patches, "grid_size", None)
    if probed.tokens and grid and all(value.shape[1] >= prod(grid) for value in values):
        probed.grid = tuple(grid)
    layout = getattr(network, "output_fmt", "NCHW")
    probed.channels_last = not probed.tokens and str(getattr(layout, "value", layout)) == "NHWC"
    axis = -1 if probed.tokens or probed.channels_last else 1
    probed.widths = {stage: value.shape[axis] for stage, value in seen}
    return probed


_OTHERS = "Choose another network, such as resnet50, convnext_tiny or vit_small_patch16_224"


@contextlib.contextmanager
def _watching(module: nn.Module, stage: str, seen: list[tuple[str, Any]]) -> Iterator[None]:
    def note(module: nn.Module, inputs: Any, output: Any) -> None:
        seen.append((stage, output))

    handle = module.register_forward_hook(note)
    try:
        yield
    finally:
        handle.remove()


def _latents(network: Any, image: Tensor) -> Tensor:
    """What the classifier would see, computed in float32 or better from the last stage on."""
    x = network.forward_features(image)
    with torch.autocast(x.device.type, enabled=False):
        x = x.to(torch.promote_types(x.dtype, torch.float32))
        z: Tensor = network.forward_head(x, pre_logits=True)
    return z


CONTRACT_KEYS = {"network": "test_resnet"}
