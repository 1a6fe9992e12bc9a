"""A method goes by the id of published numbers in its published forms alone."""

import pytest

from medldr.config.method import method_id, method_title


def test_averaged_weights_are_another_method():
    published = {"averaging": {"name": "swad", "compat": True}}
    averaged = {"algorithm": {"name": "erm"}, "training": published}
    assert method_id(averaged) == "erm+swad"
    assert method_title(averaged) == "ERM + SWAD"
    for averaging, found in (("ema", "erm"), ("swad", "erm+swad_once")):
        training = {"averaging": {"name": averaging, "start": 0.2}}
        assert method_id({"algorithm": "erm", "training": training}) == found


def test_averaging_each_segment_once_has_no_published_numbers():
    for averaging in ("swad", {"name": "swad"}, {"name": "swad", "compat": False}):
        averaged = {"algorithm": {"name": "coral"}, "training": {"averaging": averaging}}
        assert method_id(averaged) == "coral+swad_once"
        assert method_title(averaged) == "CORAL + SWAD, each segment once"


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({}, "latentdr_pool"),
        ({"degrade": "attention"}, "latentdr_sa"),
        ({"terms": ["degraded"], "restore": "none"}, "latentdr_d_only"),
        ({"terms": ["degraded"], "degrade": "attention"}, "latentdr"),
        ({"restore": "none"}, "latentdr"),
        ({"base": {"name": "mixstyle"}}, "latentdr_pool+mixstyle"),
        ({"base": {"name": "erm"}}, "latentdr_pool"),
        ({"loss": {"name": "balanced_softmax"}}, "latentdr_pool+balanced_softmax"),
        ({"loss": {"name": "cross_entropy"}}, "latentdr_pool"),
        ({"degraded_loss": "plain"}, "latentdr"),
        ({"mean_label": "weighted"}, "latentdr"),
        ({"norm": "post"}, "latentdr_pool"),
        ({"norm": "residual"}, "latentdr"),
        ({"norm": "residual", "degrade": "attention"}, "latentdr_sa_residual"),
        ({"norm": "post", "degrade": "attention"}, "latentdr_sa"),
        ({"norm": "pre", "degrade": "attention"}, "latentdr"),
        ({"share_classifier": False}, "latentdr_own_classifier"),
        ({"share_classifier": False, "degrade": "attention"}, "latentdr"),
    ],
)
def test_latentdr_has_an_id_in_its_published_forms_alone(changed, found):
    assert method_id({"algorithm": {"name": "latentdr", "degrade": "pool", **changed}}) == found


def test_variants_are_not_compared_with_the_published_form():
    assert method_id({"algorithm": {"name": "mmd", "bandwidths": "fixed"}}) == "mmd"
    assert method_id({"algorithm": {"name": "mmd", "bandwidths": "median"}}) == "mmd_median"
    second = {"name": "mldg", "order": "second"}
    assert method_id({"algorithm": second}) == "mldg_second_order"
