"""Which views of test-time augmentation a run's transform allows."""

import pytest

from medldr.errors import InputError
from medldr.prediction.views import check_views


@pytest.mark.parametrize(
    ("transform", "allowed"),
    [
        ({"name": "natural", "flip": 0.5}, {"left_right"}),  # a share, always sideways
        ({"name": "natural", "flip": 0.0}, set()),
        ({"name": "scan", "flip": ["up_down"]}, {"up_down"}),
        ({"name": "scan", "flip": [], "rotate_quarter_turns": True}, {"quarter_turns"}),
        ({"name": "medmnist"}, set()),
    ],
)
def test_only_what_training_showed_is_allowed(transform, allowed):
    check_views((), transform, (32, 32))
    for name in ("left_right", "up_down", "quarter_turns"):
        if name in allowed:
            check_views((name,), transform, (32, 32))
        else:
            with pytest.raises(InputError, match=f"tta={name}: the network was not trained"):
                check_views((name,), transform, (32, 32))
