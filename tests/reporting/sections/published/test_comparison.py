"""Several methods stand beside every published result of their data set, each with its protocol."""

from medldr.evaluation.comparison.compare import make_comparison
from medldr.reporting.read.run import read_run
from medldr.reporting.sections.published import comparison_published
from medldr.reporting.writers.cells import printed


def config(algorithm, protocol, flag="octmnist"):
    return {
        "config": {
            "data": {"name": "medmnist", "flag": flag},
            "model": {"name": "resnet18"},
            "algorithm": {"name": algorithm},
            "protocol": protocol,
        },
        "run": {"protocol": protocol, "data": {"name": f"{flag}_28"}},
    }


def test_a_published_result_is_told_against_the_method_that_is_nearest_to_it(run_folder):
    folders = [
        run_folder("octmnist_erm-aaaaaaaa-s0", **config("erm", "medmnist-v2-28")),
        run_folder("octmnist_mixup-bbbbbbbb-s0", **config("mixup", "medmnist-v2-28+modified")),
    ]
    comparison = make_comparison(folders)
    files = {folder.path.name: read_run(folder) for folder in folders}
    table = comparison_published(comparison, files)
    assert table.caption == (
        "Ours and published, test split, n = 48 images of 24 groups (patients, slides)"
    )
    ours, other, first, *_ = table.rows
    assert [ours.heading, other.heading] == comparison.names
    assert [row.cells[0].content for row in (ours, other)] == [
        "medmnist-v2-28",
        "medmnist-v2-28+modified",
    ]
    found = comparison.estimate("test", "accuracy", ours.heading)
    assert ours.cells[1].content.mean == found.mean
    assert first.heading == "ERM, ResNet-18 (MedMNIST benchmark)"
    texts = [printed(cell).text for cell in first.cells]
    assert texts == ["medmnist-v2-28", "74.3", "0.943"]
    assert first.cells[0].extra == "same protocol"  # as the first method's, which is unchanged
    name = folders[0].path.name
    alone = comparison_published(comparison, {name: files[name]})
    assert [row.heading for row in alone.rows[:2]] == [ours.heading, first.heading]
    changed = folders[1].path.name
    alone = comparison_published(comparison, {changed: files[changed]})
    assert alone.rows[1].cells[0].extra == "modified by us"
