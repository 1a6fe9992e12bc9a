"""What the sweep file says of a section is not lost to an axis over that section without a word."""

import pytest

from medldr.errors import InputError
from medldr.sweeps.plan.expand import expand
from medldr.sweeps.plan.file import load_sweep

COMMON = "common:\n  extends: [recipe/medmnist, data/retinamnist]\n"


def expanded(tmp_path, text, *overrides):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    return expand(load_sweep(path, list(overrides)), tmp_path / "S")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            COMMON + "  model:\n    width: 0.125\naxes:\n  model: [resnet18, resnet50]\n",
            r"model\.width \(.*mine\.yaml:4\) would be lost: axes\.model \(.*mine\.yaml:6\)",
        ),
        (
            "common:\n  extends: [recipe/medmnist, algorithm/erm]\n  data: {root: here}\n"
            "axes:\n  data: [retinamnist, breastmnist]\n",
            r"data\.root \(.*mine\.yaml:3\) would be lost.*data\.root=\.\.\.",
        ),
        (
            COMMON + "runs:\n  - algorithm: {lr_scale: 0.5}\naxes:\n  algorithm: [erm, mixup]\n",
            r"algorithm\.lr_scale .* would be lost",
        ),
        (
            COMMON + "  algorithm: {name: erm, lr_scale: 0.5}\n"
            "axes:\n  algorithm: {a: {name: erm}, b: {name: mixup}}\n",
            r"algorithm\.lr_scale .* would be lost",
        ),
    ],
)
def test_a_key_that_an_axis_would_drop_is_an_error(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        expanded(tmp_path, text)


def test_values_without_another_name_are_merged_into_the_section(tmp_path):
    text = COMMON + "  algorithm: {name: latentdr, keep: 0.3}\n"
    text += "axes:\n  algorithm: {sa: {degrade: attention}, pool: {degrade: pool}}\n"
    planned = expanded(tmp_path, text)
    assert [p.config.algorithm.degrade for p in planned] == ["attention", "pool"]
    assert {p.config.algorithm.keep for p in planned} == {0.3}


def test_what_parts_brought_may_go(tmp_path):
    text = COMMON.replace("]", ", algorithm/latentdr_pool]") + "axes:\n  algorithm: [erm, mixup]\n"
    assert [p.config.algorithm.name for p in expanded(tmp_path, text)] == ["erm", "mixup"]


def test_the_command_line_reaches_every_value_of_the_axis(tmp_path):
    text = COMMON + "  algorithm: erm\naxes:\n  model: [resnet18, resnet50]\n"
    planned = expanded(tmp_path, text, "model.width=0.125")
    assert {p.config.model.width for p in planned} == {0.125}
