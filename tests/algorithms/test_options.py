"""Options that do not fit are refused with the configuration, naming the key or the cure."""

from math import inf, nan

import pytest
from pydantic import ValidationError

from medldr import plugins

REFUSED = [
    ("batchformer", {"weights": [0, 0]}, "not both 0"),
    ("batchformer", {"weights": [1, -1]}, "at least 0"),
    ("batchformer", {"weights": [1, inf]}, "finite"),
    ("batchformer", {"weights": [1]}, "weights"),
    ("batchformer", {"heads": 0}, "heads"),
    ("batchformer", {"dropout": 1.0}, "dropout"),
    ("batchformer", {"encoder_lr_scale": 0}, "encoder_lr_scale"),
    ("cdann", {"class_count": "largest"}, "class_count"),
    ("coral", {"weight": -1}, "weight"),
    ("coral", {"weight": inf}, "weight"),
    ("coral", {"domains_per_batch": 1}, "domains_per_batch"),
    ("dann", {"weight": -1}, "weight"),
    ("dann", {"d_steps": 0}, "d_steps"),
    ("dann", {"grad_penalty": inf}, "grad_penalty"),
    ("dann", {"lr_d": 0}, "lr_d"),
    ("dann", {"depth": 1}, "depth"),
    ("dann", {"dropout": 1}, "dropout"),
    ("dann", {"schedule": "linear"}, "schedule"),
    ("fish", {"meta_lr": -0.1}, "meta_lr"),
    ("fish", {"meta_lr": nan}, "meta_lr"),
    ("fish", {"meta_steps": 0}, "meta_steps"),
    ("fish", {"order": "names"}, "order"),
    ("fishr", {"weight": -1}, "weight"),
    ("fishr", {"ema": 1.0}, "ema"),
    ("fishr", {"ema": -0.1}, "ema"),
    ("fishr", {"anneal_steps": -1}, "anneal_steps"),
    ("groupdro", {"eta": -1}, "eta"),
    ("groupdro", {"eta": inf}, "eta"),
    ("irm", {"weight": -1}, "weight"),
    ("irm", {"weight": inf}, "weight"),
    ("irm", {"anneal_steps": -1}, "anneal_steps"),
    ("latentdr", {"degrade": "none"}, "choose a degradation"),
    ("latentdr", {"restore": "none"}, "set restore to 'attention'"),
    ("latentdr", {"terms": []}, "plain training"),
    ("latentdr", {"terms": ["degradation"]}, "degraded"),
    ("latentdr", {"dropout": 1.0}, "dropout"),
    ("latentdr", {"keep": 0.0}, "keep"),
    ("latentdr", {"norm": "middle"}, "post"),
    ("latentdr", {"share_operators": True, "degrade": "pool"}, "two attention operators"),
    ("latentdr", {"weights": [1, -1, 1]}, "three finite numbers"),
    ("miro", {"weight": -1}, "weight"),
    ("miro", {"encoder_lr_scale": 0}, "encoder_lr_scale"),
    ("miro", {"initial_variance": 1e-5}, "initial_variance"),
    ("miro", {"points": "stage1"}, "points"),
    ("mixstyle", {"stages": ["stage1", "stage4"]}, "stage4 is the last stage"),
    ("mixstyle", {"stages": []}, "plain training"),
    ("mixstyle", {"stages": ["stage1", "stage1"]}, "each once"),
    ("mixstyle", {"stages": ["stage5"]}, "'stage3'"),
    ("mixstyle", {"p": 1.5}, "p\n"),
    ("mixstyle", {"p": nan}, "finite"),
    ("mixstyle", {"alpha": 0}, "alpha"),
    ("mixstyle", {"alpha": inf}, "alpha"),
    ("mixstyle", {"eps": 0}, "eps"),
    ("mixstyle", {"partners": "domain"}, "'cross_domain'"),
    ("mldg", {"order": "second"}, "order"),
    ("mldg", {"beta": -1}, "beta"),
    ("mldg", {"inner_lr": -0.1}, "inner_lr"),
    ("mldg", {"n_meta_test": 0}, "n_meta_test"),
    ("mldg", {"inner": "adamw"}, "inner"),
    ("mmd", {"weight": -1}, "weight"),
    ("mmd", {"weight": inf}, "weight"),
    ("mmd", {"bandwidths": "mean"}, "bandwidths"),
    ("sagnet", {"weight": -0.1}, "weight"),
    ("sagnet", {"weight": inf}, "weight"),
    ("sagnet", {"weight": nan}, "weight"),
    ("vrex", {"weight": -1}, "weight"),
    ("vrex", {"weight": nan}, "weight"),
    ("vrex", {"anneal_steps": -1}, "anneal_steps"),
]


@pytest.mark.parametrize(("name", "keys", "message"), REFUSED)
def test_options_that_do_not_fit_fail_in_the_config(name, keys, message):
    config = plugins.load("algorithms", name).Config
    with pytest.raises(ValidationError, match=message):
        config.model_validate({"name": name, **keys})
