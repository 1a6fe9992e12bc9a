"""Small networks whose answers differ from image to image, and records that go with them."""

import os
import subprocess
import sys

import nibabel
import numpy as np
import pytest
import torch
from PIL import Image
from scipy.ndimage import gaussian_filter
from torch import nn

from medldr import plugins
from medldr.data.files.rules import Rules
from medldr.folders.preprocessing_record import Preprocessing, Shape, Stored
from medldr.models import build_model
from medldr.models.base import FeatureModel
from medldr.types import DataSpec


class Tiny(FeatureModel):
    """One convolution, and pooling of a kind: traced in a moment."""

    def __init__(self, channels, classes, pooling=None):
        super().__init__(stage_dims=(4,) * 5, dim=4, num_classes=classes)
        self.conv = nn.Conv2d(channels, 4, 3, padding=1)
        self.pooling = pooling or nn.Identity()

    def features(self, image, taps=None):
        return self.pool(self.pooling(self.conv(image).relu()))


def answers_apart(model):
    """Statistics and head as after training, so that answers depend on the image."""
    generator = torch.Generator().manual_seed(0)
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.running_mean.normal_(0, 0.2, generator=generator)
            module.running_var.uniform_(0.5, 1.5, generator=generator)
    with torch.no_grad():
        linear = getattr(model.head, "decisions", model.head)
        linear.weight.normal_(0, 0.7, generator=generator)
    return model.eval()


@pytest.fixture
def tiny():
    """`tiny(channels, classes, pooling)`: see `Tiny`."""

    def make(channels=1, classes=3, pooling=None):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            return answers_apart(Tiny(channels, classes, pooling))

    return make


@pytest.fixture
def network():
    """`network(name, channels, classes, size, **keys)`: one of medldr's, narrow."""

    def make(name, channels, classes, size, **keys):
        if name != "timm":
            keys = {"width": 0.125, **keys}
        config = plugins.load("models", name).Config(name=name, **keys)
        names = tuple(f"class {n}" for n in range(classes))
        task = "ordinal" if keys.get("head") == "corn" else "multi-class"
        spec = DataSpec(task, names, (1,) * classes, channels, size)
        return answers_apart(build_model(config, spec, 0))

    return make


@pytest.fixture
def record_of():
    """`record_of(channels, size, ...)`: what `preprocessing.json` would say."""

    def make(channels, size, *, dtype="uint8", transform=None, given=None, classes=3, **more):
        keys = {
            "schema": 1,
            "medldr": "0.1.0",
            "task": "multi-class",
            "class_names": tuple(f"class {n}" for n in range(classes)),
            "reading": {"kind": "scan", **rules_of(size, channels, dtype).as_dict()},
            "stored": Stored(channels=channels, spatial_size=size, dtype=dtype),
            "transform": transform or {"name": "scan"},
            "input": Shape(**dict(zip(("channels", "spatial_size"), given, strict=True)))
            if given
            else Shape(channels=channels, spatial_size=size),
        }
        return Preprocessing(**{**keys, **more})

    return make


def rules_of(size, channels, dtype, **keys):
    """Rules of a table of scans."""
    usual = {
        "dims": len(size),
        "channels": channels,
        "size": size,
        "spacing": None,
        "pad": False,
        "window": "auto",
        "percentiles": (0.5, 99.5),
        "bit_depth": None,
        "frame": "error",
        "ground": "white",
        "exif": True,
        "crop": None,
        "eight_bit": len(size) == 2 and dtype == "uint8",
    }
    return Rules(**{**usual, **keys})


@pytest.fixture
def rules():
    """`rules(size, channels, dtype, **keys)`: see `rules_of`."""
    return rules_of


@pytest.fixture
def stored_images():
    """`stored_images(record, n)`: random stored images, of the stored type."""

    def make(record, n=4, seed=0):
        shape = (n, record.stored.channels, *record.stored.spatial_size)
        random = np.random.default_rng(seed)
        if record.stored.dtype == "uint8":
            return torch.from_numpy(random.integers(0, 256, shape, dtype=np.uint8))
        return torch.from_numpy(random.random(shape, dtype=np.float32))

    return make


@pytest.fixture
def elsewhere(tmp_path):
    """`elsewhere(arguments, blocked=...)`: Python where some packages cannot be imported."""
    folder = tmp_path / "blocked"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        "import os, sys\n"
        "class Blocked:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in os.environ['BLOCKED'].split():\n"
        "            raise ImportError(f'{name} is blocked')\n"
        "sys.meta_path.insert(0, Blocked())\n"
    )

    def run(*arguments, blocked="medldr"):
        environment = {**os.environ, "PYTHONPATH": str(folder), "BLOCKED": blocked}
        done = subprocess.run(
            [sys.executable, *map(str, arguments)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-4000:]
        return done.stdout

    return run


def smooth(shape, seed, top):
    noise = gaussian_filter(np.random.default_rng(seed).random(shape), 2)
    return (noise - noise.min()) / np.ptp(noise) * top


def picture(shape, seed):
    colours = [smooth(shape, seed + n, 255).astype(np.uint8) for n in range(3)]
    return Image.fromarray(np.stack(colours, -1))


@pytest.fixture
def pictures(tmp_path):
    """8-bit pictures of every kind: colour, grey, a palette, a photograph on its side."""
    folder = tmp_path / "pictures"
    (folder / "more").mkdir(parents=True)
    picture((40, 31), 0).save(folder / "colour.png")
    picture((25, 60), 1).convert("L").save(folder / "grey.png")
    picture((50, 31), 2).quantize(16).save(folder / "more" / "palette.png")
    noted = Image.Exif()
    noted[274] = 6
    picture((33, 50), 3).save(folder / "turned.jpg", exif=noted)
    (folder / "notes.txt").write_text("not a picture")
    return folder


@pytest.fixture
def volumes(tmp_path):
    """NIfTI volumes: of every type, oblique, scaled, without a place, with holes."""
    folder = tmp_path / "volumes"
    folder.mkdir()
    oblique = np.array([[0, -1.1, 0, 3], [0.9, 0, 0.05, 1], [0, 0.1, 1.7, 2], [0, 0, 0, 1]])

    def save(name, values, affine=oblique, slope=None):
        image = nibabel.Nifti1Image(values, affine)
        if slope is not None:
            image.header.set_slope_inter(slope, -10)
        nibabel.save(image, folder / name)

    shape = (22, 20, 18)
    save("a.nii.gz", smooth(shape, 0, 250).astype(np.uint8))
    save("b.nii.gz", smooth(shape, 1, 3000).astype(np.uint16))
    save("c.nii.gz", smooth(shape, 2, 3000).astype(np.int16))
    save("d.nii", smooth(shape, 3, 3000).astype(np.int32), np.diag([-1, 1, 2, 1]))
    holes = smooth(shape, 4, 3000).astype(np.float32)
    holes[0, 0, 0], holes[5, 5, 5] = np.nan, np.inf
    save("e.nii", holes)
    save("f.nii", smooth(shape, 5, 200).astype(np.uint8), slope=2)
    save("g.nii", smooth(shape, 6, 3000).astype(np.float64), None)
    return folder
