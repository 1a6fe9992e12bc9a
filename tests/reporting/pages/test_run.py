"""The page of a run: complete, true to its numbers, self-contained, safe, and never in the way."""

import json
import re

import pytest

from medldr.errors import InputError
from medldr.metrics import metric_facts
from medldr.reporting import ReportWarning, reports, write_report, write_report_or_warn

KINDS = {
    "multi-class": ("multi-class", ("buckle", "nondisplaced", "displaced")),
    "binary": ("binary", ("malignant", "normal, benign")),
    "ordinal": ("ordinal", ("0", "1", "2", "3", "4")),
    "multi-label": ("multi-label", ("nodule", "mass", "hernia")),
}
ALWAYS = ["result", "clinical", "classes", "judging", "splits", "published", "curves", "settings",
          "card", "provenance"]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_has_every_section_and_is_well_formed_for_every_task(kind, run_folder, read):
    task, names = KINDS[kind]
    found = read(write_report(run_folder(task=task, names=names)))
    assert found.sections == ALWAYS
    assert found.errors == []
    assert len(set(found.ids)) == len(found.ids)
    assert found.figures == found.captions == found.svgs == len(found.labels) > 5
    assert all(len(label) > 20 for label in found.labels)
    assert set(found.heads) == {"col", "row"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_number_of_the_evaluation_stands_on_the_page_as_it_is(kind, run_folder, read):
    task, names = KINDS[kind]
    files = run_folder(task=task, names=names)
    found = read(write_report(files))
    scored = json.loads(files.evaluation.read_text())
    rows = next(t[1:] for t in found.tables if t[0][0] == "Metric" and t[0][1] != "Value")
    rows = {row[0]: row[1:] for row in rows}
    for i, split in enumerate(("test", "val")):
        for key, number in scored["splits"][split]["metrics"].items():
            title = metric_facts(key).heading
            factor, digits = (100, 1) if title.endswith("(%)") else (1, 3)
            below = number.get("noise") or (number["low"], number["high"])
            if below[0] is None:  # a likelihood ratio that is often infinite
                assert rows[title][i].startswith(f"{number['value']:.3f}")
                continue
            between = ", 95% ≤ " if "noise" in number else " to "
            ends = between.join(f"{factor * end:.{digits}f}" for end in below).replace("-", "−")
            ends = f"noise {ends}" if "noise" in number else ends
            assert rows[title.replace("\N{NO-BREAK SPACE}", " ")][i] == (
                f"{factor * number['value']:.{digits}f} {ends}"
            )
            assert number["value"] in found.values
    count = "Positive" if task == "multi-label" else "Images"
    for name, numbers in scored["splits"]["test"]["classes"].items():
        row = next(r for r in found.table("Label" if task == "multi-label" else "Class", count)
                   if r[0] == name)  # fmt: skip
        assert row[1] == str(numbers["n"])
        assert any(cell.startswith(f"{100 * numbers['recall']['value']:.1f} ") for cell in row)


def test_seen_and_unseen_domains_stand_side_by_side(run_folder, read):
    files = run_folder(domains=("a", "b", "c"), held_out=("c",))
    found = read(write_report(files))
    assert "domains" in found.sections
    splits = json.loads(files.evaluation.read_text())["splits"]
    known = {**splits["test"]["domains"], **splits["id_test"]["domains"]}
    rows = {row[0].split()[0]: row for row in found.table("Domain")}
    assert set(rows) == {"a", "b", "c"}
    assert "unseen" in rows["c"][0]
    assert "unseen" not in rows["a"][0] + rows["b"][0]
    for name, row in rows.items():
        n, groups = known[name]["n"], known[name]["n_groups"]
        assert row[1] == (f"{n} {groups} groups" if n != groups else f"{n}")
        assert row[2].startswith(f"{100 * known[name]['metrics']['accuracy']['value']:.1f} ")
    assert "from c, unseen in training" in found.text


def test_an_undefined_number_is_shown_as_such_with_its_reason(run_folder, read):
    files = run_folder(only=1, n=30)
    path = write_report(files)
    found = read(path)
    auc = next(row for row in found.table("Metric") if row[0] == "AUC")
    assert auc[1].startswith("n/a")
    assert '<abbr title="only one class in the labels">n/a</abbr>' in path.read_text()
    assert "There is no ROC curve: only one class in the labels." in found.text
    assert "nan" not in found.text.lower().split()
    assert found.errors == []


def test_nothing_outside_the_page_is_referred_to(run_folder, read):
    path = write_report(run_folder(domains=("a", "b")))
    found = read(path)
    assert found.urls
    assert [url for url in found.urls if not url.startswith(("#", "data:"))] == []
    assert {url[1:] for url in found.urls if url.startswith("#")} <= set(found.ids)
    text = path.read_text()
    assert re.findall(r"https?://", text) == []
    assert "@import" not in text
    assert set(re.findall(r"url\((.)", text)) <= {"#"}


def test_names_of_classes_are_text_and_never_markup(run_folder, read):
    names = ("<script>alert(1)</script>", 'a"b&c', "$x_1$")
    path = write_report(run_folder(names=names))
    found = read(path)
    assert found.errors == []
    assert "<script>alert" not in path.read_text()
    assert [row[0] for row in found.table("Class")] == list(names)
    assert path.read_text().count("could not be drawn") == 0


def test_no_id_or_group_of_a_patient_reaches_the_page(run_folder, read):
    """Notes, command, configuration and the error of a run may all name one."""
    files = run_folder(
        notes=["constant image: scans/DOE_JANE_test_0003.nii.gz", "all of MRN-77test00001."],
        config={
            "data": {"name": "medmnist", "flag": "fracturemnist3d", "exclude": ["MRN-99", "MRN-98"]}
        },
        run={
            "provenance": {"command": ["medldr", "train", "x", "data.exclude=[MRN-99,MRN-98]"]},
            "status": "failed",
            "error": "InputError: cannot read /scans/DOE_JOHN_0001.nii.gz",
            "data": {"name": "own", "files": {"DOE_JIM.nii.gz": "abc"}},
        },
    )
    files.bad_files.write_text("file,reason\nDOE_JACK.nii.gz,broken\n")
    text = write_report(files).read_text()
    assert "DOE_" not in text
    assert "MRN-" not in text
    found = read(files.report)
    assert "constant image: [hidden id]" in found.text
    assert "ids, hidden: 2" in found.text
    assert "1 unreadable file was left out" in found.text
    assert "This run has failed (InputError)." in found.text


def test_an_oracle_is_announced_before_any_number(run_folder, read):
    files = run_folder(selection={"rule": "oracle_auc", "split": "test", "oracle": True})
    text = read(write_report(files)).text
    assert text.index("Optimistic. ORACLE SELECTION") < text.index("guessing reaches")
    assert "optimistic" in text


def test_a_configuration_that_cannot_be_read_here_is_still_shown_whole(run_folder, read):
    config = {"algorithm": {"name": "nowhere.at_all"}}
    found = read(write_report(run_folder(config=config)))
    assert "cannot be determined by this installation" in found.text
    assert "name: nowhere.at_all" in found.text


def test_validation_numbers_are_never_laid_beside_published_test_numbers(run_folder, read):
    found = read(write_report(run_folder(splits=("val",))))
    assert "published" not in found.sections
    assert "No test split was evaluated" in found.text


def test_a_run_without_an_evaluation_has_a_page_that_says_so(run_folder, read):
    files = run_folder(run={"status": "interrupted"})
    files.evaluation.unlink()
    files.predictions.unlink()
    found = read(write_report(files))
    assert "Interrupted. This run was interrupted" in found.text
    assert "not been evaluated yet" in found.text
    assert found.sections == ["curves", "settings", "provenance"]
    assert found.errors == []


def test_a_broken_last_line_of_the_metrics_is_left_out_and_reported(run_folder, read):
    files = run_folder()
    with files.metrics.open("a") as file:
        file.write('{"epoch": 4, "trai')
    found = read(write_report(files))
    assert "Unreadable lines of metrics.jsonl" in found.text
    assert any("epoch 3" in label for label in found.labels)


def test_a_folder_that_is_no_run_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="not a run folder"):
        write_report(tmp_path)


def test_at_the_end_of_training_any_fault_of_the_page_is_a_warning(run_folder, monkeypatch):
    files = run_folder()

    def broken(files):
        raise RuntimeError("no such luck")

    monkeypatch.setattr(reports, "run_page", broken)
    with pytest.warns(ReportWarning, match=r"no such luck.*medldr report"):
        assert write_report_or_warn(files) is None
    assert not files.report.exists()


def test_a_stop_by_the_user_is_not_turned_into_a_warning(run_folder, monkeypatch):
    def stopped(files):
        raise KeyboardInterrupt

    monkeypatch.setattr(reports, "run_page", stopped)
    with pytest.raises(KeyboardInterrupt):
        write_report_or_warn(run_folder())


def test_pages_are_light(run_folder):
    names = [f"organ {i}" for i in range(11)]
    files = run_folder(names=names, epochs=100, n=200, domains=("a", "b"))
    assert write_report(files).stat().st_size < 1_500_000


def test_equal_files_give_an_equal_page(run_folder):
    files = run_folder()
    first = write_report(files).read_bytes()
    assert write_report(files).read_bytes() == first
