"""Networks: losses of every algorithm, small runs from data to answers, and their ONNX files."""

import csv
import json

import numpy as np
from frozen_adapter import contract_cases, three_steps
from frozen_data import image, pictures, run, volumes
from frozen_text import AbsentError, digest, fraction, joined, lines_of

import medldr

TOLERANCE = 1e-5


def losses(_):
    """What each algorithm logs in three steps, with every setting that the contract tests train."""
    lines = []
    for name in contract_cases():
        for step, logs in enumerate(three_steps(name), 1):
            shown = " ".join(f"{key}={fraction(value, TOLERANCE)}" for key, value in logs.items())
            lines.append(f"{name}\t{step}\t{shown}")
    return {"losses.r3.txt": joined(lines)}


def runs(parent):
    """Small runs of three steps: what they logged, chose, predicted and recorded."""
    found = {}
    for name, mapping in mappings(parent).items():
        folder = medldr.train(mapping, (), parent / "runs" / name).folder
        found[f"{name}.r3.txt"] = joined(_run_lines(folder))
    return found


def mappings(parent):
    """The runs, by name."""
    flat = {
        "name": "table",
        "file": str(pictures(parent / "pictures")),
        "domain": "hospital",
        "group": "patient",
        "columns": ["age", "sex"],
        "held_out": ["celle"],
        "val_fraction": 0.25,
    }
    deep = {
        "name": "table",
        "file": str(volumes(parent / "volumes")),
        "domain": "hospital",
        "group": "patient",
        "val_fraction": 0.25,
        "test_fraction": 0.25,
    }
    changed = {
        "name": "scan",
        "flip": ["left_right"],
        "rotate_degrees": 10,
        "brightness": 0.2,
        "noise": [0.0, 0.05],
    }
    epochs = {"epochs": 2, "steps": None, "batch_size": 12, "select": ["val_auc", "last"]}
    return {
        "erm_pictures": run(flat, transform=changed),
        "latentdr_pictures": run(
            flat,
            algorithm={"name": "latentdr"},
            training={"sampler": "domains", "batch_per_domain": 6, "lr": 0.01},
            evaluation={"latents": True},
        ),
        "epochs_pictures": run(
            {**flat, "held_out": []},
            training={**epochs, "sampler": "weighted", "nesterov": True, "schedule": "cosine",
                      "warmup": 1},
            evaluation={"recalibrate": "temperature", "per_group": True},
        ),
        "swad_pictures": run(
            flat,
            training={"steps": 6, "averaging": {"name": "swad", "bn_batches": 6},
                      "select": ["val_accuracy"]},
        ),
        "ema_volumes": run(
            deep,
            training={"averaging": {"decay": 0.9}, "accumulate": 2, "clip_norm": 1.0},
        ),
        "mixup_volumes": run(deep, algorithm={"name": "mixup"}),
    }  # fmt: skip


def _run_lines(folder):
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    for number, row in enumerate(rows):
        kept = {key: value for key, value in row.items() if "time" not in key}
        yield from lines_of({f"log {number}": kept}, TOLERANCE)
    record = json.loads((folder / "run.json").read_text())
    told = ("sampler", "batch_size", "domains_per_batch", "set_size", "augmentation", "lr", "steps",
            "epochs", "selections", "recalibration", "spec", "split_hash", "notes")  # fmt: skip
    yield f"hash\t{record['hash']}"
    yield from lines_of({key: record.get(key) for key in told}, TOLERANCE)
    for key in ("images", "groups", "subset_hash"):
        yield f"data/{key}\t{record['data'][key]}"
    splits = json.loads((folder / "splits.json").read_text())
    for key in ("splits", "parts", "left_out"):
        yield f"splits.json/{key}\t{digest(splits[key])}"
    yield from lines_of(
        {"preprocessing": json.loads((folder / "preprocessing.json").read_text())}, TOLERANCE
    )
    for line in csv.reader((folder / "predictions.csv").read_text().splitlines()):
        yield "\t".join(_cell(cell) for cell in line)


def _cell(text):
    try:
        return fraction(float(text), TOLERANCE) if "." in text or "e-" in text else text
    except ValueError:
        return text


