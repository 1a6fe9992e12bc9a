"""`mistakes.json`: written, read, replaced, and refused where a picture is none."""

import json

import pytest

from medldr.errors import InputError
from medldr.evaluation.explain.mistakes import thumbnail
from medldr.folders.files import RunFolder
from medldr.folders.mistakes_record import Mistake, Mistakes, read_mistakes, write_mistakes


@pytest.fixture
def found():
    import numpy as np

    png = thumbnail(np.zeros((1, 4, 4), np.uint8))
    one = Mistake(truth="a", predicted="b", confidence=0.75, png=png)
    return Mistakes(split="test", n=10, wrong=3, items=(one,))


def test_what_is_read_is_what_was_written_and_nothing_takes_its_place(found, tmp_path):
    files = RunFolder(tmp_path)
    assert read_mistakes(files) is None
    write_mistakes(files, found)
    assert read_mistakes(files) == found
    write_mistakes(files, None)
    assert not files.mistakes.exists()
    write_mistakes(files, None)
    assert read_mistakes(files) is None


@pytest.mark.parametrize("png", ["PHN2Zz4=", 'iVBORw0KGgo" onerror="x', "", "iVBORw0KGgo AAAA"])
def test_what_is_no_picture_is_refused_with_file_and_cure(found, tmp_path, png):
    files = RunFolder(tmp_path)
    content = found.model_dump(by_alias=True)
    content["items"][0]["png"] = png
    files.mistakes.write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"mistakes\.json: items.0.png .*medldr evaluate"):
        read_mistakes(files)
