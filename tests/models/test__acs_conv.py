"""The ACS convolution against its definition: a cubic kernel, zero off its central slice."""

import pytest
import torch
from torch.nn.functional import conv2d, conv3d, pad

from medldr.errors import InputError
from medldr.models._acs_conv import AcsConv3d

CRASHES = [  # (kernel, padding, size) at stride 1 where the acsconv package fails
    (5, 0, (8, 9, 10)),
    (7, 0, (12, 9, 10)),
    (7, 1, (8, 9, 10)),
    (7, 0, (8, 12, 12)),
    (7, 1, (9, 8, 8)),
]


def embedded(x, layer):
    """The definition, written with one dense `conv3d`."""
    kernels = []
    for axis, weight in enumerate(layer.weight.split(tuple(layer.acs_kernel_split))):
        half = weight.shape[-1] // 2
        pads = [0] * 6
        pads[2 * (2 - axis)] = pads[2 * (2 - axis) + 1] = half
        kernels.append(pad(weight.unsqueeze(2 + axis), pads))
    return conv3d(
        x,
        torch.cat(kernels),
        layer.bias,
        layer.stride,
        layer.padding,
        layer.dilation,
        layer.groups,
    )


def assert_equals_definition(layer, size, inputs=2, layout=torch.contiguous_format):
    torch.manual_seed(0)
    layer = layer.double()
    x = torch.randn(inputs, layer.in_channels, *size, dtype=torch.float64)
    x = x.contiguous(memory_format=layout).requires_grad_()
    out, expected = layer(x), embedded(x, layer)
    assert out.shape == expected.shape
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-10)
    leaves = [x, *layer.parameters()]
    seed = torch.randn_like(out)
    got = torch.autograd.grad(out, leaves, seed)
    want = torch.autograd.grad(expected, leaves, seed)
    for a, b in zip(got, want, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-10)


def test_ones_give_the_number_of_taps_inside_the_volume():
    layer = AcsConv3d(1, 3, 3, padding=1, bias=False)
    torch.nn.init.ones_(layer.weight)
    out = layer(torch.ones(1, 1, 5, 5, 5))[0]
    expected = {
        (2, 2, 2): [9, 9, 9],
        (0, 2, 2): [9, 6, 6],
        (2, 0, 2): [6, 9, 6],
        (2, 2, 0): [6, 6, 9],
        (0, 0, 2): [6, 6, 4],
        (0, 0, 0): [4, 4, 4],
    }
    for (d, h, w), values in expected.items():
        assert out[:, d, h, w].tolist() == values


def test_channels_split_into_thirds_with_the_first_ones_larger():
    table = [(1, 0, 0), (1, 1, 0), (1, 1, 1), (2, 1, 1), (2, 2, 1), (2, 2, 2)]
    table += [(3, 2, 2), (3, 3, 2), (3, 3, 3), (4, 3, 3), (4, 4, 3)]
    for outputs, split in enumerate(table, start=1):
        assert tuple(AcsConv3d(2, outputs, 3).acs_kernel_split) == split


@pytest.mark.parametrize("kernel", [1, 3, 5, 7])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_equals_the_embedded_cubic_kernel_and_its_gradients(kernel, stride):
    for padding in range(kernel // 2 + 3):
        layer = AcsConv3d(2, 4, kernel, stride=stride, padding=padding)
        assert_equals_definition(layer, (8, 9, 10))


@pytest.mark.parametrize(("kernel", "padding", "size"), CRASHES)
def test_works_where_the_package_crashes(kernel, padding, size):
    layer = AcsConv3d(2, 4, kernel, padding=padding)
    package = super(AcsConv3d, layer).forward
    with pytest.raises(RuntimeError, match="Sizes of tensors must match"):
        package(torch.randn(1, 2, *size))
    assert_equals_definition(layer, size)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("dilation", [1, 2, 3])
def test_dilation_and_unequal_axes_follow_the_definition(stride, dilation):
    layer = AcsConv3d(2, 5, 3, (stride, 1, 2), (1, dilation, 0), (dilation, 1, 2))
    assert_equals_definition(layer, (8, 9, 10))


@pytest.mark.parametrize(
    ("inputs", "outputs", "groups"), [(4, 4, 2), (6, 6, 6), (6, 12, 3), (4, 10, 2), (9, 36, 9)]
)
@pytest.mark.parametrize("padding", [0, 1])
def test_groups_follow_the_definition(inputs, outputs, groups, padding):
    layer = AcsConv3d(inputs, outputs, 3, padding=padding, groups=groups)
    assert_equals_definition(layer, (5, 6, 7))


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last_3d])
@pytest.mark.parametrize("padding", [0, 1, 2, 3])
@pytest.mark.parametrize("dilation", [1, 2])
def test_exchanged_weight_gradient_is_exact(layout, padding, dilation, monkeypatch):
    from medldr.models import _acs_conv

    calls = []
    gradient = _acs_conv.convolution_gradient
    monkeypatch.setattr(
        _acs_conv, "convolution_gradient", lambda *args: calls.append(args[-1]) or gradient(*args)
    )
    layer = AcsConv3d(16, 20, 3, padding=padding, dilation=dilation)
    assert_equals_definition(layer, (5, 6, 7), layout=layout)
    # Only where padding is the usual one or less does the exchanged form exist for every axis.
    assert (1 in calls) == (padding <= dilation)


