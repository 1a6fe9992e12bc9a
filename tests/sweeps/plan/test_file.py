"""A sweep file is read whole, checked at once, and changed by the command line."""

from pathlib import Path

import pytest

from medldr.config import packaged_configs
from medldr.errors import InputError
from medldr.sweeps.plan.file import find_sweep, load_sweep

ENTRY = "{extends: run/retinamnist_erm}"


def named(sweep):
    return {axis.key: axis.values for axis in sweep.axes}


def test_a_file_says_what_the_sweep_is(small):
    sweep = load_sweep(small)
    assert (sweep.name, sweep.title, sweep.seeds) == ("small", "Two sets", (0, 3))
    assert [(entry.label, entry.after) for entry in sweep.entries] == [
        ("derma", None),
        ("retina", None),
    ]
    assert sweep.common.values == {"training": {"epochs": 5}}
    assert sweep.entries[1].document.values == {
        "extends": ["recipe/medmnist", "data/retinamnist"],
        "training": {"lr": 0.01},
    }
    assert named(sweep) == {"algorithm": {w: w for w in ("erm", "latentdr_pool", "erm_half_lr")}}
    assert (sweep.table.rows, sweep.table.columns) == (("algorithm",), ("run",))
    assert sweep.table.contrasts == (("latentdr_pool", "erm_half_lr"),)
    assert (sweep.slurm, sweep.overrides, sweep.notes) == ({}, (), ())
    # The parts have the lines of the file.
    assert sweep.common.lines[("training", "epochs")] == 4
    assert sweep.entries[1].document.lines[("training", "lr")] == 10


def test_all_but_the_runs_may_be_left_out(write):
    sweep = load_sweep(write("my sweep.yaml", f"common: {ENTRY}\naxes:\nseeds:\ntable:\n"))
    assert (sweep.name, sweep.title, sweep.seeds, sweep.axes) == ("my_sweep", "my_sweep", (0,), ())
    assert [entry.label for entry in sweep.entries] == [None]
    assert (sweep.table.rows, sweep.table.columns) == (("run",), ())
    assert sweep.table.metrics == ("accuracy", "auc")


@pytest.mark.parametrize(
    ("texts", "title"),
    [
        (["axes.algorithm=[erm,latentdr_pool]"], "small"),  # fewer methods
        (["axes.algorithm=[erm,latentdr_pool,mixup]"], "small"),  # another one
        (["axes.algorithm=[erm,latentdr_pool]", "title=Mine"], "Mine"),
        (["seeds=[0]"], "Two sets"),
        (["training.epochs=1"], "Two sets"),
    ],
)
def test_a_title_of_other_methods_gives_way_to_the_name(small, texts, title):
    assert load_sweep(small, texts).title == title


def test_values_are_named_by_bare_words_by_keys_or_by_the_file():
    sweep = load_sweep(
        {
            "common": {"extends": "run/retinamnist_erm"},
            "axes": {
                "algorithm": ["erm", "mylab.methods.foo"],
                "training.batch_size": {"small": 12, "large": 24},
                "training.milestones": [[50, 75], []],
                "training.nesterov": [True, False],
                "training.clip_norm": [None, 1],
                "model.weights": ["../a b/c.safetensors"],
            },
        }
    )
    assert {key: list(values) for key, values in named(sweep).items()} == {
        "algorithm": ["erm", "mylab.methods.foo"],
        "training.batch_size": ["small", "large"],
        "training.milestones": ["milestones-50-75", "milestones-empty"],
        "training.nesterov": ["nesterov-true", "nesterov-false"],
        "training.clip_norm": ["clip_norm-null", "clip_norm-1"],
        "model.weights": ["weights-..-a-b-c.safetensors"],
    }


def test_numbers_are_named_as_they_are_written(write):
    path = write("s.yaml", f"common: {ENTRY}\naxes: {{training.lr: [1e-3, 0.010]}}\n")
    assert named(load_sweep(path)) == {"training.lr": {"lr-1e-3": 0.001, "lr-0.010": 0.01}}


@pytest.mark.parametrize(("text", "seeds"), [("[0, 1]", (0, 1)), ("3", (3,)), ("[4]", (4,))])
def test_seeds_come_from_the_command_line(small, text, seeds):
    sweep = load_sweep(small, [f"seeds={text}"])
    assert sweep.seeds == seeds
    assert [type(seed) for seed in sweep.seeds] == [int] * len(seeds)
    assert sweep.overrides == (f"seeds={text}",)
    assert sweep.run_overrides == ()


def test_a_new_axis_comes_last_and_a_replaced_one_keeps_its_place(small):
    sweep = load_sweep(
        small,
        [
            "axes.training.lr=[0.1]",
            "axes.algorithm=[latentdr_pool, erm]",
            "table.rows=[algorithm, training.lr]",
            "table.reference=erm, lr-0.1",
        ],
    )
    assert [(axis.key, list(axis.values)) for axis in sweep.axes] == [
        ("algorithm", ["latentdr_pool", "erm"]),
        ("training.lr", ["lr-0.1"]),
    ]
    assert sweep.table.reference == "erm, lr-0.1"


