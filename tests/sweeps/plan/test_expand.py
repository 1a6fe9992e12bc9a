"""A sweep file becomes its runs: every combination once, in order, each at its own place."""

import re
from pathlib import Path

import pytest

from medldr.config import load_config, run_hash, run_name
from medldr.errors import InputError
from medldr.sweeps.plan.expand import expand, select
from medldr.sweeps.plan.file import load_sweep

BASE = {"extends": "run/retinamnist_erm"}
RUNS = [
    {"label": "small", "training": {"batch_size": 8}},
    {"label": "large", "training": {"batch_size": 64}},
]


def told(planned):
    return [(p.member.label, p.member.seed, p.member.row, p.member.column) for p in planned]


def test_the_first_seed_of_everything_comes_first(small):
    expected = [
        (f"{entry}_{method}", seed, method, entry)
        for seed in (0, 3)
        for entry in ("derma", "retina")
        for method in ("erm", "latentdr_pool", "erm_half_lr")
    ]
    assert told(expand(load_sweep(small), "out")) == expected


def test_a_member_is_the_run_that_its_parts_would_make(small):
    planned = expand(load_sweep(small), "out")
    alone = load_config(
        {"extends": ["recipe/medmnist", "data/retinamnist"], "algorithm": "latentdr_pool"},
        # The entry is stronger than what is common, but says nothing of epochs; the recipe, which
        # the entry extends, does.
        ["training.lr=0.01", "label=retina_latentdr_pool", "seed=3"],
    )
    (member,) = [p for p in planned if p.member.run == run_name(alone)]
    assert member.config == alone
    assert member.config.protocol == "medmnist-28+modified"


def test_entries_beat_what_is_common_axes_beat_entries_the_command_line_beats_all(write):
    text = """\
    common:
      extends: run/retinamnist_erm
      training: {epochs: 1, batch_size: 1, lr: 1, weight_decay: 1}
    runs:
      - label: a
        training: {batch_size: 2, lr: 2, weight_decay: 2}
    axes:
      training.lr: [3]
      training.weight_decay: [3]
    """
    (one,) = expand(load_sweep(write("s.yaml", text), ["training={weight_decay: 4}"]), "out")[:1]
    training = one.config.training
    assert one.member.label == "a_lr-3_weight_decay-3"
    assert (training.epochs, training.batch_size, training.lr, training.weight_decay) == (
        1,
        2,
        3,
        4,
    )


def test_a_bare_word_on_an_axis_replaces_the_section_and_keys_change_what_it_brings():
    sweep = load_sweep(
        {
            "common": {**BASE, "algorithm": "latentdr_gaussian"},
            "axes": {"algorithm.keep": [0.25], "algorithm": ["latentdr_pool", "latentdr_full_lr"]},
        },
        ["algorithm.dropout=0.1"],
    )
    for planned, word in zip(
        expand(sweep, "out"), ("latentdr_pool", "latentdr_full_lr"), strict=True
    ):
        alone = load_config("retinamnist_erm", [f"algorithm={word}", "algorithm.keep=0.25"])
        assert planned.config.algorithm == alone.algorithm.model_copy(update={"dropout": 0.1})


def test_the_stronger_of_epochs_and_steps_decides_as_in_a_run():
    content = {"common": BASE, "axes": {"training.steps": [10, 20]}}
    for planned in expand(load_sweep(content), "out"):
        assert planned.config.training.epochs is None
    for planned in expand(load_sweep({"common": BASE}, ["training.steps=7"]), "out"):
        assert (planned.config.training.steps, planned.config.training.epochs) == (7, None)


def test_relative_paths_are_relative_to_the_file_or_to_the_working_directory(write, monkeypatch):
    path = write(
        "deep/s.yaml",
        """\
        common: {extends: ../more.yaml}
        runs: [{label: a, data: {root: files}}]
        axes: {model.weights: {w: w.safetensors}}
        """,
    )
    write("more.yaml", "extends: run/retinamnist_erm\n")
    monkeypatch.chdir(Path("/"))
    (one,) = expand(load_sweep(path), "out")
    assert one.config.data.root == path.parent / "files"
    assert one.config.model.weights == path.parent / "w.safetensors"
    (two,) = expand(load_sweep(path, ["data.root=here", "axes.model.weights={w: x}"]), "out")
    assert two.config.data.root == Path("/here")
    assert two.config.model.weights == Path("/x")


def test_without_entries_and_axes_a_sweep_is_one_run_under_its_own_name(write):
    path = write("lonely.yaml", "common: {extends: run/retinamnist_erm}\nseeds: [0, 1]\n")
    assert told(expand(load_sweep(path), "out")) == [
        ("lonely", 0, "lonely", "retinamnist"),
        ("lonely", 1, "lonely", "retinamnist"),
    ]


