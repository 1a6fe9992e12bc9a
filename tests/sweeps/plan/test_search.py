"""A random search: draws are runs, their values stay whatever else is there, mistakes are told."""

import pytest

from medldr.config import packaged_names, run_hash
from medldr.config.load import find_config
from medldr.sweeps.plan.expand import as_record, expand
from medldr.sweeps.plan.file import load_sweep
from medldr.sweeps.plan.search import search_notes

RATE = {"log_uniform": [1e-4, 1e-2]}
SPACE = {
    "training.lr": RATE,
    "training.batch_size": {"log_uniform_int": [8, 45.2548]},
    "algorithm.dropout": {"when": {"algorithm": "latentdr"}, "choice": [0.2, 0.5, 0.7]},
}
AXES = {"algorithm": ["erm", "latentdr_pool"]}
COMMON = {"extends": "run/phantom_fracture_erm"}
TEXT = """\
common: {extends: [recipe/phantom, data/phantom_fracture]}
axes:
  algorithm: [erm, latentdr_pool]
search:
  draws: 3
  space:
    training.lr: {log_uniform: [1e-4, 1e-2]}
    algorithm.dropout: {when: {algorithm: latentdr}, choice: [0.2, 0.5, 0.7]}
"""


def notes(sweep):
    members = as_record(sweep, expand(sweep, "out")).members
    return list(search_notes(sweep.search, members, sweep.source))


def sweep_of(*texts, draws=3, space=SPACE, axes=AXES, search=(), **more):
    content = {"common": COMMON, "axes": axes, **more}
    found = {"draws": draws, "space": space, **dict(search)}
    return load_sweep({**content, "search": found}, texts)


def drawn(*texts, **more):
    """What each run draws, by label and seed."""
    planned = expand(sweep_of(*texts, **more), "out")
    return {(p.member.label, p.member.seed): dict(p.member.drawn) for p in planned}


def test_each_draw_of_each_method_is_a_run_and_the_first_draw_comes_first():
    planned = expand(sweep_of(seeds=[0, 4]), "out")
    assert [(p.member.label, p.member.seed) for p in planned] == [
        (f"{method}_{draw}", seed)
        for seed in (0, 4)
        for draw in ("d00", "d01", "d02")
        for method in ("erm", "latentdr_pool")
    ]
    (member,) = [p.member for p in planned if p.member.label == "erm_d01" and p.member.seed == 4]
    assert member.row_values == {"algorithm": "erm", "draw": "d01"}
    layout = as_record(sweep_of(), planned).layout
    assert (layout.rows, layout.search, layout.search_per_seed) == ("algorithm", ("draw",), False)


def test_the_first_draw_is_the_run_without_a_search_and_the_others_are_pinned():
    found = drawn()
    assert found["erm_d00", 0] == {"training.lr": 0.002, "training.batch_size": 32}
    assert found["latentdr_pool_d00", 0]["algorithm.dropout"] == 0.5
    assert found["erm_d01", 0] == {"training.lr": 0.00151457, "training.batch_size": 23}
    assert found["erm_d02", 0] == {"training.lr": 0.000256116, "training.batch_size": 36}
    assert found["latentdr_pool_d01", 0] == {**found["erm_d01", 0], "algorithm.dropout": 0.2}
    alone = load_sweep({"common": COMMON, "axes": AXES})
    (erm, _), planned = expand(alone, "out"), expand(sweep_of(), "out")
    assert run_hash(erm.config) == run_hash(planned[0].config)
    (second,) = [p.config for p in planned if p.member.label == "latentdr_pool_d02"]
    assert second.training.lr == 0.000256116
    assert second.algorithm.dropout == found["latentdr_pool_d02", 0]["algorithm.dropout"]
    without = drawn(search={"defaults_first": False})
    assert without["erm_d00", 0]["training.lr"] not in (0.002, found["erm_d01", 0]["training.lr"])
    assert without["erm_d01", 0] == found["erm_d01", 0]


def test_values_do_not_depend_on_other_keys_methods_draws_or_their_order():
    found = drawn(draws=6)
    alone = drawn(draws=4, space={"training.lr": RATE}, axes={"algorithm": ["mixup"]})
    turned = drawn(draws=6, space=dict(reversed(SPACE.items())))
    for draw in range(1, 4):
        value = found[f"erm_d{draw:02d}", 0]["training.lr"]
        assert alone[f"mixup_d{draw:02d}", 0]["training.lr"] == value
    assert turned == found
    assert {k: v for k, v in found.items() if k[0][-3:] in ("d00", "d01", "d02")} == drawn()


def test_seeds_share_draws_unless_each_has_its_own():
    shared = drawn(seeds=[0, 1])
    assert shared["erm_d01", 0] == shared["erm_d01", 1]
    own = drawn(seeds=[0, 1], search={"per_seed": True})
    assert own["erm_d00", 0] == own["erm_d00", 1]
    assert own["erm_d01", 0]["training.lr"] != own["erm_d01", 1]["training.lr"]
    assert own["erm_d01", 1] == drawn(seeds=[1], search={"per_seed": True})["erm_d01", 1]
    sweep = sweep_of(search={"per_seed": True})
    assert as_record(sweep, expand(sweep, "out")).layout.search_per_seed