def test_an_axis_of_names_is_narrowed_by_names_and_replaced_by_values(write, monkeypatch):
    path = write(
        "deep/s.yaml", f"common: {ENTRY}\naxes: {{training.batch_size: {{small: 12, large: 24}}}}\n"
    )
    monkeypatch.chdir(Path("/"))
    key = "training.batch_size"
    (narrowed,) = load_sweep(path, [f"axes.{key}=[large]"]).axes
    assert (narrowed.values, narrowed.folder) == ({"large": 24}, path.parent)
    (replaced,) = load_sweep(path, [f"axes.{key}=[7]"]).axes
    assert (replaced.values, replaced.folder) == ({"batch_size-7": 7}, Path("/"))
    (renamed,) = load_sweep(path, [f"axes.{key}={{tiny: 2}}"]).axes
    assert renamed.values == {"tiny": 2}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (
            "latentdr_pol",
            "'latentdr_pol' is not a row of this sweep. Did you mean 'latentdr_pool'?",
        ),
        ("erm", "'erm' is the reference or a control, not a method"),
        ("erm_half_lr", "'erm_half_lr' is the reference or a control, not a method"),
    ],
)
def test_a_verdict_is_about_a_method(row, said):
    table = {"reference": "erm", "controls": ["erm_half_lr"], "verdict": row}
    rows = ["erm", "latentdr_pool", "erm_half_lr"]
    common = {"extends": "run/retinamnist_erm"}
    with pytest.raises(InputError, match="verdict") as error:
        load_sweep({"common": common, "axes": {"algorithm": rows}, "table": table})
    assert said in str(error.value)


def test_narrowing_drops_what_the_table_says_of_rows_that_are_gone(small):
    sweep = load_sweep(small, ["axes.algorithm=[latentdr_pool]"])
    table = sweep.table
    assert (table.reference, table.controls, table.contrasts) == (None, (), ())
    assert sweep.notes == (
        "left out of the table: reference erm, control erm_half_lr, contrast latentdr_pool - "
        "erm_half_lr, because this selection lacks these rows",
    )
    kept = load_sweep(small, ["axes.algorithm=[latentdr_pool, erm]"])
    assert (kept.table.reference, kept.table.controls) == ("erm", ())
    assert kept.notes == (
        "left out of the table: control erm_half_lr, contrast latentdr_pool - erm_half_lr, "
        "because this selection lacks these rows",
    )


def test_narrowing_excuses_no_row_that_never_was(small, refusal):
    message = refusal(small, "axes.algorithm=[latentdr_pool]", "table.reference=latentdr_pol")
    assert "1 problem" in message
    assert "table.reference = 'latentdr_pol' (command line)" in message
    assert "Did you mean 'latentdr_pool'?" in message


def test_narrowing_hides_no_mistake_of_the_file(small, refusal):
    small.write_text(small.read_text().replace("reference: erm", "reference: emr"))
    message = refusal(small, "axes.algorithm=[erm, latentdr_pool, erm_half_lr]")
    assert message.startswith("1 problem")
    assert "table.reference = 'emr'" in message


