"""A run's identity follows from what differs from the defaults, and from nothing else."""

import functools
import hashlib
import json
from pathlib import Path

from medldr import plugins
from medldr.config import (
    CONFIG_VERSION,
    EvaluationConfig,
    MachineConfig,
    RunConfig,
    TrainingConfig,
    dump_config,
    load_config,
    run_hash,
    run_name,
)
from medldr.config.identity import NO_DEFAULT, changes
from medldr.config.section import load_plugin_config
from medldr.config.training_options import AveragingConfig, MeanConfig, SwadConfig

STORED = Path(__file__).with_name("defaults.json")
KINDS = ("algorithms", "datasets", "losses", "models", "transforms")


def test_the_hash_is_of_the_canonical_json_of_what_was_chosen(whole):
    config = load_config(whole, ["training.lr=0.5", "seed=3", "machine.threads=2"])
    # Written down by hand: every value that is not a default, and the names of the plug-ins.
    chosen = {
        "config_version": CONFIG_VERSION,
        "values": {
            "algorithm": {"name": "erm"},
            "data": {"name": "phantom_fracture"},
            "model": {"name": "resnet18"},
            "training": {"lr": 0.5},
            "transform": {"name": "medmnist3d"},
        },
    }
    text = json.dumps(chosen, sort_keys=True, separators=(",", ":"))
    assert run_hash(config) == hashlib.sha256(text.encode()).hexdigest()[:8]
    assert run_name(config) == f"run-{run_hash(config)}-s3"


def octmnist(*overrides):
    return run_hash(load_config("octmnist_erm", overrides))


def test_seed_label_root_machine_and_what_describes_the_data_do_not_change_it():
    for override in (
        "seed=7", "label=other", "data.root=/elsewhere", "machine.device=cpu", "machine.workers=4",
        "machine.thumbnails=false", "data.metadata=/a/table.csv", "data.card=/a/card.yaml",
        "evaluation.subgroups=[sex]", "evaluation.bands={age: [40]}",
        "evaluation.prevalence=0.02", "training.allow_seen=true",
        "evaluation.aggregate=mean", "evaluation.group_label=any", "evaluation.leaks=false",
    ):  # fmt: skip
        assert octmnist(override) == octmnist(), override


def test_every_other_value_changes_it():
    overrides = (
        "training.lr=0.002", "training.precision=float32", "data.split_seed=1", "data.md5=any",
        "transform.channels=3", "transform.train=[RandFlip]", "model.width=0.5",
        "algorithm.lr_scale=0.5", "evaluation.draws=500", "algorithm.loss=cross_entropy",
        "data.exclude=[a]", "training.init_from=/a/run", "protocol=mine",
    )  # fmt: skip
    assert len({octmnist(), *map(octmnist, overrides)}) == len(overrides) + 1


def test_a_default_that_is_stated_changes_nothing(whole):
    stated = load_config(whole, ["training.lr=0.001", "evaluation.draws=2000", "model.width=1"])
    assert run_hash(stated) == run_hash(load_config(whole))


def test_the_written_configuration_is_the_same_run(tmp_path):
    config = load_config(
        "adrenalmnist3d_latentdr_pool",
        ["training.epochs=3", "data.exclude=[0123, yes]", "seed=2", "data.root=here"],
    )
    (tmp_path / "config.yaml").write_text(dump_config(config))
    again = load_config(tmp_path / "config.yaml")
    assert again == config
    assert run_name(again) == run_name(config)
    assert dump_config(again) == dump_config(config)


def test_what_was_chosen_is_listed_next_to_its_default(whole):
    config = load_config(whole, ["training.lr=0.5", "algorithm.loss=cross_entropy"])
    found = {change.key: (change.value, change.default) for change in changes(config)}
    assert found["training.lr"] == (0.5, type(config.training).model_fields["lr"].default)
    assert found["model.name"] == ("resnet18", NO_DEFAULT)
    assert "training.epochs" not in found


@functools.cache
def current_defaults():
    """Defaults of every section and of every plug-in of this package, as plain JSON."""
    loop = {
        "run": RunConfig,
        "training": TrainingConfig,
        "evaluation": EvaluationConfig,
        "machine": MachineConfig,
        "averaging/ema": AveragingConfig,
        "averaging/mean": MeanConfig,
        "averaging/swad": SwadConfig,
    }
    found = {}
    for kind in KINDS:
        for name in plugins.names(kind):
            loop[f"{kind}/{name}"] = load_plugin_config(kind, name)
    for section, model in loop.items():
        values = {}
        for key, info in model.model_fields.items():
            default = info.get_default(call_default_factory=True)
            if info.is_required() or key == "name" or hasattr(default, "model_dump"):
                continue
            values[key] = json.loads(json.dumps(default))
        found[section] = values
    return found


def test_a_default_changes_only_with_the_config_version():
    stored = json.loads(STORED.read_text())
    now = current_defaults()
    changed = [
        f"{section}.{key}: {value!r} -> {now[section].get(key, 'gone')!r}"
        for section, values in stored["defaults"].items()
        if section in now
        for key, value in values.items()
        if now[section].get(key, "gone") != value
    ]
    if changed:
        assert stored["config_version"] < CONFIG_VERSION, (
            "defaults changed, so equal files would mean different runs: raise CONFIG_VERSION and "
            f"store the new defaults in {STORED.name}: {changed}"
        )
    assert stored["config_version"] == CONFIG_VERSION, f"store the new defaults in {STORED.name}"


def test_every_default_of_the_loop_is_stored():
    stored, now = json.loads(STORED.read_text())["defaults"], current_defaults()
    averages = ("averaging/ema", "averaging/mean", "averaging/swad")
    for section in ("run", "training", "evaluation", "machine", *averages):
        assert set(stored[section]) == set(now[section])


def test_a_run_to_start_from_counts_by_its_name_wherever_it_lies():
    def started_from(folder):
        return octmnist(f"training.init_from={folder}")

    assert started_from("/a/erm-0a1b2c3d-s0") == started_from("/b/c/erm-0a1b2c3d-s0")
    assert started_from("/a/erm-0a1b2c3d-s0") != started_from("/a/erm-0a1b2c3d-s1")
    # Any other name may stand for different weights in different places.
    assert started_from("/a/pretrained") != started_from("/b/pretrained")


def test_plug_ins_with_equal_keys_have_different_hashes(whole):
    names = ("resnet18", "resnet50")
    assert len({run_hash(load_config(whole, [f"model.name={name}"])) for name in names}) == 2
