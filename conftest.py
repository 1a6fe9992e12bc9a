"""What holds for every run of the suite: hypothesis, precision, and what comes first."""

import gc
import os

from hypothesis import settings

settings.register_profile("quick", max_examples=20, deadline=None)
settings.register_profile("thorough", max_examples=100, deadline=None)
settings.load_profile("quick")  # `.ci/run` asks for the other with --hypothesis-profile

# A million objects of imported libraries and collected tests stay to the end. Looking through them
# again and again for garbage would take a tenth of the time.
gc.disable()


def pytest_addoption(parser):
    parser.addoption(
        "--auto-precision",
        choices=("float32", "bfloat16"),
        help="what `precision: auto` means, on whatever processor the tests run",
    )


def pytest_configure(config):
    # Also for the commands that tests start, and for the workers of xdist.
    if chosen := config.getoption("--auto-precision"):
        os.environ["MEDLDR_AUTO_PRECISION"] = chosen


def pytest_collection_modifyitems(items):
    # Types take the longest of all and cannot be shared out: begun last, they are waited for.
    items.sort(key=lambda item: item.path.name != "test_gates.py")


def pytest_collection_finish():
    gc.freeze()
    gc.enable()