def test_the_command_line_changes_draws_and_space():
    found = drawn("search.draws=2", "search.space.training.lr={choice: [0.5]}",
                  "search.space.algorithm.dropout=null",
                  "search.space.training.weight_decay={uniform: [0, 0.1]}")  # fmt: skip
    assert len(found) == 4
    assert found["latentdr_pool_d01", 0] == {
        "training.lr": 0.5, "training.batch_size": 23,
        "training.weight_decay": found["erm_d01", 0]["training.weight_decay"],
    }  # fmt: skip


def test_a_draw_that_repeats_another_is_left_out_and_counted():
    space = {"training.batch_size": {"choice": [16, 32]}}
    sweep = sweep_of(draws=5, space=space, axes={})
    assert [p.config.training.batch_size for p in expand(sweep, "out")] == [32, 16]
    assert notes(sweep) == [
        "draws left out because their method has an earlier one of the same values: 3"
    ]


def test_what_waits_for_a_repeated_draw_waits_for_the_earlier_one():
    runs = [
        {"label": "first", "training": {"batch_size": 16}},
        {"label": "second", "after": "first", "training": {"init_from": "after"}},
    ]
    space = {
        "training.weight_decay": [{"when": {"training.init_from": "after"}, "uniform": [0, 0.1]}]
    }
    planned = expand(sweep_of(space=space, axes={}, runs=runs), "out")
    waits = {p.member.label: p.member.after for p in planned}
    (first,) = [p.member.run for p in planned if p.member.label == "first_d00"]
    assert waits == {
        "first_d00": (), "second_d00": (first,), "second_d01": (first,), "second_d02": (first,),
    }  # fmt: skip


def test_the_first_distribution_that_holds_for_a_method_counts():
    space = {
        "algorithm.weight": [
            {"when": {"algorithm": ["dann", "cdann"]}, "uniform": [1, 2]},
            {"when": {"algorithm": "coral"}, "uniform": [10, 20]},
        ]
    }
    common = {**COMMON, "extends": ["recipe/phantom", "data/phantom_fracture_scanners"]}
    found = drawn(space=space, axes={"algorithm": ["erm", "dann", "coral"]}, common=common, draws=2)
    assert found["erm_d00", 0] == {}
    assert ("erm_d01", 0) not in found
    one, ten = (found[f"{name}_d01", 0]["algorithm.weight"] for name in ("dann", "coral"))
    assert 1 <= one <= 2
    assert ten == pytest.approx(10 * one, abs=1e-4)


def test_runs_make_the_rows_where_nothing_but_draws_multiplies_them():
    runs = [{"label": "erm", "algorithm": "erm"}, {"label": "mixup", "algorithm": "mixup"}]
    sweep = sweep_of(axes={}, runs=runs, space={"training.lr": RATE})
    assert (sweep.table.rows, sweep.table.columns) == (("run", "draw"), ())
    assert {p.member.column for p in expand(sweep, "out")} == {"phantom_fracture"}


def test_a_part_is_extended_and_the_file_changes_or_removes_its_keys(write):
    write(
        "mine.yaml",
        """\
    space:
      training.lr: {uniform: [0.1, 0.2]}
      training.weight_decay: {uniform: [0, 0.1]}
    """,
    )
    own = TEXT.replace("draws: 3", "extends: ./mine.yaml")
    rate = "training.lr: {log_uniform: [1e-4, 1e-2]}"
    path = write("s.yaml", own.replace(rate, "training.weight_decay: null"))
    search = load_sweep(path).search
    assert list(search.space) == ["training.lr", "algorithm.dropout"]
    assert search.draws == 20
    assert search.space["training.lr"][0].where.endswith("mine.yaml:2")
    assert search.space["algorithm.dropout"][0].where.endswith("s.yaml:8")


def test_the_draws_of_a_protocol_s_own_search_are_of_that_protocol():
    content = {
        "common": {"extends": ["recipe/domainbed", "data/pacs"], "data": {"held_out": "photo"}},
        "axes": {"algorithm": ["erm", "dann"]},
        "search": {"extends": "search/domainbed", "draws": 2},
    }
    for texts, protocol in [
        ((), "domainbed-2020"),
        (["search.space.training.lr={uniform: [0.001, 0.1]}"], "domainbed-2020+modified"),
        (["training.warmup=3"], "domainbed-2020+modified"),
    ]:
        planned = expand(load_sweep(content, texts), "out")
        assert {p.config.protocol for p in planned if p.member.label.endswith("d01")} == {protocol}
    under = {**content, "common": {**content["common"], "extends": ["recipe/swad", "data/pacs"]}}
    protocols = [p.config.protocol for p in expand(load_sweep(under), "out")]
    assert protocols == ["swad", "swad", "swad+modified", "swad+modified"]


