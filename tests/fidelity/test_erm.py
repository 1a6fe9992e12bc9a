"""ERM, and with it what the steps of all methods have in common."""

from fidelity import Case, Plain, every_step

test_every_step = every_step(
    Plain,
    {
        "plain": Case(),
        "live normalisation": Case(norm="live"),
        "frozen normalisation": Case(norm="frozen"),
        "half the rate": Case({"lr_scale": 0.5}),
        "clipped": Case(training={"clip_norm": 0.1}),
        "decoupled decay": Case(training={"optimizer": "adamw", "weight_decay": 0.1}),
        "nesterov": Case(training={"nesterov": True}),
    },
)
