"""A network as a MONAI bundle, which runs where medldr is not installed.

``python -m monai.bundle run --config_file OUT/configs/inference.json --bundle_root OUT
--dataset_dir IMAGES --output_dir ANSWERS`` reads every image of a folder and writes
`probabilities.csv`.
"""

from __future__ import annotations

import csv
import io
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from medldr.errors import InputError
from medldr.exporting.agreement import Agreement
from medldr.exporting.bundle_reading import Steps
from medldr.exporting.card import Card
from medldr.folders.files import write_json, write_text
from medldr.folders.preprocessing_record import METADATA, TO_FILL_IN, Preprocessing

SCHEMA: Final = (
    "https://github.com/Project-MONAI/MONAI-extra-test-data/releases/download/0.8.1/"
    "meta_schema_20240725.json"
)
NEEDED: Final = ("pytorch-ignite", "fire", "nibabel", "pillow")
PROGRAM: Final = "models/model.pt2"
TABLE: Final = "probabilities.csv"
TO_FILL: Final = "to be filled in by whoever passes this bundle on"


def write_bundle(
    record: Preprocessing,
    steps: Steps,
    folder: Path,
    *,
    card: Card,
    limits: tuple[str, ...],
    agreement: Agreement,
    text: str,
) -> None:
    """Write `configs/` and `docs/` of a bundle, beside its `PROGRAM`.

    Args:
        record: What the network must be told.
        steps: How a file becomes a stored image.
        folder: The bundle's; other files of it are kept.
        card: What the model card says.
        limits: What a user must know, those of `steps` among them.
        agreement: How far the program is from `medldr predict`.
        text: The model card.

    Raises:
        StorageError: If a file cannot be written.
    """
    said = {**metadata(record, steps, card, limits), "agreement": agreement.written()}
    write_json(folder / "configs" / METADATA, said)
    write_json(folder / "configs" / "inference.json", inference(record, steps))
    write_text(folder / "docs" / "README.md", text)


def refuse_executed(record: Preprocessing) -> None:
    """Refuse names that MONAI would run or look up as code when it reads the bundle.

    Raises:
        InputError: Naming the first.

    Source:
        MONAI's `ConfigParser`: ``$`` begins an expression, ``@`` a reference, ``%`` a macro.
    """
    left: list[Any] = [record.model_dump(mode="json")]
    while left:
        value = left.pop()
        if isinstance(value, str) and value.startswith(("$", "@", "%")):
            raise InputError(
                f"{value!r}: a name that begins with $, @ or % would be executed by MONAI when it "
                "reads the bundle. Train with another name, or use --format=onnx or torch"
            )
        left += [*value, *value.values()] if isinstance(value, dict) else []
        left += value if isinstance(value, list) else []