def test_a_space_is_no_part_of_a_run():
    assert "search/domainbed" not in packaged_names()
    assert set(packaged_names("search")) == {"domainbed", "domainbed_domain_net"}
    assert find_config("pacs_erm").stem == "pacs_erm"


def faulty(**space):
    return {key.replace("__", "."): value for key, value in space.items()}


@pytest.mark.parametrize(
    ("search", "said"),
    [
        ({"draws": 0}, "search.draws = 0 (the given mapping): should be greater than 0"),
        ({"draw": 3}, "there is no such key. Did you mean 'draws'?"),
        ({"space": {}}, "there is nothing to draw: give search.space, or extend search/domainbed"),
        ({"extends": "search/domainbad"}, "domainbad.yaml). Did you mean 'search/domainbed'"),
        ({"space": faulty(training__lr=0.1)}, "search.space.training.lr = 0.1 (the given mapping)"),
        ({"space": faulty(training__lr={"log_uniform": [0, 1]})},
         "search.space.training.lr (the given mapping): log_uniform = [0, 1]: the lower bound"),
        ({"space": faulty(training__lr=[{"choice": [1]}, {"choice": [2]}])},
         "search.space.training.lr[0] (the given mapping): holds for every run"),
        ({"space": faulty(trainin__lr=RATE)}, "a run has no key 'trainin'. Did you mean"),
        ({"space": faulty(model={"choice": ["resnet18"]})}, "make it an axis: axes.model: [...]"),
        ({"space": faulty(training__averaging={"choice": [None]},
                          training__averaging__decay={"choice": [0.9]})},
         "contains training.averaging.decay, which is drawn as well"),
        ({"space": faulty(algorithm__keep={"when": {"algorithm": "latentd"}, "choice": [1]})},
         "when.algorithm = 'latentd': there is no such algorithm. Did you mean 'latentdr'?"),
        # What only a run can refuse, at the ends of what may be drawn:
        ({"space": faulty(training__rate=RATE)},
         "training.rate = 0.0001 (the given mapping, search.space.training.rate): there is no"),
        ({"space": faulty(algorithm__keep={"choice": [0.2, 0.5]})},
         "If it is for some methods only, add when: {algorithm: [...]}\n    in erm"),
        ({"space": faulty(algorithm__dropout={"when": {"algorithm": "latentdr"},
                                              "uniform": [0.2, 1.5]})},
         "algorithm.dropout = 1.5 (the given mapping, search.space.algorithm.dropout): should be "
         "less than 1\n    in latentdr_pool"),
    ],
)  # fmt: skip
def test_a_faulty_search_is_told_once_with_key_and_cure(refusal, search, said):
    content = {"common": COMMON, "axes": AXES, "search": {"draws": 2, "space": SPACE, **search}}
    text = refusal(content)
    assert said in text
    assert text.startswith("1 problem in ")


@pytest.mark.parametrize(
    ("axes", "texts", "said"),
    [
        ({"training.lr": [0.1]}, (), "search.space.training.lr (the given mapping): is an axis as"),
        ({"training": {"a": {"lr": 0.1}}}, (), "is set by axes.training as well"),
        ({}, ["training.lr=0.1"], "would be lost: command line sets training.lr. Leave that out"),
        ({}, ["search.space.training.lr={uniform: [0, 1]}"],
         "training.lr = 0.0 (command line, search.space.training.lr): should be greater than 0"),
    ],
)  # fmt: skip
def test_a_key_set_twice_is_told(refusal, axes, texts, said):
    search = {"draws": 2, "space": {"training.lr": RATE}}
    assert said in refusal({"common": COMMON, "axes": {**AXES, **axes}, "search": search}, *texts)


def test_mistakes_in_files_are_told_with_their_lines(write, refusal):
    assert "s.yaml:7): log_uniform = [0, 0.01]" in refusal(
        write("s.yaml", TEXT.replace("1e-4, 1e-2", "0, 0.01"))
    )
    write("part.yaml", "space:\n  training.lr: {uniform: [1]}\nspase: {}\nextends: ./part.yaml\n")
    text = refusal(write("t.yaml", TEXT.replace("draws: 3", "extends: ./part.yaml")))
    assert "extend each other in a circle" in text
    write("part.yaml", "space:\n  training.lr: {uniform: [1]}\nspase: {}\n")
    text = refusal(write("t.yaml", TEXT.replace("draws: 3", "extends: ./part.yaml")))
    assert "part.yaml:2): uniform = [1]: should be two numbers" in text
    assert "part.yaml:3): there is no such key. Did you mean 'space'?" in text


def test_a_key_of_the_file_that_no_run_draws_is_noted(write):
    path = write("s.yaml", TEXT)
    (note,) = notes(load_sweep(path, ["axes.algorithm=erm"]))
    assert note.startswith("search.space.algorithm.dropout (")
    assert note.endswith("s.yaml:8) is for no run of this sweep")
    assert notes(load_sweep({"common": COMMON})) == []
