"""What `medldr data` prints."""

import io

from rich.console import Console

from medldr.inspection import print_counts


def _printed(records, width):
    console = Console(file=io.StringIO(), width=width)
    print_counts("counts", records, console)
    return console.file.getvalue()


def _record(split, domain, groups=0):
    classes = {"buckle": 1, "nondisplaced": 1234, "displaced": 3}
    return {"split": split, "domain": domain, "classes": classes, "rows": 1238, "groups": groups}


def test_many_domains_stay_readable_in_80_columns():
    domains = [f"scanner_{letter}" for letter in "abcd"]
    records = [_record(s, d, groups=75) for s in ("train", "val", "test") for d in domains]
    lines = _printed(records, 80).splitlines()
    assert lines[1].split() == [
        *("split", "domain", "buckle", "nondisplaced", "displaced", "images", "groups")
    ]
    assert lines[2].split() == ["train", "scanner_a", "1", "1,234", "3", "1,238", "75"]
    assert len(lines) == 2 + 12


def test_splits_without_domains_are_columns():
    lines = _printed([_record(s, "") for s in ("train", "val", "test")], 80).splitlines()
    assert lines[1].split() == ["train", "val", "test"]
    assert lines[3].split() == ["nondisplaced", "1,234", "1,234", "1,234"]
    assert lines[5].split() == ["images", "1,238", "1,238", "1,238"]