def inference(record: Preprocessing, steps: Steps) -> dict[str, Any]:
    """`configs/inference.json`: reads a folder of files and writes a probability for each class.

    Args:
        record: What the network must be told.
        steps: How a file becomes a stored image.
    """
    header = io.StringIO()
    csv.writer(header, lineterminator="\n").writerow(["file", *record.class_names])
    files = (
        "$[{'image': str(path), 'file': path.relative_to(@dataset_dir).as_posix()} for path in "
        f"sorted(Path(@dataset_dir).rglob('*')) if path.name.lower().endswith({steps.endings})]"
    )
    network = (
        "$torch.export.unflatten(move_to_device_pass(torch.export.load(@model_path), str(@device)))"
    )
    return {
        "imports": [
            "$import numpy",
            "$from pathlib import Path",
            "$from PIL import Image",
            "$from PIL import ImageOps",
            "$from torch.export.passes import move_to_device_pass",
        ],
        "bundle_root": ".",
        "dataset_dir": "$@bundle_root + '/data'",
        "output_dir": "$@bundle_root + '/eval'",
        "model_path": f"$@bundle_root + '/{PROGRAM}'",
        "device": "$torch.device('cpu')",
        "header": header.getvalue(),
        "datalist": files,
        "network_def": network,
        "preprocessing": {"_target_": "Compose", "transforms": steps.transforms},
        "dataset": {"_target_": "Dataset", "data": "@datalist", "transform": "@preprocessing"},
        "dataloader": {
            "_target_": "DataLoader",
            "dataset": "@dataset",
            "batch_size": 1,
            "shuffle": False,
            "num_workers": 0,
        },
        "inferer": {"_target_": "SimpleInferer"},
        "handlers": [
            {
                "_target_": "ClassificationSaver",
                "output_dir": "@output_dir",
                "filename": TABLE,
                "overwrite": False,
                "batch_transform": "$lambda batch: [{'filename_or_obj': f} for f in batch['file']]",
                "output_transform": "$lambda output: output['pred'][1]",
            }
        ],
        "evaluator": {
            "_target_": "SupervisedEvaluator",
            "device": "@device",
            "val_data_loader": "@dataloader",
            "network": "@network_def",
            "inferer": "@inferer",
            "prepare_batch": (
                "$lambda batch, device, *rest, **more: "
                "(batch['image'].as_tensor().to(device), None)"
            ),
            "decollate": False,
            "val_handlers": "@handlers",
        },
        "initialize": [
            "$Path(@output_dir).mkdir(parents=True, exist_ok=True)",
            f"$Path(@output_dir, '{TABLE}').write_text(@header, encoding='utf-8')",
        ],
        "run": ["$@evaluator.run()"],
    }


def metadata(
    record: Preprocessing, steps: Steps, card: Card, limits: tuple[str, ...]
) -> dict[str, Any]:
    """`configs/metadata.json`, in MONAI's schema; ``limits`` and ``preprocessing`` are ours.

    Args:
        record: What the network must be told.
        steps: How a file becomes a stored image.
        card: What the model card says.
        limits: What a user must know, a sentence each.

    Source:
        `SCHEMA` and MONAI's bundle specification.
    """
    names = record.class_names
    channels = {str(n): "image" for n in range(record.stored.channels)}
    sizes = list(record.stored.spatial_size)
    whole = record.stored.dtype == "uint8"
    answer = {
        "type": "probabilities",
        "format": "classes",
        "num_channels": len(names),
        "spatial_shape": [],
        "dtype": "float32",
        "value_range": [0, 1],
        "is_patch_data": False,
        "channel_def": {str(n): name for n, name in enumerate(names)},
    }
    image = {
        "type": "image",
        "format": "magnitude",
        "num_channels": record.stored.channels,
        "spatial_shape": sizes,
        "dtype": "float32",
        "value_range": [0, 255 if whole else 1],
        "is_patch_data": False,
        "channel_def": channels,
    }
    logits = {**answer, "type": "logits", "value_range": []}
    return {
        "schema": SCHEMA,
        "version": "1.0.0",
        "changelog": {"1.0.0": f"exported by medldr {record.medldr}"},
        "monai_version": _version("monai"),
        "pytorch_version": _version("torch").partition("+")[0],
        "numpy_version": _version("numpy"),
        "required_packages_version": {name: _version(name) for name in NEEDED},
        "name": card.label,
        "task": f"{record.task} classification into {', '.join(names)}",
        "description": (
            f"A network trained with medldr. From {len(sizes)}D images to a probability for each "
            f"of {len(names)} {'labels' if record.task == 'multi-label' else 'classes'}."
        ),
        **dict.fromkeys(TO_FILL_IN, TO_FILL),
        "data_type": "nibabel" if ".nii" in steps.endings else "picture files",
        "image_classes": "one image, read as preprocessing in inference.json says",
        "pred_classes": ", ".join(names),
        "intended_use": card.intended_use,
        "limits": list(limits),
        "network_data_format": {
            "inputs": {"image": image},
            "outputs": {"logits": logits, "pred": answer},
        },
        "preprocessing": record.model_dump(mode="json", by_alias=True),
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # the bundle needs it, this machine does not
        return "any"