def test_second_derivatives_of_the_exchanged_form_are_right():
    torch.manual_seed(0)
    layer = AcsConv3d(16, 3, 3, padding=1, bias=False).double()
    x = torch.randn(1, 16, 2, 3, 2, dtype=torch.float64, requires_grad=True)
    assert type(layer(x).grad_fn.next_functions[0][0]).__name__ == "_SwappedConv3dBackward"

    def squared_gradient(function):
        (first,) = torch.autograd.grad(function(x).pow(3).sum(), layer.weight, create_graph=True)
        return torch.autograd.grad(first.pow(2).sum(), [x, layer.weight])

    for a, b in zip(
        squared_gradient(layer), squared_gradient(lambda t: embedded(t, layer)), strict=True
    ):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)


def test_axial_channels_are_the_2d_convolution_of_every_slice():
    layer = AcsConv3d(3, 6, 3, padding=1).double()
    x = torch.randn(1, 3, 4, 5, 6, dtype=torch.float64)
    out = layer(x)
    for axis in range(3):
        channels = slice(2 * axis, 2 * axis + 2)
        for position in range(x.shape[2 + axis]):
            plane = x.select(2 + axis, position)
            expected = conv2d(plane, layer.weight[channels], layer.bias[channels], padding=1)
            got = out[:, channels].select(2 + axis, position)
            torch.testing.assert_close(got, expected, rtol=0, atol=1e-12)


def test_memory_layout_changes_nothing_but_the_layout():
    layer = AcsConv3d(16, 7, 3, padding=1)
    x = torch.randn(2, 16, 4, 5, 6)
    last = layer(x.contiguous(memory_format=torch.channels_last_3d))
    assert last.is_contiguous(memory_format=torch.channels_last_3d)
    torch.testing.assert_close(last, layer(x), rtol=1e-5, atol=1e-5)


def test_autocast_gives_bfloat16_with_float32_gradients():
    layer = AcsConv3d(16, 7, 3, padding=1)
    x = torch.randn(2, 16, 4, 5, 6)
    with torch.autocast("cpu", torch.bfloat16):
        out = layer(x)
    out.float().sum().backward()
    assert out.dtype == torch.bfloat16
    assert layer.weight.grad.dtype == torch.float32
    torch.testing.assert_close(out.float(), layer(x), rtol=0.05, atol=0.05)


def test_an_explicit_split_is_used_and_must_add_up():
    layer = AcsConv3d(2, 5, 3, padding=1, acs_kernel_split=(0, 1, 4))
    assert_equals_definition(layer, (4, 5, 6))
    with pytest.raises(InputError, match="add up to out_channels = 5"):
        AcsConv3d(2, 5, 3, acs_kernel_split=(1, 1, 1))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"kernel_size": 2}, "odd kernel size, not 2"),
        ({"kernel_size": 3, "padding_mode": "reflect"}, "zeros only, not 'reflect'"),
        ({"kernel_size": 3, "padding_mode": "circular"}, "zeros only, not 'circular'"),
        ({"kernel_size": 3, "padding": "same"}, "as a number, not 'same'"),
    ],
)
def test_what_has_no_exact_form_is_refused(keys, message):
    with pytest.raises(InputError, match=message):
        AcsConv3d(2, 4, **keys)


def test_the_weight_and_its_initial_range_are_those_of_conv2d():
    torch.manual_seed(0)
    layer = AcsConv3d(16, 64, 3)
    bound = 1 / (16 * 9) ** 0.5
    assert layer.weight.shape == (64, 16, 3, 3)
    assert 0.99 * bound < layer.weight.abs().max() <= bound
