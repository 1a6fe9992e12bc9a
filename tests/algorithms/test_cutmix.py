import numpy as np
import pytest
import torch

from medldr.algorithms._mixing import Pairs
from medldr.algorithms.cutmix import CutMixConfig, box_around, kept, mask
from medldr.config import load_part

PARTNER = torch.tensor([3, 0, 5, 1, 4, 7, 2, 6])
SIZES = [(8, 8), (5, 12), (6, 4, 9)]


def share_of(value):
    return torch.tensor(value, dtype=torch.float64)


@pytest.fixture
def build(standins):
    def make(**keys):
        spec = standins.make_spec()
        model = standins.make_model(spec)
        return model, standins.make_algorithm("cutmix", spec, model, **keys)

    return make


@pytest.fixture
def paste(build):
    """What the network sees of a batch of images at a given share, and the share it keeps."""

    def run(image, share, **keys):
        _, algorithm = build(**keys)

        class Camera:
            def features(self, seen):
                self.seen = seen

        camera = Camera()
        _, pairs = algorithm.mixed_latents(camera, image, Pairs(share_of(share), PARTNER))
        assert torch.equal(pairs.partner, PARTNER)
        return camera.seen, pairs.share

    return run


def by_hand(centre, size, share):
    """The box of one image, in plain Python: first and last pixel by axis, and what is kept."""
    box, pixels = [], 1
    for at, length in zip(centre, size, strict=True):
        half = int(length * (1 - share) ** (1 / len(size))) // 2
        first, last = max(at - half, 0), min(at + half, length)
        box.append((first, last))
        pixels *= last - first
    return box, 1 - pixels / np.prod(size)


@pytest.mark.parametrize(
    ("size", "share", "centre", "box", "left"),
    [
        ((8, 8), 0.75, (4, 4), ((2, 6), (2, 6)), 0.75),
        ((8, 8), 0.75, (0, 0), ((0, 2), (0, 2)), 0.9375),
        ((8, 8), 0.75, (7, 4), ((5, 8), (2, 6)), 1 - 12 / 64),
        # Each axis has its own length.
        ((4, 16), 0.75, (2, 8), ((1, 3), (4, 12)), 0.75),
        ((16, 4), 0.75, (8, 2), ((4, 12), (1, 3)), 0.75),
        # Half an odd side is rounded down: floor(10 * 0.5) = 5 becomes 4.
        ((10, 10), 0.75, (5, 5), ((3, 7), (3, 7)), 0.84),
        # A volume's side is a cube root.
        ((8, 8, 8), 0.875, (4, 4, 4), ((2, 6), (2, 6), (2, 6)), 0.875),
        ((8, 4, 16), 0.875, (4, 2, 0), ((2, 6), (1, 3), (0, 4)), 1 - 4 * 2 * 4 / 512),
        # Nothing, and everything.
        ((8, 8), 1.0, (3, 3), ((3, 3), (3, 3)), 1.0),
        ((8, 8), 0.0, (4, 4), ((0, 8), (0, 8)), 0.0),
    ],
)
def test_worked_boxes(size, share, centre, box, left):
    found = box_around(torch.tensor(centre), size, share_of(share))
    assert tuple(map(tuple, found.T.tolist())) == box
    assert kept(found, size).item() == pytest.approx(left, abs=1e-12)
    assert by_hand(centre, size, share) == (list(box), pytest.approx(left, abs=1e-12))


@pytest.mark.parametrize("size", SIZES)
def test_boxes_and_shares_equal_those_made_by_hand(size):
    generator = np.random.default_rng(0)
    for _ in range(100):
        share = generator.uniform()
        centre = [int(generator.integers(length)) for length in size]
        box, left = by_hand(centre, size, share)
        found = box_around(torch.tensor(centre), size, share_of(share))
        assert [tuple(axis) for axis in found.T.tolist()] == box
        assert kept(found, size).item() == pytest.approx(left, abs=1e-12)
        inside = np.zeros(size, dtype=bool)
        inside[tuple(slice(*axis) for axis in box)] = True
        np.testing.assert_array_equal(mask(found, size).numpy(), inside)


@pytest.mark.parametrize("size", SIZES)
def test_pasted_pixels_are_the_partners_and_as_many_as_the_share_says(size, paste):
    torch.manual_seed(1)
    # Every image has a value of its own; no two agree anywhere.
    image = torch.arange(8.0).view(8, *[1] * (len(size) + 1)).expand(8, 3, *size).contiguous()
    shares = set()
    for share in (0.1, 0.4, 0.7, 0.95):
        seen, left = paste(image, share)
        pasted = seen == image[PARTNER]
        own = seen == image
        moved = torch.arange(8) != PARTNER
        assert (pasted | own).all()
        assert not (pasted & own)[moved].any()
        # The same box for every image and channel, and its pixels are counted.
        assert (pasted[moved] == pasted[0, 0]).all()
        count = pasted[0, 0].sum().item()
        assert count == pytest.approx((1 - left.item()) * np.prod(size), abs=1e-3)
        shares.add(round(left.item(), 4))
    assert len(shares) > 1


def test_at_share_1_the_batch_is_unchanged(paste):
    image = torch.randn(8, 1, 6, 7)
    seen, left = paste(image, 1.0)
    assert torch.equal(seen, image)
    assert left == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    ("shape", "layout"),
    [((8, 3, 6, 7), torch.channels_last), ((8, 3, 4, 6, 7), torch.channels_last_3d)],
)
def test_dtype_and_memory_format_stay(shape, layout, dtype, paste):
    image = torch.randn(shape).to(dtype)
    seen, _ = paste(image, 0.3)
    assert seen.dtype == dtype
    assert seen.is_contiguous()
    seen, _ = paste(image.contiguous(memory_format=layout), 0.3)
    assert seen.is_contiguous(memory_format=layout)


def test_prob_is_the_share_of_batches_that_are_mixed(build):
    _, algorithm = build(prob=0.3)
    torch.manual_seed(0)
    mixed = [algorithm.draw(4).share.item() < 1 for _ in range(1000)]
    # Standard error of a share of 0.3 in 1000 draws: 0.0145.
    assert np.mean(mixed) == pytest.approx(0.3, abs=0.06)
    _, never = build(prob=0)
    assert all(never.draw(4).share == 1 for _ in range(50))
    _, always = build()
    assert all(always.draw(4).share < 1 for _ in range(50))


def test_without_mixing_by_prob_the_loss_is_erms(build, standins):
    model, algorithm = build(prob=0)
    spec = standins.make_spec()
    batch = standins.make_batch(spec, 8)
    expected = standins.make_algorithm("erm", spec, model).loss(model, batch)
    out = algorithm.loss(model, batch)
    assert torch.equal(out.loss, expected.loss)
    assert torch.equal(out.logits, expected.logits)


def test_a_chance_is_between_0_and_1(build):
    for prob in (-0.1, 1.1):
        with pytest.raises(ValueError, match="prob"):
            build(prob=prob)


def test_the_part_states_the_defaults_of_the_papers_row():
    part = load_part("algorithm", "cutmix")["algorithm"]
    assert part == {"name": "cutmix", "lr_scale": 1.0, "beta": 1.0, "prob": 1.0}
    assert CutMixConfig(**part) == CutMixConfig()
