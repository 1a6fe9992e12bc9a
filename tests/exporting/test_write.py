"""The folder of an export: whole or not at all, and never in the place of something else."""

import json

import pytest
import torch

from medldr.errors import InputError
from medldr.evaluation.verification import verify
from medldr.exporting import Card, Reference, export, write
from medldr.exporting.agreement import ROUNDING
from medldr.exporting.exportable import make_exportable
from medldr.folders.files import checksum
from medldr.folders.preprocessing_record import read_preprocessing

CARD = Card(label="a run", weights_sha256="0" * 64)


@pytest.fixture
def fast(monkeypatch):
    """A network's file is a text, and the network itself answers for it."""

    def write_torch(module, stored, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a program")
        return torch.no_grad()(module)

    monkeypatch.setattr(write, "write_torch", write_torch)


def content(folder):
    return {str(p.relative_to(folder)): checksum(p) for p in folder.rglob("*") if p.is_file()}


def test_a_program_lies_beside_its_preprocessing_and_its_card(tmp_path, tiny, record_of):
    record = record_of(1, (6, 4), temperature=1.3)
    model = tiny()
    done = export(model, record, tmp_path / "new" / "out", "torch", card=CARD)
    assert done.files == ("README.md", "model.pt2", "preprocessing.json")
    assert set(done.files) == set(content(done.folder))
    assert done.agreement.difference.within
    written = read_preprocessing(done.folder / "preprocessing.json").model_dump(mode="json")
    assert written.pop("checksums").keys() == {"model.pt2", "preprocessing.json"}
    assert written == record.model_dump(mode="json")
    assert all(limit in (done.folder / "README.md").read_text() for limit in done.limits)
    program = torch.export.load(done.folder / "model.pt2").module()
    image = torch.full((5, 1, 6, 4), 80.0)
    with torch.no_grad():
        logits, probabilities = program(image)
        unit = (image / 255 - 0.5) / 0.5
        torch.testing.assert_close(logits, model(unit), rtol=0, atol=1e-6)
        torch.testing.assert_close(probabilities, (logits / 1.3).softmax(1), rtol=0, atol=1e-6)
    assert [p.name for p in done.folder.parent.iterdir()] == ["out"]


@pytest.mark.parametrize(
    ("name", "fault"),
    [("model.pt2", "was changed"), ("preprocessing.json", "was changed"), ("model.pt2", "missing")],
)
def test_an_export_whose_files_are_not_its_own_is_not_read(
    tmp_path, tiny, record_of, fast, name, fault
):
    out = export(tiny(), record_of(1, (6, 4)), tmp_path / "out", "torch", card=CARD).folder
    assert not verify(out).differs
    path = out / name
    if fault == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes().replace(b"0.1.0", b"0.1.1").replace(b"a p", b"o p"))
    with pytest.raises(InputError, match=rf"{name} .*{fault}.*medldr export"):
        read_preprocessing(out / "preprocessing.json")
    (verdict,) = verify(out).runs
    assert fault in verdict.differs[0]


@pytest.mark.parametrize(
    ("name", "old", "new", "found"),
    [
        ("inference.json", "'image'", "'other'", True),
        ("metadata.json", '"pred_classes"', '"pred_class"', True),
        ("metadata.json", "to be filled in", "J. Doe", False),
    ],
)
def test_a_bundle_is_held_to_what_its_files_say(
    tmp_path, tiny, record_of, fast, name, old, new, found
):
    out = export(tiny(), record_of(1, (6, 4)), tmp_path / "out", "bundle", card=CARD).folder
    path = out / "configs" / name
    text = path.read_text()
    path.write_text(text.replace(old, new))
    assert path.read_text() != text
    assert verify(out).differs is found


