"""Situations from public bug reports about configurations, each with its right value."""

import pytest

from medldr.config import dump_config, load_config, run_hash


@pytest.fixture
def loaded(write):
    """The phantom's run with the keys of a case; the written file is read once more."""

    def of(text):
        config = load_config(write("case.yaml", f"extends: run/phantom_fracture_erm\n{text}"))
        again = load_config(write("config.yaml", dump_config(config)))
        assert again == config
        return config

    return of


def test_exponents_are_numbers(loaded, refusal):
    config = loaded("training: {lr: 1e-3, weight_decay: 5E-4, eps: 1.0e-8}\n").training
    assert (config.lr, config.weight_decay, config.eps) == (0.001, 0.0005, 1e-8)
    assert all(type(x) is float for x in (config.lr, config.weight_decay, config.eps))
    message = refusal("phantom_fracture_erm", "training.lr=abc")
    assert "training.lr = 'abc'" in message
    assert "number" in message


def test_ids_with_leading_zeros_stay_ids(loaded):
    config = loaded("data: {exclude: [0123, 0456, 0089, 12]}\n")
    assert config.data.exclude == ("0123", "0456", "0089", "12")


def test_ids_that_look_like_numbers_stay_as_written(loaded):
    ids = ("12e4", "1.50", "0x1F", "+7", "1e400", "7.", "2026-01-02", "1_000")
    config = loaded(f"data: {{exclude: [{', '.join(ids)}]}}\n")
    assert config.data.exclude == ids


def test_yes_and_no_are_words(loaded):
    config = loaded(
        "data: {class_names: [no, yes, n], held_out: [on, off]}\n"
        "evaluation: {positive_class: yes}\n"
    )
    assert config.data.class_names == ("no", "yes", "n")
    assert config.evaluation.positive_class == "yes"
    assert set(config.data.held_out) == {"on", "off"}


def test_ids_that_are_no_text_ask_for_quotes_by_being_refused(refusal):
    for word in ("true", "null"):
        message = refusal("phantom_fracture_erm", f"data.exclude=[{word}]")
        assert f"data.exclude[0] = {word}" in message


def test_the_order_of_held_out_domains_never_matters():
    one = load_config("phantom_fracture_erm", ["data.held_out=[scanner_b, scanner_a]"])
    two = load_config("phantom_fracture_erm", ["data.held_out=[scanner_a, scanner_b]"])
    assert one == two
    assert run_hash(one) == run_hash(two)


def test_keys_for_imbalance_and_subsets_are_there(loaded):
    config = loaded(
        "training: {class_weights: balanced, sampler: weighted}\ndata: {train_fraction: 0.3}\n"
    )
    assert (config.training.class_weights, config.training.sampler) == ("balanced", "weighted")
    assert config.data.train_fraction == 0.3
    weights = load_config("phantom_fracture_erm", ["training.class_weights=[1, 2, 0.5]"])
    assert weights.training.class_weights == (1.0, 2.0, 0.5)
