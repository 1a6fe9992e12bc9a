"""Images per second in random order: medldr's ways of reading patches against the usual one.

    python benchmarks/data_loading.py [--images 20000] [--workers 2] [--turns 5] [--json FILE]
    python benchmarks/data_loading.py --quick    # 200 patches, to check that it runs

Patches like those of Camelyon17 (RGBA PNGs of 96 pixels, about 23 KB, in its folders) are written
to a temporary folder and packed; every packed image is compared with Pillow's result. Then four
loaders take turns in one process, one epoch of the training images each; if the machine's speed
drifts, all of them slow down equally. Rates and ratios are medians over the turns.

1. torchvision's ImageFolder and torch's DataLoader: decode, to float, ImageNet's normalisation.
2. medldr from the same folder; its workers decode, the pixel rule acts on whole batches.
3. medldr from the pack, memory-mapped, in this process.
4. medldr with the pixels on the training device; on the CPU an array in memory.

All yield normalised float32 batches of the same size on the same device. The files have been read
before, so the system caches them if it can: a disk would add the same bytes for each loader.

The floors are what the machine allows: for PNGs, the rate at which one core decodes them in memory,
times the cores that the workers can use; for pixels, the bytes of an image (once as stored, once as
float32) over the rate of copying memory, also measured here.
"""

import argparse
import io
import json
import multiprocessing
import os
import platform
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import torch
from PIL import Image
from rich.console import Console
from rich.table import Table
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import ImageFolder

from medldr.config import load_config
from medldr.data import build_data, load_table, store
from medldr.data.loading.pixels import Pixels

