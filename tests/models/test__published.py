"""Published weights: found by id, held to their checksum, fetched when asked for."""

import hashlib

import pytest
import torchvision
from torchvision.models import ResNet18_Weights

from medldr.errors import InputError
from medldr.models import require_weights
from medldr.models._published import data_folders, find, present, require
from medldr.models.resnet18 import Config

CONTENT = bytes(range(256)) * 40
SHA256 = hashlib.sha256(CONTENT).hexdigest()
FILE = f"net-{SHA256[:8]}.pth"
ID = "ResNet18_Weights.IMAGENET1K_V1"


@pytest.fixture
def small(served, published):
    """ResNet-18's weights as a small file on this machine's server."""
    folder, address = served
    (folder / FILE).write_bytes(CONTENT)
    published(ResNet18_Weights.IMAGENET1K_V1, f"{address}/{FILE}")
    return folder / FILE


@pytest.fixture(autouse=True)
def usual(tmp_path, monkeypatch):
    """The usual data folder, empty."""
    monkeypatch.setenv("MEDLDR_DATA", str(tmp_path / "usual"))
    return tmp_path / "usual"


@pytest.mark.parametrize(
    ("wanted", "network", "file", "digest"),
    [
        (ID, "resnet18", "resnet18-f37072fd.pth", "f37072fd"),
        ("resnet50_weights.imagenet1k_v1", "resnet50", "resnet50-0676ba61.pth", "0676ba61"),
        ("RESNET50_WEIGHTS.IMAGENET1K_V2", "resnet50", "resnet50-11ad3fa6.pth", "11ad3fa6"),
        (
            "DenseNet121_Weights.IMAGENET1K_V1",
            "densenet121",
            "densenet121-a639ec97.pth",
            "a639ec97",
        ),
    ],
)
def test_an_id_is_found_in_any_case(wanted, network, file, digest, tmp_path):
    found = find(wanted)
    assert (found.network, found.file, found.digest) == (network, file, digest)
    assert found.id == str(torchvision.models.get_weight(found.id))
    assert found.url.endswith(file)
    assert found.path(tmp_path) == tmp_path / "weights" / file


def test_an_unknown_id_names_the_nearest_and_those_of_the_network():
    with pytest.raises(InputError, match=r"Did you mean 'ResNet18_Weights\.IMAGENET1K_V1'") as told:
        find("ResNet18_Weights.IMAGENET1K_V7", "resnet18")
    assert "Known for resnet18: ResNet18_Weights.IMAGENET1K_V1; for timm" in str(told.value)


def test_a_misspelt_file_is_no_id_and_the_nearest_is_named(tmp_path):
    (tmp_path / "encoder.safetensors").touch()
    with pytest.raises(InputError, match=r"Did you mean 'encoder\.safetensors'"):
        find(str(tmp_path / "encoder.safetensor"))


def test_without_a_network_those_of_all_of_ours_are_named():
    with pytest.raises(InputError, match=r"Known for densenet121, resnet18, resnet50: DenseNet121"):
        find("nothing like it")


def test_a_moving_alias_is_no_id():
    with pytest.raises(InputError, match=r"no published weights 'ResNet50_Weights\.DEFAULT'"):
        find("ResNet50_Weights.DEFAULT")


def test_an_absent_file_names_the_command_the_address_and_the_place(small, tmp_path):
    root = tmp_path / "data"
    with pytest.raises(InputError) as told:
        present(find(ID), [root], download=False)
    for part in (
        f"there is no {root / 'weights' / FILE}",
        f"medldr data fetch weights:{ID}",
        f"save http://127.0.0.1:{find(ID).url.split(':')[2].split('/')[0]}/{FILE} as",
        "model.allow_download=true",
    ):
        assert part in str(told.value)


def test_a_file_is_fetched_where_that_is_allowed_and_found_again(small, tmp_path):
    path, sha256 = present(find(ID), [tmp_path], download=True)
    assert path == tmp_path / "weights" / FILE
    assert path.read_bytes() == CONTENT
    assert sha256 == SHA256
    small.unlink()
    assert present(find(ID), [tmp_path], download=False) == (path, SHA256)


