"""Turn a 2D network into a 3D one, layer by layer.

The mapping is explicit: each layer type is listed with how its 3D twin is made. (acsconv's own
converter reads constructor signatures, which fails on current torch, where the norms gained a
flag named like their parameter.)
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Literal, get_args

import torch
from torch import nn

from medldr.errors import InputError
from medldr.models._acs_conv import AcsConv3d

ConvKind = Literal["acs", "2.5d", "3d"]

_HOOKS = (  # weight_norm and its like work through hooks, which a new layer would not have
    "_forward_hooks",
    "_forward_pre_hooks",
    "_backward_hooks",
    "_backward_pre_hooks",
)


def convert(model: nn.Module, kind: ConvKind) -> nn.Module:
    """A 3D copy of a 2D network; the original is not changed.

    Weights, buffers, train or eval mode, dtype, device and ``requires_grad`` are kept, and a
    module or parameter used in several places stays one. Layers that know no axes (linear,
    activations, group norm) are copied.

    Args:
        model: The 2D network, or a single layer.
        kind: ``acs``: 2D kernels in three orientations, weights unchanged. ``3d``: cubic kernels,
            each slice W / K: a volume constant in depth gives what the 2D network gives.
            ``2.5d``: kernels ``(1, K, K)``, strides on all axes.

    Raises:
        InputError: If a layer has no exact 3D twin; the message names it and lists what has one.

    Source:
        ACS and 2.5D: Yang et al. 2021; inflation: Carreira and Zisserman 2017 (I3D).

    Example:
        >>> net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        >>> [type(layer).__name__ for layer in convert(net, "acs")]
        ['AcsConv3d', 'BatchNorm3d', 'ReLU']
    """
    if kind not in get_args(ConvKind):
        raise InputError(f"conv: {kind!r} is unknown. Known: {', '.join(get_args(ConvKind))}")
    for name, module in model.named_modules():
        if type(module) is nn.Conv2d or type(module) in _LAYERS:
            _refuse_hooks(module, name)
    with torch.random.fork_rng(devices=[]):  # new layers draw initial weights, which are replaced
        return _Converter(kind).convert(copy.deepcopy(model), "")


class _Converter:
    """One walk over a network, remembering what it has converted."""

    def __init__(self, kind: ConvKind) -> None:
        self.kind = kind
        # The old modules are kept with their twins: an id is unique only while its object lives.
        self.modules: dict[int, tuple[nn.Module, nn.Module]] = {}
        self.inflated: dict[int, tuple[nn.Parameter, nn.Parameter]] = {}

    def convert(self, module: nn.Module, name: str) -> nn.Module:
        """The module's twin, the same one each time it is met."""
        if id(module) not in self.modules:
            make = self._convolution if type(module) is nn.Conv2d else _LAYERS.get(type(module))
            if make is None:
                twin = self._container(module, name)
            else:
                twin = make(module, name)
                twin.train(module.training)
            self.modules[id(module)] = (module, twin)
        return self.modules[id(module)][1]

    def _container(self, module: nn.Module, name: str) -> nn.Module:
        _refuse_flat(module, name)
        self.modules[id(module)] = (module, module)
        for key, child in module._modules.items():
            if child is not None:
                module._modules[key] = self.convert(child, f"{name}.{key}" if name else key)
        return module

    def _convolution(self, conv: Any, name: str) -> nn.Module:
        size = _cube(conv.kernel_size, name, conv, "kernel size")
        stride = _cube(conv.stride, name, conv, "stride")
        dilation = _cube(conv.dilation, name, conv, "dilation")
        padding: Any = conv.padding
        if not isinstance(padding, str):
            padding = _cube(padding, name, conv, "padding")
        shared: dict[str, Any] = {
            "stride": stride,
            "dilation": dilation,
            "groups": conv.groups,
            "bias": conv.bias is not None,
            "padding_mode": conv.padding_mode,
        }
        channels = (conv.in_channels, conv.out_channels)
        weight = conv._parameters["weight"]
        twin: nn.Module
        if self.kind == "acs":
            try:
                twin = AcsConv3d(*channels, size, padding=padding, **shared)
            except InputError as error:
                raise _refusal(name, conv, str(error)) from error
            twin._parameters["weight"] = weight
        elif self.kind == "3d":
            twin = nn.Conv3d(*channels, size, padding=padding, **shared)
            twin._parameters["weight"] = self._inflate(weight, size)
        else:
            flat = padding if isinstance(padding, str) else (0, padding, padding)
            twin = nn.Conv3d(*channels, (1, size, size), padding=flat, **shared)
            twin._parameters["weight"] = self._inflate(weight, 1)
        twin._parameters["bias"] = conv._parameters["bias"]
        return twin

    def _inflate(self, weight: nn.Parameter | None, depth: int) -> nn.Parameter:
        assert weight is not None  # or `_refuse_hooks` would have stopped
        if id(weight) not in self.inflated:
            new = nn.Parameter(inflate(weight.detach(), depth), weight.requires_grad)
            self.inflated[id(weight)] = (weight, new)
        return self.inflated[id(weight)][1]