def test_an_earlier_export_is_replaced_only_by_force(tmp_path, tiny, record_of, fast):
    out = tmp_path / "out"
    export(tiny(), record_of(1, (6, 4)), out, "torch", card=CARD)
    (out / "old.txt").touch()
    before = content(out)
    with pytest.raises(InputError, match=r"out holds earlier files of an export.* force=True"):
        export(tiny(), record_of(1, (6, 4)), out, "torch", card=CARD)
    assert content(out) == before
    export(tiny(), record_of(1, (6, 4), temperature=2.0), out, "torch", card=CARD, force=True)
    assert sorted(content(out)) == ["README.md", "model.pt2", "preprocessing.json"]
    assert read_preprocessing(out / "preprocessing.json").temperature == 2
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("force", [False, True])
def test_other_folders_and_files_are_left_alone(tmp_path, tiny, record_of, fast, force):
    thesis = tmp_path / "thesis"
    thesis.mkdir()
    (thesis / "chapter.txt").write_text("years of work")
    with pytest.raises(InputError, match=r"holds no earlier files of an export"):
        export(tiny(), record_of(1, (6, 4)), thesis, "torch", card=CARD, force=force)
    with pytest.raises(InputError, match=r"chapter\.txt is a file"):
        export(
            tiny(), record_of(1, (6, 4)), thesis / "chapter.txt", "torch", card=CARD, force=force
        )
    assert (thesis / "chapter.txt").read_text() == "years of work"


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_what_fails_half_way_leaves_nothing(tmp_path, tiny, record_of, fast, monkeypatch, error):
    def fails(path, record, beside):
        assert (path.parent / "model.pt2").exists()
        raise error

    monkeypatch.setattr(write, "write_preprocessing", fails)
    with pytest.raises(error):
        export(tiny(), record_of(1, (6, 4)), tmp_path / "out", "torch", card=CARD)
    assert list(tmp_path.iterdir()) == []


def test_what_answers_otherwise_is_not_kept(tmp_path, tiny, record_of, monkeypatch):
    def write_torch(module, stored, path):
        path.touch()
        return lambda image: tuple(value.detach() + 0.001 for value in module(image))

    monkeypatch.setattr(write, "write_torch", write_torch)
    with pytest.raises(InputError, match=r"model\.pt2 does not answer as the network does"):
        export(tiny(), record_of(1, (6, 4)), tmp_path / "out", "torch", card=CARD)
    assert list(tmp_path.iterdir()) == []


def test_a_bundle_holds_its_card_twice_and_its_limits(tmp_path, tiny, record_of, fast):
    """And how far it is from prediction in either precision, on the real images alone."""
    model, real = tiny(), torch.full((2, 1, 6, 4), 80.0)
    record = record_of(1, (6, 4))
    exact = make_exportable(model, record)

    def off_by(much):
        return lambda image: (
            exact(image)[1].detach()
            + much * torch.equal(image, real)
            + 9 * (not torch.equal(image, real))
        )

    predict = {"bfloat16": off_by(0.0074), "float32": off_by(0.0)}
    reference = Reference(real, "2 scans", "bfloat16", predict)
    out = tmp_path / "out"
    done = export(model, record, out, "bundle", card=CARD, reference=reference)
    assert done.agreement.predict["float32"] == ROUNDING
    assert done.agreement.predict["bfloat16"] == pytest.approx(0.0074, rel=1e-3)
    assert done.files == (
        "README.md",
        "configs/inference.json",
        "configs/metadata.json",
        "docs/README.md",
        "models/model.pt2",
        "preprocessing.json",
    )
    card = (done.folder / "README.md").read_text()
    assert (done.folder / "docs" / "README.md").read_text() == card
    said = json.loads((done.folder / "configs" / "metadata.json").read_text())
    assert tuple(said["limits"]) == done.limits
    assert done.agreement.predict in said["agreement"].values()
    assert done.agreement.text[1:] in card
    assert any("Transparent pixels" in limit for limit in done.limits)
    assert all(limit in card for limit in done.limits)


@pytest.mark.parametrize("first", "$@%")
def test_a_bundle_of_names_that_monai_executes_is_refused(tmp_path, tiny, record_of, fast, first):
    record = record_of(1, (6, 4), class_names=("a", f"{first}__import__('os')", "c@d"))
    with pytest.raises(InputError, match="would be executed by MONAI"):
        export(tiny(), record, tmp_path / "out", "bundle", card=CARD)
    assert not (tmp_path / "out").exists()
    export(tiny(), record, tmp_path / "out", "torch", card=CARD)