def test_a_fetched_file_that_is_another_never_takes_the_name(small, tmp_path):
    small.write_bytes(CONTENT[:-1])
    with pytest.raises(
        InputError, match=rf"begins with \w{{8}}, but should begin with {SHA256[:8]}"
    ):
        present(find(ID), [tmp_path], download=True)
    assert not (tmp_path / "weights" / FILE).exists()
    assert (tmp_path / "weights" / f"{FILE}.rejected").read_bytes() == CONTENT[:-1]


def test_a_file_is_held_to_its_checksum_at_each_load(small, tmp_path):
    path, _ = present(find(ID), [tmp_path], download=True)
    path.write_bytes(b"x" + CONTENT[1:])
    with pytest.raises(InputError, match=r"is not ResNet18_Weights.*Delete it"):
        present(find(ID), [tmp_path], download=False)
    assert path.exists()


def test_files_are_asked_for_without_being_read(small, tmp_path):
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / FILE).touch()
    require(find(ID), [tmp_path], download=False)
    require_weights(Config(name="resnet18"), tmp_path)
    wanted = Config(name="resnet18", stem="imagenet", pretrained=ID)
    require_weights(wanted, tmp_path)
    with pytest.raises(InputError, match=r"model\.pretrained: ResNet18_Weights.* is missing"):
        require_weights(wanted, tmp_path / "elsewhere")
    allowed = wanted.model_copy(update={"allow_download": True})
    require_weights(allowed, tmp_path / "elsewhere")


# ---------------------------------------------------------------- medldr data fetch weights:<id>


@pytest.mark.parametrize("form", ["{}", "root={}", "data.root={}"])
def test_the_command_fetches_and_tells_the_file_and_its_checksum(small, tmp_path, medldr, form):
    root = tmp_path / "data"
    ended = medldr("data", "fetch", f"weights:{ID.lower()}", form.format(root))
    assert ended.code == 0, ended.err
    assert f"{ID}: {root / 'weights' / FILE}, sha256 {SHA256}, verified" in ended.out
    assert (root / "weights" / FILE).read_bytes() == CONTENT


def test_the_command_fetches_into_the_usual_folder_where_every_run_finds_it(small, usual, medldr):
    wanted = Config(name="resnet18", stem="imagenet", pretrained=ID)
    tree = usual.parent / "tree"
    with pytest.raises(
        InputError, match=r"there is no .*tree.weights.* or .*usual.weights"
    ) as told:
        require_weights(wanted, tree)
    command = str(told.value).split("`")[1].split()
    assert medldr(*command[1:]).code == 0
    assert (usual / "weights" / FILE).is_file()
    require_weights(wanted, tree)
    require_weights(wanted, None)


def test_a_run_looks_in_its_own_data_folder_first_and_fetches_into_the_usual_one(small, usual):
    own = usual.parent / "tree"
    path, _ = present(find(ID), data_folders(own), download=True)
    assert path == usual / "weights" / FILE
    assert not own.exists()
    (own / "weights").mkdir(parents=True)
    (own / "weights" / FILE).write_bytes(CONTENT)
    path, _ = present(find(ID), data_folders(own), download=False)
    assert path == own / "weights" / FILE
    assert data_folders(None) == [usual]


def test_the_command_refuses_an_unknown_id_and_other_keys(medldr):
    unknown = medldr("data", "fetch", "weights:ResNet18_Weights.IMAGENET1K")
    assert unknown.code == 2
    assert "Did you mean 'ResNet18_Weights.IMAGENET1K_V1'" in unknown.err
    assert "Known for densenet121, resnet18, resnet50" in unknown.err
    more = medldr("data", "fetch", f"weights:{ID}", "size=64")
    assert more.code == 2
    assert "take only the data folder" in more.err
