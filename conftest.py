"""The whole test command runs in several processes, and coverage is demanded of it alone."""

import os

import pytest


def is_whole(config):
    """Whether this is the whole suite, and not what somebody picked from it."""
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    return whole and not (config.option.keyword or config.option.markexpr)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """Share the whole suite out; ``-n 0`` keeps it in one process, ``-n 8`` takes eight."""
    is_worker = hasattr(config, "workerinput")
    if is_whole(config) and not is_worker and config.option.numprocesses is None:
        config.option.numprocesses = min(os.cpu_count() or 1, 4)
        config.option.dist = "worksteal"


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    """Measure coverage in every run, and ask for it in the whole one only."""
    cov = config.pluginmanager.getplugin("_cov")
    if cov is not None and not is_whole(config):
        cov.options.cov_fail_under = 0
        cov.options.cov_report = {}
