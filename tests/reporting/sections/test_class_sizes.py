"""Training images of each class on the page of a run: where classes are unequal, or made so."""

from medldr.reporting import write_report


def spec(*counts):
    facts = {"task": "multi-class", "class_names": [], "channels": 1, "spatial_size": [28, 28, 28]}
    return {"spec": {**facts, "class_counts": list(counts)}}


def test_a_page_says_how_unequal_its_training_classes_are(run_folder, read):
    found = read(write_report(run_folder(run=spec(500, 60, 5))))
    assert any(label.startswith("3 classes from buckle (500") for label in found.labels)


def test_an_imbalance_that_was_asked_for_is_shown_for_two_classes(run_folder, read):
    two = {"task": "binary", "names": ("well", "ill"), "run": spec(90, 9)}
    assert not any(
        "training images) to" in of for of in read(write_report(run_folder(**two))).labels
    )
    data = {"name": "medmnist", "flag": "breastmnist", "imbalance": {"factor": 10}}
    files = run_folder("longtailed-bbbbbbbb-s0", **two, config={"data": data})
    assert (
        "2 classes from well (90 training images) to ill (9)." in read(write_report(files)).labels
    )
