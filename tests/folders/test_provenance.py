"""What a record says of the machine."""

import os

from medldr.folders import provenance


def test_the_cores_are_those_this_process_may_use(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {1, 3, 5}, raising=False)
    assert provenance.cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    assert provenance.cores() == os.cpu_count()
