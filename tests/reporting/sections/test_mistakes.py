"""Pictures of mistakes on a page: inside it, with their classes, and said where there are none."""

import base64
import json

import numpy as np

from medldr.evaluation.explain.mistakes import thumbnail
from medldr.folders.mistakes_record import Mistake, Mistakes, write_mistakes
from medldr.reporting import write_report
from medldr.reporting.read.run import read_run

PNG = thumbnail(np.arange(64, dtype=np.uint8).reshape(1, 8, 8))


def mistakes(**changes):
    one = {"truth": "<b>buckle", "predicted": "displaced", "confidence": 0.987, "domain": "ward"}
    items = (Mistake(**one, png=PNG), Mistake(**(one | {"domain": ""}), png=PNG))
    return Mistakes(**({"split": "test", "n": 48, "wrong": 7, "items": items} | changes))


def test_each_picture_is_in_the_page_with_its_classes(run_folder, read):
    files = run_folder()
    write_mistakes(files, mistakes())
    found = read(write_report(files))
    assert found.errors == []
    pictures = [url for url in found.urls if url.startswith("data:image/png")]
    assert pictures == [f"data:image/png;base64,{PNG}"] * 2
    assert base64.b64decode(pictures[0].split(",")[1]).startswith(b"\x89PNG")
    for said in ("true: <b>buckle", "predicted: displaced", "confidence: 98.7%", "domain: ward",
                 "7 of 48 images were predicted wrongly", "2 in all"):  # fmt: skip
        assert said in found.text
    assert found.text.count("domain: ward") == 1
    assert "<b>buckle" not in files.report.read_text()
    assert "middle slice" not in found.text
    assert "2 of the most confident of 7 wrong predictions" in read(files.checklist).text


def test_the_page_says_which_pictures_are_slices_and_hides_ids(run_folder, read):
    files = run_folder()
    named = Mistake(truth="a", predicted="b", confidence=1, domain="MRN-77test00001", png=PNG)
    write_mistakes(files, mistakes(slices=True, items=(named,)))
    assert "middle slice of the volume" in read(write_report(files)).text
    assert "MRN-" not in files.report.read_text()


def test_a_page_says_why_it_has_no_pictures_and_an_old_run_has_no_section(run_folder, read):
    old = run_folder("old-aaaaaaaa-s0")
    assert "mistakes" not in read(write_report(old)).sections
    off = run_folder("off-aaaaaaaa-s0", config={"machine": {"thumbnails": False}})
    assert "because machine.thumbnails is false" in read(write_report(off)).text
    right = run_folder("right-aaaaaaaa-s0")
    write_mistakes(right, mistakes(items=(), wrong=0))
    assert (
        "Every image of the test split was predicted correctly." in read(write_report(right)).text
    )


def test_pictures_are_read_only_for_the_page_of_a_run(run_folder):
    files = run_folder()
    files.mistakes.write_text(json.dumps({"schema": 9}))
    assert read_run(files).mistakes is None