def test_all_other_keys_go_to_the_runs(small):
    texts = ["training.epochs=2", "data.root=/d", "machine.threads=1"]
    assert load_sweep(small, ["seeds=1", *texts]).run_overrides == tuple(texts)
    assert load_sweep(small, "training.epochs=2").run_overrides == ("training.epochs=2",)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("title: Two", "titel: Two", "titel = 'Two sets' (FILE:2): there is no such key. Did you"),
        ("title: Two sets", "training: {}", "training (FILE:2): a key that all runs share belo"),
        ("seeds: [0, 3]", "seed: 3", "seed = 3 (FILE:13): there is no such key. Did you mean 's"),
        ("seeds: [0, 3]", "seeds: [0, -1]", "seeds[1] = -1 (FILE:13): should be greater than or"),
        ("seeds: [0, 3]", "seeds: [0, 0]", "seeds (FILE:13): contains duplicates: [0, 0]"),
        ("[erm, latentdr_pool, erm_half_lr]", "[]", "axes.algorithm (FILE:12): has no value"),
        ("[erm, latentdr_pool, erm_half_lr]", "[erm, erm]", "two values have the same name 'erm'"),
        ("[erm, latentdr_pool, erm_half_lr]", "{a b: erm}", "'a b' cannot be part of a label"),
        ("algorithm: [erm", "algoritm: [erm", "a run has no key 'algoritm'. Did you mean 'algo"),
        ("axes:", "axes:\n  training: {lr: [1, 2]}", "write training.lr: [...]"),
        ("rows: algorithm", "rows: algorith", "table.rows = 'algorith' (FILE:15): 'algorith' is"),
        ("columns: run", "columns: algorithm", "'algorithm' appears twice"),
        ("rows: algorithm", "rows: [algorithm, algorithm]", "'algorithm' appears twice"),
        ("reference: erm", "reference: emr", "table.reference = 'emr' (FILE:17): 'emr' is not a r"),
        ("[[latentdr_pool, erm_half_lr]]", "[[erm, half]]", "table.contrasts[0] (FILE:19): 'half'"),
        ("[[latentdr_pool, erm_half_lr]]", "[[erm, erm]]", "'erm' is compared with itself"),
        ("titles: {erm: ERM", "titles: {err: ERM", "table.titles.err (FILE): no row or column has"),
        ("titles: {", "metrics: [acuracy]\n  titles: {", "'acuracy' is not a metric. Did you mean"),
        ("label: retina", "label: derma", "runs[1].label = 'derma' (FILE:8): run 1 of the list"),
        ("- label: retina\n    ", "- ", "runs[1] (FILE:8): needs a label, because there are"),
        ("label: retina", "label: retina\n    after: dermo", "this label. Did you mean 'derma'?"),
        ("label: retina", "label: retina\n    seed: 3", "runs[1].seed = 3 (FILE:9): a sweep sets"),
        ("common:\n  training: {epochs: 5}", "common: 3", "common = 3 (FILE:3): should be a map"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_line_and_the_nearest_name(small, refusal, old, new, said):
    text = small.read_text()
    assert text.count(old) == 1
    small.write_text(text.replace(old, new))
    message = refusal(small)
    assert said.replace("FILE", str(small)) in message
    assert message.startswith("1 problem in the sweep ")


def test_runs_in_a_circle_are_told_once(write, refusal):
    path = write(
        "s.yaml",
        f"""\
        common: {ENTRY}
        runs:
          - {{label: a, after: c}}
          - {{label: b, after: a}}
          - {{label: c, after: b}}
          - {{label: d, after: c}}
        """,
    )
    message = refusal(path)
    assert "1 problem" in message
    assert f"runs[0].after = 'c' ({path}:3)" in message
    assert "in a circle: a -> c -> b -> a" in message


def test_all_mistakes_are_told_at_once(small, refusal):
    text = small.read_text().replace("title:", "titel:").replace("[0, 3]", "[-1, a]")
    small.write_text(text.replace("reference: erm", "reference: emr"))
    message = refusal(small, "axes=3", "table.columns.x=[1]", "seed=1")
    for said in ("titel", "seeds[0]", "seeds[1]", "'axes=3'", "'seed=1'"):
        assert said in message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("algorithm=erm", "algorithm is an axis of this sweep; write axes.algorithm=erm"),
        ("seed=3", "a sweep has several seeds: write seeds=[...]"),
        ("label=x", "the labels of a sweep come from its runs and axes"),
        ("runs=[a]", "only= selects among them"),
        ("common.training.epochs=3", "leave out 'common.'"),
        ("axes=[1]", "name the axis: axes.KEY=[...]"),
        ("seeds=[0", "YAML syntax"),
        ("seeds=[0, 0]", "seeds (command line): contains duplicates"),
        ("axes.algorithm=[]", "axes.algorithm (command line): has no value"),
        ("axes.algoritm=[erm]", "axes.algoritm (command line): a run has no key"),
        ("table.row=run", "table.row = 'run' (command line): there is no such key. Did you mean"),
        ("training.epochs", "'training.epochs' (command line): should be KEY=VALUE"),
    ],
)
def test_a_mistake_on_the_command_line_is_told(small, refusal, text, said):
    message = refusal(small, text)
    assert said in message
    assert "command line" in message


@pytest.mark.parametrize("text", ["runs: 3", "runs: [3]", "runs: {a: 1}", "axes: [1]", "table: x"])
def test_ill_typed_parts_are_told_and_not_stumbled_over(write, refusal, text):
    path = write("s.yaml", f"common: {ENTRY}\n{text}\n")
    assert f"({path}:2): should be a " in refusal(path)


def test_a_list_is_not_called_short_of_what_is_wrong_in_it(write, refusal):
    message = refusal(write("s.yaml", f"common: {ENTRY}\nruns:\n  - label: é\n"))
    assert message.startswith("1 problem")
    assert "runs[0].label" in message


def test_a_sweep_is_found_by_name_or_path(small, monkeypatch):
    monkeypatch.chdir(small.parent)
    assert find_sweep("small.yaml") == Path("small.yaml")
    assert find_sweep("retina_small") == packaged_configs() / "sweep" / "retina_small.yaml"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("retina_smal", "Did you mean 'retina_small'? `medldr list sweeps`"),
        ("absent/retina_smal.yaml", "'absent/retina_smal.yaml' is no sweep file"),
        ("retinamnist_erm", "It is the name of a run: `medldr train retinamnist_erm`"),
    ],
)
def test_an_unknown_sweep_is_an_error_with_the_nearest_name(source, said):
    with pytest.raises(InputError) as caught:
        find_sweep(source)
    assert said in str(caught.value)
