"""Chosen settings are planned again with seeds after all others, the same for every method."""

import pytest

from medldr.config import packaged_names
from medldr.errors import InputError
from medldr.evaluation.setting_choice import Trial, choose
from medldr.sweeps.plan.expand import as_record, choosing, expand
from medldr.sweeps.plan.file import load_sweep

COMMON = {"extends": "run/phantom_fracture_erm"}
SPACE = {"algorithm.dropout": {"when": {"algorithm": "latentdr"}, "choice": [0.2, 0.5, 0.7]}}
LR = {"training.lr": {"log_uniform": [1e-4, 1e-2]}}


def sweep_of(*texts, search=(), **more):
    found = {"draws": 3, "space": LR, "fresh_seeds": 2, **dict(search)}
    content = {"common": COMMON, "axes": {"algorithm": ["erm", "latentdr_pool"]}, "seeds": [0, 4]}
    return load_sweep({**content, **more, "search": found}, texts)


def chosen_from(sweep, best):
    """Choices by which the runs with these labels, and seeds, have the best validation."""
    planned = expand(sweep, "out")
    choices = []
    for cell, members in choosing(planned, as_record(sweep, planned).layout).items():
        trials = []
        for member in members:
            value = 0.9 if {member.label, (member.label, member.seed)} & set(best) else 0.5
            setting, log = (member.row,), [{"val/accuracy": value}]
            keys = {**member.drawn} or {"setting": member.row}
            trials.append(Trial(member.run, setting, member.seed, keys, log))
        choices.append(choose(*cell, trials))
    return tuple(choices)


def fresh(sweep, choices):
    return [p for p in expand(sweep, "out", choices) if p.member.seed in sweep.fresh_seeds]


def test_the_chosen_setting_of_every_method_gets_the_seeds_after_all_others():
    sweep = sweep_of(search={"space": SPACE})
    assert sweep.fresh_seeds == (5, 6)
    before = expand(sweep, "out")
    choices = chosen_from(sweep, ["latentdr_pool_d01"])
    planned = expand(sweep, "out", choices)
    assert planned[: len(before)] == before
    assert [(p.member.label, p.member.seed) for p in planned[len(before) :]] == [
        ("erm_d00", 5), ("latentdr_pool_d01", 5), ("erm_d00", 6), ("latentdr_pool_d01", 6),
    ]  # fmt: skip
    again = planned[-1]
    (first,) = [p for p in before if (p.member.label, p.member.seed) == ("latentdr_pool_d01", 0)]
    assert again.config == first.config.model_copy(update={"seed": 6})
    assert again.member.run == first.member.run.replace("-s0", "-s6")
    assert expand(sweep, "out") == before  # nothing is remembered


def test_the_plan_says_how_many_follow_and_after_the_choice_that_none_do():
    sweep = sweep_of(search={"space": SPACE})
    planned = expand(sweep, "out")
    record = as_record(sweep, planned)
    assert (record.following, record.layout.fresh_seeds) == (4, (5, 6))
    whole = expand(sweep, "out", chosen_from(sweep, []))
    later = as_record(sweep, whole, chosen=True)
    assert (later.following, len(later.members)) == (0, len(planned) + 4)
    assert later.searching == record.searching


def test_axes_under_table_search_are_trained_again_in_every_column():
    sweep = load_sweep({
        "common": COMMON,
        "axes": {"training.lr": [0.1, 0.2], "data.size": {"small": 8, "large": 12}},
        "runs": [{"label": "erm"}],
        "table": {"search": "training.lr", "columns": "data.size"},
        "search": {"fresh_seeds": 1},
    })  # fmt: skip
    choices = chosen_from(sweep, ["erm_lr-0.2_small", "erm_lr-0.1_large"])
    found = {(p.member.column, p.config.training.lr) for p in fresh(sweep, choices)}
    assert found == {("small", 0.2), ("large", 0.1)}
    assert as_record(sweep, expand(sweep, "out")).following == 2


def test_where_each_seed_has_its_draws_the_best_of_all_seeds_is_trained_again():
    sweep = sweep_of(search={"per_seed": True}, axes={"algorithm": ["erm"]})
    planned = {(p.member.label, p.member.seed): p.config for p in expand(sweep, "out")}
    for seed in (0, 4):
        lr = planned["erm_d02", seed].training.lr
        found = fresh(sweep, chosen_from(sweep, [("erm_d02", seed)]))
        assert [p.config.training.lr for p in found] == [lr, lr]


def test_what_starts_from_another_run_starts_from_its_fresh_seed():
    runs = [
        {"label": "first"},
        {"label": "second", "after": "first", "training": {"init_from": "after"}},
    ]
    sweep = sweep_of(axes={}, runs=runs, seeds=[0])
    found = fresh(sweep, chosen_from(sweep, ["first_d00", "second_d01"]))
    assert [p.member.label for p in found[:3]] == ["first_d00", "first_d01", "second_d01"]
    assert found[2].member.after == (found[1].member.run,)
    assert str(found[2].config.training.init_from).endswith(found[1].member.run)


def test_pairs_of_held_out_domains_choose_nothing():
    sweep = load_sweep(
        "search_pacs_pool",
        ["axes.data.held_out={photo: photo, sketch: sketch, both: [photo, sketch]}",
         "axes.algorithm.head_dim=[64]"],
    )  # fmt: skip
    choices = chosen_from(sweep, [])
    assert {choice.column for choice in choices} == {"photo", "sketch"}
    assert {p.member.column for p in fresh(sweep, choices)} == {"photo", "sketch"}
    assert as_record(sweep, expand(sweep, "out")).following == 6


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"search": {"fresh_seeds": 3}}, "name axes under table.search"),
        (
            {"search": {"space": LR, "fresh_seeds": 3}, "table": {"columns": "draw"}},
            "nothing is searched but columns",
        ),
        ({"search": {"space": LR, "fresh_seeds": -1}}, "greater than or equal to 0"),
        ({"search": {"fresh_seeds": 3, "draws": 5}}, "there is nothing to draw"),
    ],
)
def test_seeds_that_cannot_be_chosen_for_are_refused_with_the_key(content, said):
    with pytest.raises(InputError) as caught:
        load_sweep({"common": COMMON, **content})
    assert "search" in str(caught.value)
    assert said in str(caught.value)


@pytest.mark.parametrize("name", packaged_names("sweep"))
def test_packaged_searches_report_fresh_seeds(name):
    sweep = load_sweep(name)
    assert len(sweep.fresh_seeds) == (3 if sweep.table.search else 0)


def test_a_search_of_a_published_protocol_keeps_its_rows():
    texts = ["search.draws=2", "seeds=0", "axes.data.held_out=[photo]"]
    for overrides, kept in ((texts, True), ([*texts, "protocol=mine"], False)):
        sweep = load_sweep("search_domainbed_pacs", overrides)
        assert as_record(sweep, expand(sweep, "out")).layout.as_published is kept
