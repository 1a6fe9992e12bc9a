"""`medldr list` names all that a configuration can name."""

import pytest

from medldr import plugins
from medldr.config import PLUGIN_SECTIONS
from medldr.config.catalogue import entries
from medldr.config.packaged import packaged_names


@pytest.mark.parametrize(("section", "kind"), PLUGIN_SECTIONS.items())
def test_packaged_settings_are_listed_beside_the_plug_ins(section, kind):
    listed = entries(kind)
    assert set(listed) == {*packaged_names(section), *plugins.names(kind)}
    assert all(listed.values())
    assert not any("`" in line for line in listed.values())