CHAIN = """\
common: {extends: run/retinamnist_erm}
runs:
  - label: tuned
    after: first
    training: {lr: 0.5, init_from: after}
  - label: last
    after: tuned
    training: {lr: 0.25}
  - label: first
axes: {algorithm: [erm, latentdr_pool]}
seeds: [0, 1]
"""


def test_runs_start_after_the_same_run_of_another_entry(write, tmp_path):
    planned = expand(load_sweep(write("s.yaml", CHAIN)), tmp_path / "out")
    order = ["first", "tuned", "last"]
    methods = ["erm", "latentdr_pool"]
    labels = [f"{entry}_{method}" for entry in order for method in methods]
    assert [p.member.label for p in planned] == labels * 2
    names = {(p.member.label, p.member.seed): p.member.run for p in planned}
    for p in planned:
        entry, _, method = p.member.label.partition("_")
        before = {"first": None, "tuned": "first", "last": "tuned"}[entry]
        waits = () if before is None else (names[f"{before}_{method}", p.member.seed],)
        assert p.member.after == waits
        started_from = tmp_path / "out" / waits[0] if entry == "tuned" else None
        assert p.config.training.init_from == started_from
        assert p.member.run == run_name(p.config)


def test_the_folder_of_the_run_before_is_absolute(write, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    tuned = expand(load_sweep(write("s.yaml", CHAIN)), "some/../out")[2]
    assert tuned.config.training.init_from == tmp_path / "out" / tuned.member.after[0]


def test_starting_from_another_run_counts_as_a_change_where_the_protocol_pins_it(write):
    text = CHAIN.replace("run/retinamnist_erm", "run/phantom_fracture_erm")
    text = text.replace("lr: 0.5, ", "").replace("training: {lr: 0.25}", "evaluation: {bins: 3}")
    planned = expand(load_sweep(write("s.yaml", text), ["seeds=0"]), "out")
    assert [p.config.protocol for p in planned[::2]] == ["phantom", "phantom+modified", "phantom"]


def test_the_word_after_needs_a_run_before(refusal):
    content = {"common": {**BASE, "training": {"init_from": "after"}}}
    message = refusal({**content, "runs": [{"label": "a"}, {"label": "b", "after": "a"}]})
    assert (
        "training.init_from = 'after' (the given mapping): this run has no key 'after'" in message
    )
    assert "in a" in message.splitlines()[-1]


@pytest.mark.parametrize(
    ("text", "said", "runs"),
    [
        ("training.batch_sise=3",
         "training.batch_sise = 3 (command line): there is no such key. Did you mean",
         "derma_erm and 5 more runs"),
        ("algorithm.keep=0.3", "algorithm.keep = 0.3 (command line): there is no such key",
         "derma_erm and 3 more runs"),
        ("extends=[transform/augment2]", "Did you mean 'transform/augment2d'",
         "derma_erm and 5 more runs"),
        (None, "Did you mean 'data/dermamnist'", "derma_erm and 2 more runs"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_once_with_the_runs_that_have_it(small, refusal, text, said, runs):
    if text is None:
        small.write_text(small.read_text().replace("data/dermamnist", "data/dermanist"))
    message = refusal(small, *([] if text is None else [text]))
    assert message.startswith("1 problem in the runs of the sweep")
    assert said in message
    assert message.endswith(f"in {runs}")


def test_mistakes_say_on_which_line_of_the_sweep_file_they_stand(write, refusal):
    path = write(
        "s.yaml",
        """\
        common:
          extends: run/retinamnist_erm
          training:
            epochs: many
        runs:
          - label: a
            training: {lr: -1}
          - label: b
            data: {flagg: x}
        axes:
          algorithm: [erm, latentdr_pol]
          training.batch_size: [big]
        """,
    )
    message = refusal(path)
    assert f"training.epochs = 'many' ({path}:4): should be a whole number" in message
    assert f"training.lr = -1 ({path}:7): should be greater than 0" in message
    assert f"data.flagg = 'x' ({path}:9): there is no such key" in message
    assert f"algorithm = 'latentdr_pol' ({path}:11, axes.algorithm): there is no such" in message
    assert f"training.batch_size = 'big' ({path}:12, axes.training.batch_size): should" in message
    assert "Did you mean 'latentdr_pool'" in message
    assert "in a_latentdr_pol_batch_size-big and 1 more run" in message


def test_two_runs_of_one_label_are_an_error(refusal):
    runs = [{"label": "a"}, {"label": "a_b"}]
    values = {"b_c": 0.1, "c": 0.2}
    message = refusal({"common": BASE, "runs": runs, "axes": {"training.lr": values}})
    assert (
        "label 'a_b_c' is used twice: training.lr b_c, run a; and training.lr c, run a_b" in message
    )


def test_a_label_too_long_for_a_folder_is_told_with_the_cure(refusal):
    axes = {"transform.train": {"a" * 150: [], "b": []}, "training.lr": {"c" * 60: 1}}
    message = refusal({"common": BASE, "axes": axes})
    assert message.startswith("1 problem")
    assert "has more than 200 characters: give the values of an axis short names" in message


def test_seeds_share_a_hash_and_differ_in_nothing_else(small):
    planned = expand(load_sweep(small, ["seeds=[5, 6]"]), "out")
    for one, two in zip(planned[:6], planned[6:], strict=True):
        assert run_hash(one.config) == run_hash(two.config)
        assert one.config.model_copy(update={"seed": 6}) == two.config
        assert (one.config.seed, two.config.seed) == (5, 6)


@pytest.mark.parametrize(
    ("pattern", "meant"),
    [
        ("derma", ["derma_erm", "derma_latentdr_pool", "derma_erm_half_lr"] * 2),
        ("*_erm", ["derma_erm", "retina_erm"] * 2),
        ("retina_erm-s3", ["retina_erm"]),
        ("d*-s3", ["derma_erm", "derma_latentdr_pool", "derma_erm_half_lr"]),
        ("retina_?rm", ["retina_erm"] * 2),
    ],
)  # fmt: skip
def test_some_runs_can_be_chosen(small, pattern, meant):
    planned = expand(load_sweep(small), "out")
    assert [p.member.label for p in select(planned, pattern)] == meant
    assert select(planned, planned[4].member.run) == [planned[4]]


def test_what_chosen_runs_wait_for_is_chosen_too(write):
    planned = expand(load_sweep(write("s.yaml", CHAIN)), "out")
    chosen = [(p.member.label, p.member.seed) for p in select(planned, "last_erm-s1")]
    assert chosen == [("first_erm", 1), ("tuned_erm", 1), ("last_erm", 1)]


def test_a_pattern_that_means_nothing_is_an_error_with_the_nearest_label(small):
    planned = expand(load_sweep(small), "out")
    with pytest.raises(InputError, match=r"Did you mean 'derma_erm'.*Labels: derma_erm, derma_lat"):
        select(planned, "derma_emr")
    with pytest.raises(InputError, match="only=''"):
        select(planned, "")


SETS = "common:\n  extends: [recipe/medmnist, data/retinamnist]\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            SETS + "  model:\n    width: 0.125\naxes:\n  model: [resnet18, resnet50]\n",
            r"model\.width \(.*mine\.yaml:4\) would be lost: axes\.model \(.*mine\.yaml:6\)",
        ),
        (
            "common:\n  extends: [recipe/medmnist, algorithm/erm]\n  data: {root: here}\n"
            "axes:\n  data: [retinamnist, breastmnist]\n",
            r"data\.root \(.*mine\.yaml:3\) would be lost.*data\.root=\.\.\.",
        ),
        (
            SETS + "runs:\n  - algorithm: {lr_scale: 0.5}\naxes:\n  algorithm: [erm, mixup]\n",
            r"algorithm\.lr_scale .* would be lost",
        ),
        (
            SETS + "  algorithm: {name: erm, lr_scale: 0.5}\n"
            "axes:\n  algorithm: {a: {name: erm}, b: {name: mixup}}\n",
            r"algorithm\.lr_scale .* would be lost",
        ),
    ],
)
def test_a_key_that_an_axis_would_drop_is_an_error(write, refusal, text, message):
    assert re.search(message, refusal(write("mine.yaml", text)))


def test_values_without_another_name_are_merged_into_the_section(write):
    text = SETS + "  algorithm: {name: latentdr, keep: 0.3}\n"
    text += "axes:\n  algorithm: {sa: {degrade: attention}, pool: {degrade: pool}}\n"
    planned = expand(load_sweep(write("mine.yaml", text)), "out")
    algorithms = [p.config.algorithm for p in planned]
    assert [(a.degrade, a.keep) for a in algorithms] == [("attention", 0.3), ("pool", 0.3)]


def test_what_parts_brought_may_go_and_the_command_line_reaches_every_value(write):
    text = SETS.replace("]", ", algorithm/latentdr_pool]") + "axes:\n  algorithm: [erm, mixup]\n"
    planned = expand(load_sweep(write("mine.yaml", text), ["algorithm.lr_scale=0.5"]), "out")
    algorithms = [p.config.algorithm for p in planned]
    assert [(a.name, a.lr_scale) for a in algorithms] == [("erm", 0.5), ("mixup", 0.5)]
