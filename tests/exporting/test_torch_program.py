"""Programs of torch alone, for any number of images, without a word of this machine."""

import zipfile
from pathlib import Path

import pytest
import torch
from torch import nn

import medldr
from medldr.errors import InputError
from medldr.exporting.agreement import Reference, check
from medldr.exporting.exportable import make_exportable
from medldr.exporting.torch_program import write_torch


class Sorts(nn.Module):
    """Goes another way for bright images, which no graph can hold."""

    def forward(self, x):
        return x * 2 if x.mean() > 0 else x


def test_a_program_names_no_folder_of_this_machine(tmp_path, tiny, record_of, stored_images):
    record = record_of(1, (9, 8), transform={"name": "scan", "size": 12}, given=(1, (12, 12)))
    module = make_exportable(tiny(), record)
    path = tmp_path / "model.pt2"
    write_torch(module, record.stored, path)
    with zipfile.ZipFile(path) as archive:
        content = b"".join(archive.read(name) for name in archive.namelist())
    assert b"conv" in content
    for folder in (Path(medldr.__file__).parent, Path(torch.__file__).parent, Path.home()):
        assert str(folder).encode() not in content


def test_a_network_that_cannot_be_followed_is_told(tmp_path, tiny, record_of):
    record = record_of(1, (6, 4))
    module = make_exportable(tiny(pooling=Sorts()), record)
    with pytest.raises(InputError, match=r"torch\.export cannot follow this network"):
        write_torch(module, record.stored, tmp_path / "model.pt2")


@pytest.mark.slow
@pytest.mark.parametrize("conv", ["acs", "2.5d", "3d"])
def test_networks_of_volumes(tmp_path, network, record_of, stored_images, conv):
    record = record_of(1, (12, 13, 10), dtype="float32")
    module = make_exportable(network("resnet18", 1, 3, (12, 13, 10), conv=conv), record)
    run = write_torch(module, record.stored, tmp_path / "model.pt2")
    found = check(run, module, record.stored, Reference(stored_images(record)), "model.pt2")
    assert found.difference.logit < 1e-6
