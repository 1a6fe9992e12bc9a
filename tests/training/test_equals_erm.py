"""A whole run whose method does nothing ends in the very files of a run of ERM."""

import pytest

NOTHING = {
    "mixup": {"alpha": 0},
    "cutmix, no lambda": {"beta": 0},
    "cutmix, no batch": {"prob": 0},
    "manifold_mixup": {"alpha": 0},
    "mixstyle": {"p": 0},
    "dsu": {"p": 0},
    "isda": {"strength": 0},
    "bsda": {"strength": 0},
    "batchformer": {"weights": [1, 0]},
    "latentdr": {"weights": [1, 0, 0], "lr_scale": 1},
}
PLAN = {
    "model": {"name": "resnet18", "width": 0.125},
    "training.momentum": 0.9,
    "training.schedule": "cosine",
    "training.epochs": 1,
    "training.lr": 0.1,
}


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_weights_are_those_of_erm_bit_for_bit(precision, train):
    plan = {**PLAN, "training.precision": precision}
    erm = train(plan, "erm").folder.model.read_bytes()
    assert train({**plan, "seed": 1}, "seed").folder.model.read_bytes() != erm
    for number, (name, keys) in enumerate(NOTHING.items()):
        changes = {**plan, "algorithm": {"name": name.split(",")[0], **keys}}
        assert train(changes, f"run{number}").folder.model.read_bytes() == erm, name


def test_cross_domain_mixstyle_without_mixing_is_erm_with_its_sampler(train):
    erm = train({**PLAN, "training.sampler": "domains"}, "erm")
    nothing = {"name": "mixstyle", "partners": "cross_domain", "p": 0}
    own = train({**PLAN, "algorithm": nothing}, "own")
    assert own.folder.model.read_bytes() == erm.folder.model.read_bytes()
    assert own.fitted.facts["sampler"] == erm.fitted.facts["sampler"] == "domains"
    plain = train(PLAN, "plain")
    assert plain.fitted.facts["sampler"] == "shuffle"
    assert plain.folder.model.read_bytes() != own.folder.model.read_bytes()


@pytest.mark.parametrize(
    ("nothing", "something"),
    [
        ({"name": "coral", "weight": 0}, {"weight": 1}),
        ({"name": "xdomainmix", "strength": 0}, {"strength": 0.5, "warmup": 0}),
    ],
    ids=["coral", "xdomainmix"],
)
def test_a_comparison_of_domains_that_counts_nothing_is_erm_with_its_sampler(
    nothing, something, train
):
    plan = {**PLAN, "training.precision": "float32"}
    erm = train({**plan, "training.sampler": "domains"}, "erm")
    own = train({**plan, "algorithm": nothing}, "own")
    assert own.folder.model.read_bytes() == erm.folder.model.read_bytes()
    pulled = train({**plan, "algorithm": nothing | something}, "pulled")
    assert pulled.folder.model.read_bytes() != erm.folder.model.read_bytes()
