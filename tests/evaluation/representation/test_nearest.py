"""The exact search: equal to a loop, ties by row, own group left out."""

import numpy as np
import pytest

from medldr.evaluation.representation import neighbourhoods as module
from medldr.evaluation.representation.neighbourhoods import nearest


def by_hand(queries, gallery, k, owner, owners):
    out = []
    for query, own in zip(queries.astype(float), owner, strict=True):
        away = []
        for row, item in enumerate(gallery.astype(float)):
            if owners[row] == own:
                continue
            away.append((1 - query @ item / np.sqrt(query @ query) / np.sqrt(item @ item), row))
        found = [row for _, row in sorted(away)][:k]
        out.append(found + [-1] * (k - len(found)))
    return out


@pytest.mark.parametrize("chunk", [module.CHUNK, 100])
def test_it_finds_what_a_loop_over_all_pairs_finds(chunk, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", chunk)
    rng = np.random.default_rng(0)
    gallery = (5 + rng.normal(size=(60, 4))).astype(np.float32)
    queries = (5 + rng.normal(size=(25, 4))).astype(np.float32)
    owners = np.repeat(np.arange(20), 3)
    owner = rng.integers(20, size=25)
    found = nearest(queries, gallery, 7, owner=owner, owners=owners)
    assert found.tolist() == by_hand(queries, gallery, 7, owner, owners)


def test_equally_near_items_come_in_the_order_of_their_rows():
    rng = np.random.default_rng(1)
    base = rng.normal(size=(5, 37))
    gallery = np.concatenate([base, base, base])  # rows r, r + 5 and r + 10 are the same
    owners = np.arange(15)
    found = nearest(base, gallery, 4, owner=np.full(5, -1), owners=owners)
    assert [row[:3] for row in found.tolist()] == [[r, r + 5, r + 10] for r in range(5)]
    same = np.ones((9, 3))
    found = nearest(same, same, 3, owner=np.arange(9), owners=np.arange(9))
    assert found[4].tolist() == [0, 1, 2]
    assert found[1].tolist() == [0, 2, 3]


def test_missing_neighbours_are_marked():
    z = np.eye(3)
    found = nearest(z, z, 4, owner=np.array([0, 0, 1]), owners=np.array([0, 0, 1]))
    assert found.tolist() == [[2, -1, -1, -1], [2, -1, -1, -1], [0, 1, -1, -1]]
    assert nearest(z[:0], z, 2, owner=np.arange(0), owners=np.arange(3)).shape == (0, 2)


def test_a_latent_without_a_direction_is_refused():
    z = np.array([[1.0, 0.0], [0.0, 0.0]])
    with pytest.raises(ValueError, match="direction"):
        nearest(z, z, 1, owner=np.arange(2), owners=np.arange(2))