def inflate(weight: torch.Tensor, depth: int) -> torch.Tensor:
    """A 2D kernel ``(O, I, K, K)`` as ``(O, I, depth, K, K)`` whose sum over depth is the same.

    Example:
        >>> inflate(torch.ones(1, 1, 3, 3), 2).unique().tolist()
        [0.5]
    """
    return weight.unsqueeze(2).repeat(1, 1, depth, 1, 1) / depth


def _norm(twin: type[nn.Module]) -> Callable[[Any, str], nn.Module]:
    def make(old: Any, name: str) -> nn.Module:
        new: Any = twin(
            old.num_features,
            eps=old.eps,
            momentum=old.momentum,
            affine=False,
            track_running_stats=old.track_running_stats,
        )
        new.affine = old.affine
        new._parameters.update(old._parameters)
        new._buffers.update(old._buffers)
        return new  # type: ignore[no-any-return]

    return make


def _max_pool(old: nn.MaxPool2d, name: str) -> nn.Module:
    return nn.MaxPool3d(
        _cube(old.kernel_size, name, old, "kernel size"),
        stride=_cube(old.stride, name, old, "stride"),
        padding=_cube(old.padding, name, old, "padding"),
        dilation=_cube(old.dilation, name, old, "dilation"),
        return_indices=old.return_indices,
        ceil_mode=old.ceil_mode,
    )


def _avg_pool(old: nn.AvgPool2d, name: str) -> nn.Module:
    if old.divisor_override is not None:
        raise _refusal(name, old, "its divisor_override counts pixels of a plane")
    return nn.AvgPool3d(
        _cube(old.kernel_size, name, old, "kernel size"),
        stride=_cube(old.stride, name, old, "stride"),
        padding=_cube(old.padding, name, old, "padding"),
        ceil_mode=old.ceil_mode,
        count_include_pad=old.count_include_pad,
    )


def _adaptive_avg_pool(old: nn.AdaptiveAvgPool2d, name: str) -> nn.Module:
    return nn.AdaptiveAvgPool3d(_cube(old.output_size, name, old, "output size"))


def _adaptive_max_pool(old: nn.AdaptiveMaxPool2d, name: str) -> nn.Module:
    size = _cube(old.output_size, name, old, "output size")
    return nn.AdaptiveMaxPool3d(size, return_indices=old.return_indices)


def _dropout(old: nn.Dropout2d, name: str) -> nn.Module:
    return nn.Dropout3d(old.p, old.inplace)


def _upsample(old: nn.Upsample, name: str) -> nn.Module:
    modes = {"nearest": "nearest", "nearest-exact": "nearest-exact", "bilinear": "trilinear"}
    if old.mode not in modes:
        raise _refusal(name, old, f"the mode {old.mode!r} has no 3D form")
    return nn.Upsample(
        size=_cube(old.size, name, old, "size"),
        scale_factor=_cube(old.scale_factor, name, old, "scale factor"),
        mode=modes[old.mode],
        align_corners=old.align_corners,
        recompute_scale_factor=old.recompute_scale_factor,
    )


_LAYERS: dict[type[nn.Module], Callable[[Any, str], nn.Module]] = {
    nn.BatchNorm2d: _norm(nn.BatchNorm3d),
    nn.InstanceNorm2d: _norm(nn.InstanceNorm3d),
    nn.MaxPool2d: _max_pool,
    nn.AvgPool2d: _avg_pool,
    nn.AdaptiveAvgPool2d: _adaptive_avg_pool,
    nn.AdaptiveMaxPool2d: _adaptive_max_pool,
    nn.Dropout2d: _dropout,
    nn.Upsample: _upsample,
}

_PLANE_ONLY = (nn.PixelShuffle, nn.PixelUnshuffle, nn.Fold, nn.Unfold)


def _cube(value: Any, name: str, layer: nn.Module, what: str) -> Any:
    """The one number that a square setting repeats, for all three axes."""
    if not isinstance(value, tuple):
        return value
    if len(set(value)) != 1:
        raise _refusal(name, layer, f"its {what} {value} is not square, so depth has none")
    return value[0]


def _refuse_hooks(layer: nn.Module, name: str) -> None:
    names = set(layer._parameters)
    if names not in ({"weight", "bias"}, set()) or any(getattr(layer, hooks) for hooks in _HOOKS):
        raise _refusal(name, layer, "it carries hooks (as weight_norm does); remove them first")


def _refuse_flat(module: nn.Module, name: str) -> None:
    """Refuse what would fail, or silently go wrong, only once a volume arrives."""
    own_kernel = any(p is not None and p.ndim == 4 for p in module._parameters.values())
    leaf = not module._modules
    for base in type(module).__mro__:
        torch_layer = base.__module__.startswith(("torch.nn.", "torchvision.ops."))
        if base.__name__.endswith(("1d", "2d")) and (torch_layer or leaf):
            raise _refusal(name, module, "it has no 3D counterpart here")
    if own_kernel or isinstance(module, _PLANE_ONLY):
        raise _refusal(name, module, "it has no 3D counterpart here")


def _refusal(name: str, layer: nn.Module, reason: str) -> InputError:
    supported = ", ".join(["Conv2d", *(kind.__name__ for kind in _LAYERS)])
    return InputError(
        f"layer {name or '(root)'!r} ({type(layer).__name__}) cannot be converted to 3D: {reason}. "
        f"Supported: {supported}, and layers without axes (linear, activations, group norm)"
    )
