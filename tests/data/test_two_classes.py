"""Two classes are binary whatever a dataset calls them; its table, checksum and packs stay."""

from dataclasses import replace

import numpy as np
import pytest

from medldr.data import build_data, load_table, stats, validate_table
from medldr.data.hashes import hash_table
from medldr.data.spec import positive_class_notes, swapped
from medldr.errors import InputError

SPLITS = ["train"] * 12 + ["val"] * 4 + ["test"] * 4


@pytest.fixture
def table(make_table):
    return make_table([0, 1] * 10, splits=SPLITS, class_names=("normal", "tumour"))


def of_positive(notes):
    return [note for note in notes if "positive class" in note.lower()]


@pytest.mark.parametrize("declared", ["multi-class", "ordinal", "binary"])
def test_a_run_on_two_classes_is_binary(make_run, table, declared):
    table = replace(table, task=declared)
    data = build_data(make_run(table))
    assert data.spec.task == "binary"
    assert len(of_positive(data.notes)) == (declared != "binary")
    assert stats(table)["task"] == "binary"


def test_other_tasks_stay_as_they_are(make_run, make_table):
    three = make_table([0, 1, 2, 0] * 5, splits=SPLITS)
    labels = make_table(np.eye(2)[[0, 1] * 10], splits=SPLITS)
    for table, task in (
        (three, "multi-class"),
        (replace(three, task="ordinal"), "ordinal"),
        (labels, "multi-label"),
    ):
        data = build_data(make_run(table))
        assert data.spec.task == task
        assert not of_positive(data.notes)


def test_the_data_of_an_earlier_run_has_the_checksum_it_had(make_run, table):
    data = build_data(make_run(table))
    assert data.data_hash == hash_table(table)
    assert data.data_hash != hash_table(replace(table, task="binary"))


def test_the_note_names_the_positive_class_and_the_key(make_run, table):
    (default,) = of_positive(build_data(make_run(table)).notes)
    assert "positive class: tumour (the second of normal, tumour)" in default
    assert "set evaluation.positive_class for the other" in default
    chosen = make_run(table, evaluation={"positive_class": "normal"})
    assert of_positive(build_data(chosen).notes) == [
        "toy: positive class: normal (evaluation.positive_class)"
    ]


def test_names_shown_instead_of_the_datasets_are_those_of_the_note(make_run, table):
    run = make_run(table, data={"class_names": ["tumour", "healthy"]})
    (note,) = of_positive(build_data(run).notes)
    assert "CHECK THE POSITIVE CLASS: it is healthy (the second of tumour, healthy)" in note
    assert note.endswith("set evaluation.positive_class=tumour")


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("cancer", "normal"), True),
        (("lesion", "no_lesion"), True),
        (("Malignant", "Benign"), True),
        (("1", "0"), True),
        (("disease", "HC healthy"), True),
        (("referable", "Non-Referable"), True),
        (("Pneumonia", "No Finding"), True),
        (("yes", "no"), True),
        (("adenocarcinoma", "non_small_cell"), False),  # not the absence of anything
        (("lesion: yes", "lesion: no"), True),
        (("x", "--"), False),
        (("no_lesion", "lesion"), False),
        (("normal", "tumour"), False),
        (("0", "1"), False),
        (("abnormal", "nodule"), False),  # "normal" and "no" are parts of words here
        (("benign", "normal"), False),  # which of the two is negative?
        (("10", "20"), False),
    ],
)
def test_a_second_class_that_reads_like_the_negative_one_is_pointed_out(table, names, said):
    assert swapped(names) == said
    (note,) = positive_class_notes(replace(table, class_names=names), None)
    assert ("CHECK" in note) == said
    assert f"{names[1]} (the second of" in note  # the default itself stays


def test_a_binary_task_of_three_classes_is_refused(make_table):
    with pytest.raises(InputError, match="binary task has two classes, but there are 3: a, b, c"):
        validate_table(make_table([0, 1, 2], task="binary"))


def test_a_pack_of_two_classes_made_as_multi_class_is_read_as_binary(
    lazy, section, make_pack, make_run
):
    folder, made = make_pack(lazy, section)
    assert made == "made"
    assert '"task": "multi-class"' in (folder / "pack.json").read_text()
    packed = load_table(section)
    assert isinstance(packed.images, np.memmap)
    data = build_data(make_run(packed))
    assert (data.spec.task, data.data_hash) == ("binary", hash_table(lazy))
    for file in (section.root / "pixels").glob("*.raw"):
        file.unlink()
    alone = load_table(section)  # from the pack alone
    assert build_data(make_run(alone)).spec.task == "binary"
