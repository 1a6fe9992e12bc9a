"""Turning 2D networks 3D."""

import copy

import pytest
import torch
from torch import nn

from medldr.errors import InputError
from medldr.models._acs import convert
from medldr.models._acs_conv import AcsConv3d

KINDS = ["acs", "2.5d", "3d"]


def small():
    return nn.Sequential(
        nn.Conv2d(3, 6, 3, stride=2, padding=1),
        nn.BatchNorm2d(6),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 6, 3, padding=1, groups=3),
        nn.InstanceNorm2d(6, affine=True),
        nn.AvgPool2d(2, ceil_mode=True),
        nn.Dropout2d(0.2),
        nn.Upsample(scale_factor=2, mode="bilinear"),
        nn.AdaptiveMaxPool2d((2, 2)),
        nn.GroupNorm(2, 6),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(6, 2),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_every_supported_layer_runs_on_a_volume(kind):
    net = convert(small(), kind)
    assert net(torch.randn(2, 3, 16, 17, 18)).shape == (2, 2)
    assert not any(type(m).__name__.endswith("2d") for m in net.modules())


def test_acs_keeps_the_state_dict_and_loads_a_2d_one():
    flat = small()
    net = convert(small(), "acs")
    assert list(net.state_dict()) == list(flat.state_dict())
    net.load_state_dict(flat.state_dict())
    for key, value in flat.state_dict().items():
        assert torch.equal(net.state_dict()[key], value)


@pytest.mark.parametrize("kind", KINDS)
def test_the_given_network_and_the_random_state_stay_as_they_were(kind):
    flat = small()
    before = copy.deepcopy(flat.state_dict())
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    net = convert(flat, kind)
    assert torch.equal(torch.rand(1), expected)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(1)
    assert all(torch.equal(flat.state_dict()[k], v) for k, v in before.items())
    assert isinstance(flat[0], nn.Conv2d)


@pytest.mark.parametrize("kind", KINDS)
def test_modes_dtype_and_frozen_weights_are_kept(kind):
    flat = small().double()
    flat[1].eval()
    flat[0].weight.requires_grad_(False)
    net = convert(flat, kind)
    assert [m.training for m in net] == [m.training for m in flat]
    assert not net[0].weight.requires_grad
    assert net[0].bias.requires_grad
    assert {p.dtype for p in net.parameters()} == {torch.float64}


def test_a_bare_layer_is_converted_too():
    assert isinstance(convert(nn.Conv2d(1, 3, 3), "acs"), AcsConv3d)
    assert isinstance(convert(nn.BatchNorm2d(3), "acs"), nn.BatchNorm3d)


@pytest.mark.parametrize("kind", KINDS)
def test_shared_modules_and_parameters_stay_shared(kind):
    conv, tied = nn.Conv2d(2, 2, 3, padding=1), nn.Conv2d(2, 2, 3, padding=1)
    tied.weight = conv.weight
    net = convert(nn.Sequential(conv, nn.Sequential(conv), tied), kind)
    assert net[0] is net[1][0]
    assert net[2].weight is net[0].weight
    assert net[2] is not net[0]


def test_a_batch_norm_without_bias_or_statistics_stays_so():
    net = convert(
        nn.Sequential(nn.BatchNorm2d(2, bias=False), nn.BatchNorm2d(2, affine=False)), "acs"
    )
    assert net[0].bias is None
    assert net[0].weight is not None
    assert net[1].weight is None
    assert convert(nn.BatchNorm2d(2, track_running_stats=False), "acs").running_mean is None


def test_inflated_kernels_give_the_2d_result_on_a_volume_constant_in_depth():
    flat = nn.Sequential(
        nn.Conv2d(3, 4, 5, padding=2), nn.BatchNorm2d(4), nn.Conv2d(4, 2, 3)
    ).double()
    flat[1].running_mean.uniform_()
    flat.eval()
    image = torch.randn(2, 3, 9, 9, dtype=torch.float64)
    volume = image.unsqueeze(2).expand(-1, -1, 11, -1, -1)
    out = convert(flat, "3d")(volume)
    torch.testing.assert_close(out[:, :, 4], flat(image), rtol=0, atol=1e-12)


def test_inflated_kernels_sum_to_the_2d_kernel():
    flat = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
    counts = {kind: convert(flat, kind).weight.numel() for kind in KINDS}
    assert counts == {"acs": 9408, "2.5d": 9408, "3d": 65856}
    torch.testing.assert_close(convert(flat, "3d").weight.sum(2), flat.weight)


def test_flat_kernels_treat_each_slice_as_a_picture():
    flat = nn.Conv2d(3, 4, 3, padding=1)
    volume = torch.randn(1, 3, 4, 6, 6)
    out = convert(flat, "2.5d")(volume)
    for depth in range(4):
        torch.testing.assert_close(
            out[:, :, depth], flat(volume[:, :, depth]), rtol=1e-4, atol=1e-5
        )


class Odd(nn.Conv2d):
    pass


class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.kernel = nn.Parameter(torch.ones(1, 1, 3, 3))


def normed():
    with pytest.warns(FutureWarning):
        return nn.utils.weight_norm(nn.Conv2d(1, 1, 3))


@pytest.mark.parametrize(
    ("layer", "reason"),
    [
        (nn.ConvTranspose2d(2, 2, 2), "no 3D counterpart"),
        (nn.Conv2d(2, 2, 3, padding=1, padding_mode="reflect"), "zeros only"),
        (nn.Conv2d(2, 2, 2), "odd kernel size"),
        (nn.Conv2d(2, 2, (1, 3)), "not square"),
        (nn.Conv2d(2, 2, 3, stride=(1, 2)), "not square"),
        (nn.Conv2d(2, 2, 3, padding="same"), "'same'"),
        (nn.MaxPool2d((2, 1)), "not square"),
        (nn.AvgPool2d(2, divisor_override=3), "divisor_override"),
        (nn.Upsample(scale_factor=2, mode="bicubic"), "bicubic"),
        (nn.PixelShuffle(2), "no 3D counterpart"),
        (nn.ReflectionPad2d(1), "no 3D counterpart"),
        (Odd(1, 1, 3), "no 3D counterpart"),
        (Own(), "no 3D counterpart"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_an_unsupported_layer_is_named_at_build_time(layer, reason):
    net = nn.ModuleDict({"body": nn.Sequential(nn.ReLU(), layer)})
    with pytest.raises(
        InputError, match=r"body\.1.*" + reason + ".*Supported: Conv2d, BatchNorm2d"
    ):
        convert(net, "acs")


def test_hooks_that_a_new_layer_would_lose_are_refused():
    hooked = nn.Conv2d(1, 1, 3)
    hooked.register_forward_hook(lambda *args: None)
    for layer in (normed(), hooked, nn.utils.parametrizations.weight_norm(nn.Conv2d(1, 1, 3))):
        with pytest.raises(InputError, match=r"'0' \(.*cannot be converted to 3D"):
            convert(nn.Sequential(layer), "acs")


def test_an_unknown_kind_is_an_error():
    with pytest.raises(InputError, match=r"'soft' is unknown. Known: acs, 2.5d, 3d"):
        convert(nn.ReLU(), "soft")
