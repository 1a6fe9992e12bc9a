"""An independent NumPy float64 version of the layers, written from the paper's formulas."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import erf


def layer_norm(x, weight, bias):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * weight + bias


def attend(w, query, z_set, heads, seen, scaled=True):
    q, k, v = (
        x @ w[f"{name}.weight"].T + w[f"{name}.bias"]
        for name, x in (("query", query), ("key", z_set), ("value", z_set))
    )
    size = q.shape[1] // heads
    parts = []
    for h in range(heads):
        cut = slice(h * size, (h + 1) * size)
        scores = q[:, cut] @ k[:, cut].T / (np.sqrt(size) if scaled else 1)
        if seen is not None:
            scores = np.where(seen, scores, -np.inf)
        scores = np.exp(scores - scores.max(1, keepdims=True))
        parts.append(scores / scores.sum(1, keepdims=True) @ v[:, cut])
    return np.concatenate(parts, 1) @ w["out.weight"].T + w["out.bias"]


def pool(w, query, z_set, heads, seen):
    if seen is None:
        return np.repeat(z_set.mean(0, keepdims=True), len(query), 0)
    return np.stack([z_set[row].mean(0) for row in seen])


def relu(x):
    return np.maximum(x, 0)


def gelu(x):
    return x * (1 + erf(x / np.sqrt(2))) / 2


def run_layer(module, query, z_set, *, seen=None, heads=1, activation=relu, scaled=True):
    """The layer's output, from its weights and norm alone."""
    w = {n: p.detach().double().numpy() for n, p in module.state_dict().items()}
    query, z_set = (np.asarray(x, dtype=np.float64) for x in (query, z_set))
    seen = None if seen is None else np.asarray(seen)
    mix = partial(attend, scaled=scaled) if "query.weight" in w else pool

    def norm_1(x):
        return layer_norm(x, w["norm_mix.weight"], w["norm_mix.bias"])

    def norm_2(x):
        return layer_norm(x, w["norm_ff.weight"], w["norm_ff.bias"])

    def forward(x):
        hidden = activation(x @ w["ff_in.weight"].T + w["ff_in.bias"])
        return hidden @ w["ff_out.weight"].T + w["ff_out.bias"]

    if module.norm == "post":
        a = norm_1(query + mix(w, query, z_set, heads, seen))
        return norm_2(a + forward(a))
    if module.norm == "residual":
        a = norm_1(query) + mix(w, query, z_set, heads, seen)
        return norm_2(a) + forward(a)
    a = query + mix(w, norm_1(query), norm_1(z_set), heads, seen)
    return a + forward(norm_2(a))


def shake(module):
    """Give every weight (also those that start at 0 or 1) a value of its own."""
    import torch

    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for p in module.parameters():
            p.add_(0.3 * torch.randn(p.shape, generator=generator, dtype=p.dtype))
    return module


@pytest.fixture(scope="session")
def reference():
    return SimpleNamespace(run_layer=run_layer, shake=shake, relu=relu, gelu=gelu)