def answers(parent):
    """Answers of trained networks to new items: alone, together, mirrored, as ONNX."""
    made = mappings(parent)
    two = {**made["erm_pictures"], "transform": {"name": "scan", "flip": ["left_right"]}}
    lines = []
    first = medldr.train(two, (), parent / "runs").folder
    second = medldr.train(two, ["seed=1"], parent / "runs").folder
    volume = medldr.train(made["ema_volumes"], (), parent / "runs").folder
    new = parent / "new"
    new.mkdir()
    items = new_items(new)
    for title, runs_, names, keys in (
        ("one", first, items["pictures"], {}),
        ("two runs", [first, second], items["pictures"], {}),
        ("mirrored", first, items["pictures"], {"tta": "left_right"}),
        ("volumes", volume, items["volumes"], {}),
    ):
        given = medldr.predict(runs_, names, **keys)
        lines += _answer_lines(title, given, parent)
    values = [image(900 + k, k % 2, k % 3, (32, 32, 3)) for k in range(3)]
    lines += _answer_lines("arrays", medldr.predict(first, values), parent)
    lines += _onnx_lines("onnx of pictures", first, parent, (3, 32, 32), np.uint8)
    lines += _onnx_lines("onnx of volumes", volume, parent, (1, 12, 12, 12), np.float32)
    return {"answers.r3.txt": joined(lines)}


def new_items(folder):
    """New files: like those of training, of another size, of more bits, grey, and broken."""
    from PIL import Image

    for number in range(3):
        Image.fromarray(image(700 + number, number % 2, 0, (32, 32, 3))).save(
            folder / f"like{number}.png"
        )
    Image.fromarray(image(710, 1, 0, (48, 40, 3))).save(folder / "larger.png")
    Image.fromarray(image(711, 1, 0, (32, 32))).save(folder / "grey.png")
    Image.fromarray(image(712, 1, 0, (32, 32)).astype(np.uint16) * 257).save(folder / "deep.png")
    (folder / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\nbroken")
    flat = [*(f"like{n}.png" for n in range(3)), "larger.png", "grey.png", "deep.png", "broken.png"]
    for number in range(3):
        np.save(folder / f"v{number}.npy", image(720 + number, number % 2, 0, (12, 12, 12)))
    np.save(folder / "other_size.npy", image(730, 1, 0, (14, 12, 10)))
    deep = [*(f"v{n}.npy" for n in range(3)), "other_size.npy", "like0.png"]
    return {
        "pictures": [str(folder / name) for name in [*flat, "gone.png"]],
        "volumes": [str(folder / name) for name in deep],
    }


def _answer_lines(title, given, parent):
    from frozen_tables import facts_in

    yield f"{title}\t{given.task}\t{' '.join(given.class_names)}\tpositive {given.positive_class}"
    yield f"{title}\tthreshold\t{given.threshold and fraction(given.threshold, TOLERANCE)}"
    spread = given.spread if given.spread is not None else [()] * len(given)
    rows = zip(given.names, given.prob, spread, given.predicted, given.warnings, strict=True)
    for name, prob, sd, predicted, warnings in rows:
        shown = " ".join(fraction(value, TOLERANCE) for value in (*prob, *sd))
        name = name.replace(f"{parent}/", "")
        yield f"{title}\t{name}\t{shown}\t{predicted}\t{len(warnings)} warnings"
    for name, reason in given.unreadable:
        name = name.replace(f"{parent}/", "")
        yield f"{title}\t{name}\tunreadable, names {facts_in(reason) or 'nothing'}"
    yield f"{title}\t{len(given.notes)} notes"


def _onnx_lines(title, folder, parent, shape, kind):
    import frozen

    try:
        import onnxruntime
    except ImportError as error:
        raise AbsentError("onnxruntime is not installed") from error
    out = parent / title.replace(" ", "_")
    said = frozen.command("export", str(folder), "--format", "onnx", "--out", str(out))
    if "exit code" in said:
        raise AssertionError(said)
    session = onnxruntime.InferenceSession(str(out / "model.onnx"))
    values = np.stack([image(800 + k, k % 2, k % 3, shape) for k in range(4)])
    given = values.astype(kind) / (255 if kind == np.float32 else 1)
    (name,) = [one.name for one in session.get_inputs()]
    wanted = {"tensor(float)": np.float32, "tensor(uint8)": np.uint8}
    kind = wanted[session.get_inputs()[0].type]
    for output, rows in zip(
        session.get_outputs(), session.run(None, {name: given.astype(kind)}), strict=True
    ):
        for number, row in enumerate(rows):
            shown = " ".join(fraction(value, TOLERANCE) for value in np.ravel(row))
            yield f"{title}\t{output.name} {number}\t{shown}"


CASES = {"losses": losses, "trained": runs, "answers": answers}
