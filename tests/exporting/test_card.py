"""The model card: every number it was given, none of anybody else."""

import pytest

from medldr.config.yaml import plain, read_yaml
from medldr.exporting.card import Card, card_text, limits_of
from medldr.folders.preprocessing_record import Training
from medldr.foreign_text import escape

CARD = Card(
    label='study: "A"',
    weights_sha256="ab" * 32,
    network="ResNet-18, 3D (ACS)",
    method="LatentDR",
    class_counts={"no | finding": 1200, "fracture": 34},
    train_domains=("north", "south"),
    results="| split | AUC |\n|---|---|\n| test | 0.91 (0.88 to 0.94) |",
    data_card={
        "intended_use": "Triage of\nradiographs",
        "source": ["Hospital A", "Hospital B"],
        "demographics": {"age": "18 to 90", "sex": "half"},
    },
    notes=("The head is newly initialised.",),
)


@pytest.fixture
def record(record_of):
    return record_of(
        1,
        (64, 64, 32),
        dtype="float32",
        classes=2,
        task="binary",
        class_names=("none", "fracture"),
        positive_class="fracture",
        temperature=1.25,
        threshold=0.31,
        threshold_from="val",
        specificity=0.9,
        training=Training(
            images=1234,
            sizes=((256, 512), (256, 512), (40, 40)),
            spacings=((0.5, 0.9), (0.5, 0.9), (3, 5)),
            modalities=("CT",),
        ),
    )


def front_of(text, tmp_path):
    head = text.split("---\n")[1]
    (tmp_path / "front.yaml").write_text(head)
    return plain(read_yaml(tmp_path / "front.yaml").values), head


def test_its_head_is_what_hugging_face_reads(record, tmp_path):
    text = card_text(CARD, record, "onnx", limits_of(record))
    assert text.startswith("---\n")
    front, head = front_of(text, tmp_path)
    assert front == {
        "library_name": "medldr",
        "pipeline_tag": "image-classification",
        "model_name": 'study: "A"',
        "tags": ["medical", "domain-generalization", "3d", "onnx"],
    }
    assert "# license: fill in" in head


def test_it_says_all_it_was_told(record):
    text = card_text(CARD, record, "torch", limits_of(record))
    titles = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    assert titles == [
        *("Intended use", "Training data", "Preprocessing", "Calibration", "Threshold"),
        *("Results", "Agreement", "Limits", "How to use", "Identity"),
    ]
    for said in (
        "A network for 3D images (none, fracture): ResNet-18, 3D (ACS), trained with LatentDR.",
        "must not decide about a patient. Triage of radiographs",
        "- images: 1,234",
        "- domains: north, south",
        "- modalities: CT",
        "- pixels along each axis: 256 to 512 x 256 to 512 x 40",
        "- source: Hospital A, Hospital B",
        "- demographics: age: 18 to 90; sex: half",
        "| no \\| finding | 1,200 |",
        "| test | 0.91 (0.88 to 0.94) |",
        "temperature 1.25 ",
        "An item is called fracture where its probability is above 0.31, chosen on the split val "
        "for a specificity of 0.9.",
        "- The threshold comes from one split",
        "- The head is newly initialised.",
        "`" + "ab" * 32 + "`",
        'torch.export.load("model.pt2")',
        "float32 (B, 1, 64, 64, 32)",
        "Outputs: `logits` and `probabilities` (softmax), in the order none, fracture.",
    ):
        assert said in text
    assert text.count("Triage") == 1


def test_each_label_has_its_own_threshold(record_of):
    record = record_of(
        3, (28, 28), task="multi-label", class_names=("edema", "nodule", "mass"),
        thresholds={"edema": 0.31, "nodule": 0.125}, threshold_from="val", specificity=0.9,
    )  # fmt: skip
    limits = limits_of(record)
    text = card_text(CARD, record, "bundle", limits)
    assert "chosen on val for a specificity of 0.9: edema 0.31, nodule 0.125; present" in text
    assert "for want of a threshold from validation images: mass." in text
    assert any("comes from one split" in limit for limit in limits)


def test_what_is_not_known_is_said(record_of):
    record = record_of(3, (28, 28), task="multi-label")
    text = card_text(Card("a run", "0" * 64), record, "bundle", limits_of(record, ("A limit.",)))
    for said in (
        "## Training data\n\nNot described.",
        "## Results\n\nNot given.",
        "None: probabilities are those of the trained network.",
        "present above 0.5, for want of a threshold from validation images: ",
        "- Probabilities are not recalibrated.",
        "- A limit.",
        "(sigmoid)",
        "python -m monai.bundle run",
    ):
        assert said in text


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"window": "bone"}, "window means: values from -500.0 to 1300.0 become 0 to 1"),
        ({"window": (-5.0, 70.0)}, "values from -5.0 to 70.0 become 0 to 1"),
        ({"window": "file"}, "window that each DICOM file recommends"),
        ({"bit_depth": 12}, "- bit_depth: 12\n"),
        ({"spacing": (1.0, 1.0, 2.5)}, "- spacing: 1.0, 1.0, 2.5\n"),
    ],
)
def test_rules_of_reading_stand_by_their_keys(record_of, rules, keys, said):
    reading = {"kind": "scan", **rules((8, 8, 8), 1, "float32", **keys).as_dict()}
    record = record_of(1, (8, 8, 8), dtype="float32", reading=reading)
    text = card_text(Card("a run", "0" * 64), record, "onnx", ())
    assert said in text
    assert "preset scan, which gives its layers 1 x 8 x 8 x 8" in text or "name scan" in text


def test_a_model_card_shows_names_as_they_are(record_of):
    name = "<b>|`x`\n# new"
    record = record_of(1, (6, 4), class_names=(name, "b"))
    card = Card(
        "run", "0" * 64, class_counts={name: 3}, train_domains=(name,),
        data_card={"source": name}, notes=(name,),
    )  # fmt: skip
    text = card_text(card, record, "torch", ())
    assert text.count(escape(name)) >= 5
    assert "<b>" not in text.replace("\\<b\\>", "")
    assert "\n# new" not in text
