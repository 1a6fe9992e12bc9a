"""Maps of tokens against their definition, and on pictures whose sign is at a known place."""

import numpy as np
import pytest
import torch
from torch import nn

from medldr import plugins
from medldr.errors import InputError
from medldr.evaluation.explain.grad_cam import NoMapError
from medldr.evaluation.explain.token_map import token_map
from medldr.models import build_model
from medldr.types import DataSpec


def build(network, size=(64, 64), classes=3):
    config = plugins.load("models", "timm").Config(network=network)
    spec = DataSpec("multi-class", tuple("abc"[:classes]), (1,) * classes, 1, size)
    return build_model(config, spec, 0).eval()


def images(n, size=(64, 64)):
    return torch.rand(n, 1, *size, generator=torch.Generator().manual_seed(0))


def by_hand(model, image, target):
    """A ViT of timm from its weights: gradient and attention of each block, and the map."""
    net, attention = model.network, []
    x = net._pos_embed(net.patch_embed(image))
    for block in net.blocks:
        of, n = block.attn, len(x)
        q, k, v = of.qkv(block.norm1(x)).reshape(n, -1, 3, of.num_heads, of.head_dim).unbind(2)
        q, k, v = (one.transpose(1, 2) for one in (of.q_norm(q), of.k_norm(k), v))
        attention.append((q @ k.transpose(2, 3) / of.head_dim**0.5).softmax(3))
        seen = (attention[-1] @ v).transpose(1, 2).flatten(2)
        x = x + block.ls1(of.proj(seen))
        x = x + block.ls2(block.mlp(block.norm2(x)))
    z = net.norm(x)[:, 0] if net.global_pool == "token" else net.fc_norm(net.norm(x)[:, 1:].mean(1))
    logits = model.classify(z)
    slopes = torch.autograd.grad(logits[0, target], attention)
    pairs = zip(attention, slopes, strict=True)
    heat = sum((a * g)[0].clamp(min=0).mean(0).sum(0)[1:] for a, g in pairs)
    heat = heat.reshape(1, 1, *model.token_grid)
    large = nn.functional.interpolate(heat, image.shape[2:], mode="bilinear", align_corners=False)
    return logits.detach(), (large / large.max())[0, 0].detach()


@pytest.mark.parametrize("network", ["test_vit", "test_vit2"])
def test_a_map_is_the_attention_each_patch_receives_weighted_by_its_gradient(network):
    size = (64, 96)
    model, image = build(network, size).double(), images(2, size)
    for target in (0, 2):
        logits, expected = by_hand(model, image[:1].double(), target)
        torch.testing.assert_close(logits, model(image[:1].double()))
        found = token_map(model, image, [target, 1])
        torch.testing.assert_close(found[0], expected.float(), rtol=0, atol=1e-5)


def test_views_of_an_item_have_a_map_each_to_one_scale():
    model, image = build("test_vit"), images(2)
    single = token_map(model, image, [1, 1])
    model.take_views(2)
    both = token_map(model, image.reshape(1, 2, 64, 64), [1])[0]
    assert both.max() == 1
    for found, alone in zip(both, single, strict=True):
        torch.testing.assert_close(found / found.max(), alone, rtol=0, atol=1e-5)


def test_a_transformer_is_left_as_it_was_and_a_class_must_exist():
    model, image = build("test_vit").train(), images(2)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    attends = [module.attn for module in model.network.blocks]
    with torch.inference_mode():
        assert token_map(model, image, [0, 2]).shape == (2, 64, 64)
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())
    assert model.training
    assert all(one.fused_attn and not one.attn_drop._forward_pre_hooks for one in attends)
    assert all(parameter.grad is None for parameter in model.parameters())
    with pytest.raises(InputError, match=r"^target must be"):
        token_map(model, image, [0, 3])


def test_tokens_without_places_or_attention_have_no_map():
    model = build("test_vit")
    model.token_grid = None
    with pytest.raises(NoMapError, match="neither feature maps nor tokens in a grid"):
        token_map(model, images(1), [0])
    mixer = build("mixer_s32_224")  # of patches in a grid, but without attention
    with pytest.raises(NoMapError, match="no attention between patches"):
        token_map(mixer, images(1), [0])


def spots(count, seed, size=96, radius=12):
    """Noise with a dark spot (class 0) or a bright one (class 1) anywhere; and where it is."""
    rng, (row, column) = np.random.default_rng(seed), np.indices((size, size))
    pictures, places = [], []
    for number in range(count):
        at = rng.uniform(radius, size - radius, 2)
        away = np.square(row - at[0]) + np.square(column - at[1])
        spot = 1.5 * np.exp(-away / radius**2) * (1 if number % 2 else -1)
        pictures.append(spot + rng.normal(0, 0.5, (size, size)))
        places.append(away <= radius**2)
    image = torch.from_numpy(np.stack(pictures)[:, None]).float()
    return image, torch.arange(count) % 2, np.array(places)


@pytest.mark.slow  # trains for half a minute
def test_a_transformer_trained_to_find_signs_looks_at_them():
    """Of as many of the hottest pixels as the spot has, most are in it; by chance, 5% would be."""
    image, label, _ = spots(600, seed=0)
    model = build("test_vit", (96, 96), classes=2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    random = torch.Generator().manual_seed(0)
    for _ in range(4):
        for rows in torch.randperm(len(image), generator=random).split(32):
            loss = nn.functional.cross_entropy(model.train()(image[rows]), label[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    image, label, places = spots(80, seed=100)
    with torch.no_grad():
        right = model.eval()(image).argmax(1) == label
    assert right.float().mean() > 0.9
    heat = token_map(model, image[right], label[right]).flatten(1).numpy()
    inside = places[right].reshape(len(heat), -1)
    shares = [
        spot[np.argsort(-one, kind="stable")[: spot.sum()]].mean()
        for one, spot in zip(heat, inside, strict=True)
    ]
    print(f"{np.mean(shares):.2f} of the hottest pixels, by chance {inside.mean():.3f}")
    assert np.mean(shares) > 10 * inside.mean()
