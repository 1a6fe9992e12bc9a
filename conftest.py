"""Coverage is measured by every run and demanded of the whole test command only."""

import pytest


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    cov = config.pluginmanager.getplugin("_cov")
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if cov is not None and not (whole and not config.option.keyword and not config.option.markexpr):
        cov.options.cov_fail_under = 0
        cov.options.cov_report = {}
