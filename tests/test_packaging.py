"""What an installed copy holds: the packaged configurations, from a wheel and from a checkout."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    out = tmp_path_factory.mktemp("wheel")
    code = f"from hatchling.build import build_wheel; print(build_wheel({str(out)!r}))"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True)
    (path,) = out.glob("*.whl")
    return path


def test_the_wheel_holds_every_configuration_and_page_part(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    for path in (ROOT / "configs").rglob("*.yaml"):
        assert f"medldr/_configs/{path.relative_to(ROOT / 'configs').as_posix()}" in names
    for path in (ROOT / "medldr").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            assert path.relative_to(ROOT).as_posix() in names
    assert not any(name.startswith(("tests/", "benchmarks/", "notebooks/")) for name in names)


@pytest.mark.slow  # a fresh process imports torch
def test_an_installed_copy_finds_its_configurations(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    code = (
        "import medldr\nfrom medldr.config import packaged_configs, packaged_names\n"
        f"assert medldr.__file__.startswith({str(tmp_path)!r})\n"
        "assert packaged_configs().name == '_configs'\n"
        "print(medldr.load_config('retinamnist_erm').label, len(packaged_names('run')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    label, count = done.stdout.split()
    assert label == "retinamnist_erm"
    assert int(count) == len(list((ROOT / "configs" / "run").glob("*.yaml")))


def test_a_checkout_finds_its_configurations():
    from medldr.config import packaged_configs

    assert packaged_configs() == ROOT / "configs"
