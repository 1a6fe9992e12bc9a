"""How much accuracy plain ERM loses on an unseen domain, which the phantoms were tuned by.

    python benchmarks/phantom_shift.py --run phantom_fracture_erm
    python benchmarks/phantom_shift.py --run phantom_histology_erm
    python benchmarks/phantom_shift.py --quick    # one epoch, narrow, to check that it runs

trains with seeds 0, 1, 2 and prints accuracy on seen and unseen scanners or hospitals and the
difference, with a percentile bootstrap over patients or slides and seeds. With `--control` it also
trains on all of them: good accuracy on the formerly unseen one shows that the loss is due to its
appearance and not to lost information. The exit code is 1 if the loss is below 10 percentage points
or its 95% CI includes 0.

No other method or augmentation belongs here: the phantoms are never tuned to one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from medldr.config import load_config
from medldr.evaluation import compare
from medldr.folders.files import RunFolder, read_json, write_json
from medldr.run import train_run

KNOWN = {
    "phantom_fracture_erm": ("scanner_d", "data.held_out=[]"),
    "phantom_histology_erm": ("hospital_2", "data.split_scheme=every-hospital"),
}
"""For each run the unseen domain, and the setting that makes it a seen one."""

LEAST_LOSS = 0.10

QUICK = (
    *("data.patients=24", "model.width=0.0625", "training.epochs=1"),
    *("training.precision=float32", "evaluation.draws=100", "machine.report=false"),
)
"""Settings with which a run of the fracture phantom takes seconds."""


def train(run, out, seeds, overrides):
    configs = [load_config(run, [*overrides, f"seed={seed}"]) for seed in seeds]
    results = []
    for number, config in enumerate(configs, 1):
        print(f"training run {number} of {len(configs)}: {config.label}, seed {config.seed}")
        results.append(train_run(config, out))
    return results


def shift(results):
    """Accuracy seen and unseen per seed, and the loss with its interval.

    Seen is `id_test`, or `id_val` where there is none.
    """
    table = compare([result.folder for result in results], splits=("id_val", "id_test", "test"))
    values = {
        row["split"]: row["values"]
        for row in table["rows"]
        if row["metric"] == "accuracy" and row["domain"] is None
    }
    loss = next(gap for gap in table["gaps"] if gap["metric"] == "accuracy")
    return {
        "split": loss["seen"],
        "seen": values[loss["seen"]],
        "unseen": values["test"],
        "loss": {key: loss[key] for key in ("value", "low", "high")},
    }


def control(results, domain):
    """Test accuracy on one domain, per seed, of runs that were trained on all of them."""
    rows = compare([result.folder for result in results], splits=("test",))["rows"]
    key = ("accuracy", domain)
    return next(row["values"] for row in rows if (row["metric"], row["domain"]) == key)


def percent(values):
    return "  ".join(f"{100 * value:5.1f}" for value in values)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--quick",
        action="store_true",
        help="two seeds of a small fracture run in a temporary folder, without a verdict",
    )
    parser.add_argument("--run", choices=KNOWN, default="phantom_fracture_erm")
    parser.add_argument("--out", type=Path, default=Path("runs/phantom_shift"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--control", action="store_true", help="train on all domains as well")
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE")
    args = parser.parse_args()
    if not args.quick:
        return measure(args)
    args.run, args.seeds, args.control = "phantom_fracture_erm", [0, 1], True
    args.overrides = [*QUICK, *args.overrides]
    with tempfile.TemporaryDirectory() as temporary:
        args.out = Path(temporary)
        measure(args)
    return 0


def measure(args):
    """Train, print, write JSON; 1 if the loss is smaller than it should be."""
    unseen, all_known = KNOWN[args.run]
    results = train(args.run, args.out, args.seeds, args.overrides)
    found = shift(results)
    loss = found["loss"]
    facts = read_json(RunFolder(results[0].folder).run)
    print(f"{args.run}: {facts['precision']}, {facts['threads']} threads")
    print(f"seeds                  {'  '.join(f'{seed:5d}' for seed in args.seeds)}")
    print(f"seen domains (%)       {percent(found['seen'])}   {found['split']}")
    print(f"unseen domain (%)      {percent(found['unseen'])}   {unseen}")
    print(
        f"lost, in percentage points  {100 * loss['value']:.1f} "
        f"({100 * loss['low']:.1f} to {100 * loss['high']:.1f})"
    )
    if args.control:
        known = train(args.run, args.out, args.seeds, [*args.overrides, all_known])
        found["control"] = control(known, unseen)
        print(f"the same, once known   {percent(found['control'])}")
    write_json(args.out / f"{args.run}_shift.json", found)
    return 0 if loss["value"] >= LEAST_LOSS and loss["low"] > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