SIZE = 96
TARGET = 5.0  # packed over ImageFolder, at least
TITLES = (
    "ImageFolder + DataLoader",
    "medldr, PNG folder",
    "medldr, packed",
    "medldr, device-resident",
)
SHARES = {0: 0.32, 3: 0.33, 4: 0.33, 1: 0.01, 2: 0.01}  # of the hospitals; 1 and 2 do not train
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def plan(images):
    """Rows of metadata.csv, without their index."""
    hospitals = np.random.default_rng(0).choice(list(SHARES), images, p=list(SHARES.values()))
    hospitals[:20] = np.repeat(range(5), 4)  # each hospital is there, and validates
    rows = []
    for number, hospital in enumerate(hospitals.tolist()):
        slide = 10 * hospital + number % 10
        validates = int(number % 4 == 3 if number < 20 else number % 100 == 0)
        place = (32 * (number // 100), 32 * (number % 100))
        rows.append((f"{2 * slide:03d}", slide % 5, *place, number % 2, slide, hospital, validates))
    return rows


def patch(number):
    """A patch like tissue in what it costs: smooth colours under grain that no filter predicts."""
    random = np.random.default_rng(number)
    smooth = Image.fromarray(random.integers(60, 230, (8, 8, 3), dtype=np.uint8))
    colours = np.asarray(smooth.resize((SIZE, SIZE), Image.Resampling.BICUBIC), np.float32)
    grain = random.normal(0, 6.5, (SIZE, SIZE, 3))
    pixels = np.clip(colours + grain, 0, 255).astype(np.uint8)
    return Image.fromarray(np.dstack([pixels, np.full((SIZE, SIZE), 255, np.uint8)]))


def write(root, images, cores):
    """The folder of Camelyon17; returns the patches' paths."""
    folder = root / "camelyon17_v1.0"
    lines, paths = [",patient,node,x_coord,y_coord,tumor,slide,center,split"], []
    for number, row in enumerate(plan(images)):
        lines.append(",".join(map(str, (number, *row))))
        stem = f"patient_{row[0]}_node_{row[1]}"
        paths.append(folder / "patches" / stem / f"patch_{stem}_x_{row[2]}_y_{row[3]}.png")
    for parent in {path.parent for path in paths}:
        parent.mkdir(parents=True)
    (folder / "metadata.csv").write_text("\n".join(lines) + "\n")
    (folder / "RELEASE_v1.0.txt").touch()
    with multiprocessing.get_context("fork").Pool(cores) as pool:
        pool.starmap(save, enumerate(paths), chunksize=100)
    return paths


def save(number, path):
    """Write one patch."""
    patch(number).save(path, compress_level=1)


def decode(path):
    """A patch as Pillow shows it, ``(3, H, W)``."""
    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGB")).transpose(2, 0, 1)


def differing(path, packed):
    """Whether the pack holds other pixels than the file."""
    return not np.array_equal(decode(path), packed)


def decode_rate(paths, tries=3):
    """Patches per second that one core decodes from memory: the best of several tries."""
    files = [io.BytesIO(path.read_bytes()) for path in paths[:500]]
    best = float("inf")
    for _ in range(tries):
        start = time.perf_counter()
        for file in files:
            file.seek(0)
            decode(file)
        best = min(best, time.perf_counter() - start)
    return len(files) / best


def copy_rate(size=1 << 28, tries=7):
    """Bytes per second of copying memory that no cache holds: the best of several tries."""
    source, target = np.ones(size, np.uint8), np.zeros(size, np.uint8)
    best = float("inf")
    for _ in range(tries):
        start = time.perf_counter()
        np.copyto(target, source)
        best = min(best, time.perf_counter() - start)
    return size / best


def image_folder(root, batch, workers, device):
    """The usual loader; its classes are Camelyon17's folders, which costs as much as any."""
    steps = [transforms.ToTensor(), transforms.Normalize(MEAN, STD)]
    data = ImageFolder(root / "camelyon17_v1.0" / "patches", transforms.Compose(steps))
    loader = DataLoader(
        data,
        batch_size=batch,
        shuffle=True,
        num_workers=workers,
        drop_last=True,
        pin_memory=device.type == "cuda",
    )

    def epoch(number):
        for image, _ in loader:
            image.to(device, non_blocking=True)
        return len(loader) * batch

    return epoch


def settings(root, packed, batch=32, workers=0):
    """A run over the folder: stored resolution, ImageNet's normalisation, no augmentation."""
    return load_config(
        {
            "data": {"name": "camelyon17", "root": str(root), "packed": str(packed)},
            "transform": {"name": "camelyon17", "size": SIZE, "targeted": False},
            "model": "resnet18",
            "algorithm": "erm",
            "training": {"batch_size": batch, "drop_last": True},
            "machine": {"workers": workers},
        }
    )


def medldr_loader(root, batch, workers, device, packed, *, resident=False):
    """medldr's own training loader."""
    config = settings(root, packed, batch, workers)
    data = build_data(config)
    if resident and device.type == "cpu":
        data = in_memory(data)
    loader = data.train_loader(config, sampler="shuffle", device=device)
    room = mock.patch(
        "medldr.data.loading.pixels.free_bytes", return_value=1 << 62 if resident else 0
    )

    def epoch(number):
        with room:  # on a device, a pack of this size would be resident
            for _ in loader.batches(number):
                pass
        return loader.steps_per_epoch * batch

    return epoch


def in_memory(data):
    """The same data with its pixels in an array."""
    images = np.array(data.table.images)
    return replace(data, table=replace(data.table, images=images), pixels=Pixels(images))


def measure(loaders, turns, device, say):
    """Seconds per image of each loader and turn; `say` is called with what is being done."""
    seconds = {title: [] for title in loaders}
    titles = list(loaders)
    for title, epoch in loaders.items():
        say(f"warming up: {title}")
        epoch(0)
    for turn in range(1, turns + 1):
        say(f"turn {turn} of {turns}")
        for title in titles[turn % len(titles) :] + titles[: turn % len(titles)]:
            start = time.perf_counter()
            count = loaders[title](turn)
            if device.type == "cuda":
                torch.cuda.synchronize()
            seconds[title].append((time.perf_counter() - start) / count)
    return seconds


def ratio(above, below):
    """Median and spread of the ratios of paired times."""
    each = [a / b for a, b in zip(above, below, strict=True)]
    return {"median": statistics.median(each), "min": min(each), "max": max(each)}


def make_pack(root, workers, console):
    """Pack the folder; returns the pack's folder, its ids, and images per second."""
    section = settings(root, "off").data
    table = load_table(section)
    folder = store.usual_place(section, table.name)
    start = time.perf_counter()
    store.make_pack(table, section, folder, workers=workers, console=console)
    return folder, table.ids.tolist(), len(table) / (time.perf_counter() - start)


def check(paths, folder, ids, cores):
    """Hold every packed image against Pillow."""
    images = np.load(folder / "images.npy", mmap_mode="r", allow_pickle=False)
    places = {path.stem: path for path in paths}
    pairs = ((places[item], image) for item, image in zip(ids, images, strict=True))
    with multiprocessing.get_context("fork").Pool(cores) as pool:
        return sum(pool.starmap(differing, pairs, chunksize=100))


def show(found, console):
    """Print the rates next to their floors."""
    table = Table(
        title=f"{found['images']:,} patches, batch {found['batch']}, {found['workers']} workers, "
        f"{found['turns']} turns, {found['device']}",
        title_justify="left",
    )
    table.add_column("loader")
    table.add_column("images/s, median", justify="right")
    table.add_column("spread", justify="right")
    table.add_column("of the floor", justify="right")
    for title, rate in found["images_per_second"].items():
        floor = found["floors"]["png" if title in TITLES[:2] else "pixels"]
        table.add_row(
            title,
            f"{rate['median']:,.0f}",
            f"{rate['min']:,.0f} to {rate['max']:,.0f}",
            f"{100 * rate['median'] / floor:.0f}%",
        )
    console.print(table)
    console.print(
        f"floors: PNGs {found['floors']['png']:,.0f} images/s ({found['decode_rate']:,.0f} decoded "
        f"a second by one core); pixels {found['floors']['pixels']:,.0f} images/s (memory copied "
        f"at {found['copy_rate'] / 1e9:.1f} GB/s)"
    )
    for title, value in found["ratios"].items():
        wanted = f"  (target at least {TARGET:g})" if title.startswith("medldr, packed") else ""
        console.print(
            f"{title}: {value['median']:.2f} ({value['min']:.2f} to {value['max']:.2f}){wanted}"
        )


def main():
    """Write, pack, check, measure, print a table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="200 patches, one worker, one turn")
    parser.add_argument("--images", type=int, default=20_000, help="patches to write")
    parser.add_argument("--workers", type=int, default=2, help="processes that decode")
    parser.add_argument("--turns", type=int, default=5, help="epochs of each loader")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--folder", type=Path, help="where the temporary folder goes")
    parser.add_argument("--json", type=Path, default=Path("data_loading.json"))
    given = parser.parse_args()
    copied = {}
    if given.quick:
        given.images, given.workers, given.turns = 200, 1, 1
        copied = {"size": 1 << 24}
    device = torch.device(given.device)
    console = Console(highlight=False)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    with tempfile.TemporaryDirectory(dir=given.folder) as temporary:
        root = Path(temporary)
        start = time.perf_counter()
        paths = write(root, given.images, cores)
        size = sum(path.stat().st_size for path in paths) / len(paths)
        took = time.perf_counter() - start
        console.print(f"{given.images:,} PNGs of {size / 1e3:.1f} kB written in {took:.0f} s")
        folder, ids, rate = make_pack(root, given.workers, console)
        console.print(f"packed at {rate:,.0f} images/s, reading back and checking included")
        wrong = check(paths, folder, ids, cores)
        console.print(f"{wrong} of {len(ids):,} packed images differ from Pillow's result")
        if wrong:
            raise SystemExit(1)
        common = (root, given.batch, given.workers, device)
        loaders = dict(
            zip(
                TITLES,
                (
                    image_folder(*common),
                    medldr_loader(*common, "off"),
                    medldr_loader(*common, folder),
                    medldr_loader(*common, folder, resident=True),
                ),
                strict=True,
            )
        )
        one_core, copying = decode_rate(paths), copy_rate(**copied)
        seconds = measure(loaders, given.turns, device, console.print)
        # A busy moment before the turns must not raise a loader above its floor: measure again.
        one_core, copying = max(one_core, decode_rate(paths)), max(copying, copy_rate(**copied))
    pixels = 3 * SIZE * SIZE
    found = {
        "machine": platform.processor() or platform.machine(),
        "device": str(device),
        "images": given.images,
        "batch": given.batch,
        "workers": given.workers,
        "turns": given.turns,
        "bytes_per_png": size,
        "packed_per_second": rate,
        "decode_rate": one_core,
        "copy_rate": copying,
        "floors": {
            "png": one_core * max(1, min(given.workers, cores)),
            "pixels": copying / (pixels + 4 * pixels),
        },
        "images_per_second": {
            title: {
                "median": 1 / statistics.median(each),
                "min": 1 / max(each),
                "max": 1 / min(each),
            }
            for title, each in seconds.items()
        },
        "ratios": {
            f"{title} / {TITLES[0]}": ratio(seconds[TITLES[0]], seconds[title])
            for title in TITLES[1:]
        },
    }
    show(found, console)
    given.json.write_text(json.dumps(found, indent=1) + "\n")
    console.print(f"written to {given.json}")


if __name__ == "__main__":
    main()
