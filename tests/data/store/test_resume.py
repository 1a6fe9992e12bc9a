"""Packing that was stopped resumes, whatever stopped it."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from medldr.data import load_table, store


def stop_after(blocks, monkeypatch):
    """Let packing die when so many blocks were recorded."""
    from medldr.data.store import array

    append, left = array.append_line, [blocks + 1]  # the plan comes first

    def dying(path, line):
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        append(path, line)

    monkeypatch.setattr(array, "append_line", dying)
    return lambda: monkeypatch.setattr(array, "append_line", append)


def test_a_stopped_pack_goes_on_and_reads_only_what_is_missing(
    lazy, section, small_blocks, monkeypatch, make_pack, assert_equal_tables
):
    again = stop_after(2, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        make_pack(lazy, section)
    folder = store.usual_place(section, "toy")
    assert not folder.exists()
    again()
    partial = folder.with_name(folder.name + ".partial")
    content = bytearray((partial / "images.npy").read_bytes())
    content[-150] ^= 1  # a recorded block that did not reach the disk as it was: row 0
    (partial / "images.npy").write_bytes(content)
    with (partial / "written.jsonl").open("a") as file:
        file.write('{"block": 3, "sha')  # half a line
    lazy.images.reads = 0
    assert make_pack(lazy, section)[1] == "made"
    assert lazy.images.reads == 7  # rows 0 to 2 again, 6 to 9 for the first time
    assert_equal_tables(load_table(section), lazy)
    assert not partial.exists()


def test_what_was_begun_of_other_files_is_begun_anew(
    lazy, section, small_blocks, monkeypatch, make_pack, assert_equal_tables
):
    again = stop_after(2, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        make_pack(lazy, section)
    again()
    path = section.root / "pixels" / "004.raw"
    path.write_bytes(bytes(16))
    os.utime(path, ns=(1, 1))
    lazy.images.reads = 0
    make_pack(lazy, section)
    assert lazy.images.reads == 10
    assert_equal_tables(load_table(section), lazy)


def test_what_was_begun_of_other_pixels_in_memory_is_written_again(
    make_table, section, small_blocks, monkeypatch, tmp_path, make_pack
):
    table = make_table([0, 1] * 5)
    again = stop_after(3, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        make_pack(table, section, tmp_path / "pack")
    again()
    table.images[4] ^= 1
    make_pack(table, section, tmp_path / "pack")
    assert np.array_equal(np.load(tmp_path / "pack" / "images.npy"), table.images)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: content[:200],
        lambda content: bytes(128) + content[128:],
        lambda content: b"",
    ],
    ids=["cut off", "its head lost", "empty"],
)
def test_what_was_begun_and_is_no_array_any_more_is_begun_anew(
    spoil, lazy, section, small_blocks, monkeypatch, make_pack, assert_equal_tables
):
    again = stop_after(2, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        make_pack(lazy, section)
    again()
    folder = store.usual_place(section, "toy")
    images = folder.with_name(folder.name + ".partial") / "images.npy"
    images.write_bytes(spoil(images.read_bytes()))
    assert make_pack(lazy, section)[1] == "made"
    assert_equal_tables(load_table(section), lazy)


_KILLED = """
import sys, time
from pathlib import Path
import numpy as np
from rich.console import Console
from medldr.data import store
from medldr.data.store import array
from medldr.datasets.base import DatasetConfig, ImageTable, LazyImages

array.BLOCK_BYTES = 64

class Slow(LazyImages):
    shape, stamp = (400, 1, 8, 8), "s"
    def __getitem__(self, rows):
        if isinstance(rows, int):
            return np.full((1, 8, 8), rows % 251, np.uint8)
        time.sleep(float(sys.argv[2]))
        return np.stack([self[int(r)] for r in np.arange(400)[rows]])

blank = np.full(400, "", dtype=np.str_)
table = ImageTable("slow", "binary", ("a", "b"), Slow(), np.arange(400) % 2,
                   np.arange(400).astype(np.str_), blank, blank, blank)
made = store.make_pack(table, DatasetConfig(name="slow"), Path(sys.argv[1]), workers=2,
                      console=Console())
print(made)
"""


@pytest.mark.slow
def test_a_killed_pack_leaves_nothing_that_looks_whole_and_goes_on(tmp_path):
    folder = tmp_path / "pack"
    command = [sys.executable, "-c", _KILLED, str(folder)]
    first = subprocess.Popen([*command, "0.05"], stdout=subprocess.DEVNULL)
    journal = tmp_path / "pack.partial" / "written.jsonl"
    until = time.monotonic() + 30
    while not (journal.exists() and len(journal.read_bytes().splitlines()) > 10):
        assert first.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert not folder.exists()
    done = subprocess.run([*command, "0"], capture_output=True, text=True, check=True)
    assert "resuming" in done.stdout
    assert done.stdout.splitlines()[-1] == "made"
    images = np.load(folder / "images.npy")
    assert np.array_equal(images, np.arange(400)[:, None, None, None] % 251 + np.zeros((1, 8, 8)))
