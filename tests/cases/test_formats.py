"""The kinds of files that hospitals and microscopes write: read as they are, or refused by name."""

import nibabel
import numpy as np
import SimpleITK
from own_scans import RAMP, built, images_of, noise, refused, table


def _tree(folder, ending, write):
    """Sixteen files of two hospitals and two classes."""
    for number in range(16):
        name = f"h{number // 8}/{'ab'[number % 2]}/p{number}{ending}"
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write(folder / name, number)
    return folder


def _itk(path, number):
    SimpleITK.WriteImage(SimpleITK.GetImageFromArray(noise(number)), str(path))


def test_a_tree_of_metaimage_or_nrrd_is_one_of_volumes(tmp_path, medldr):
    for ending in (".mha", ".nrrd", ".mhd", ".nhdr"):
        folder = _tree(tmp_path / ending[1:], ending, _itk)
        images = images_of(None, root=str(folder), folders=["domain", "label"], window=(0.0, 200.0))
        shown = np.clip(noise(3).T[::-1, ::-1] / 200, 0, 1)  # ITK's axes: to the left and the back
        np.testing.assert_allclose(images[f"h0/b/p3{ending}"][0], shown, atol=1e-6)
        assert len(images) == 16
        ended = medldr("new", folder, "--yes", "--out", tmp_path / f"{ending[1:]}.yaml")
        assert ended.code == 0, ended.err
        assert "recipe/own_3d" in (tmp_path / f"{ending[1:]}.yaml").read_text()


def test_a_tree_of_whole_slides_or_videos_says_what_to_do(tmp_path, medldr):
    for ending, cure in ((".svs", "Cut it into tiles"), (".avi", "Save the frames that matter")):
        folder = _tree(tmp_path / ending[1:], ending, lambda path, _: path.write_bytes(b"II*\0"))
        said = f"its files end in {ending} (16). "
        text = refused(None, root=str(folder), folders=["domain", "label"])
        assert said in text
        assert cure in text
        ended = medldr("new", folder, "--yes", "--out", tmp_path / "study.yaml")
        assert ended.code == 2
        assert said in " ".join(ended.err.split())
        assert cure in " ".join(ended.err.split())
    assert not (tmp_path / "study.yaml").exists()


def test_a_pair_is_one_scan_and_a_lone_image_lacks_its_header(tmp_path):
    names = []
    for number in range(8):
        name = f"{'ab'[number % 2]}/scan{number}.hdr"
        (tmp_path / name).parent.mkdir(exist_ok=True)
        nibabel.save(nibabel.Nifti1Pair(RAMP + number, np.diag([1, 1, 2, 1])), tmp_path / name)
        names.append(name)
    found = built(None, root=str(tmp_path), folders=["label"]).table
    assert sorted(found.ids.tolist()) == sorted(names)
    assert {one.spacing for one in found.facts} == {(1, 1, 2)}
    (tmp_path / "a/scan0.hdr").unlink()
    text = refused(None, root=str(tmp_path), folders=["label"])
    assert "a/scan0.img: its .hdr is missing" in text
    assert "scan0.img: its .hdr is missing" in refused(table(tmp_path, ["a/scan0.img", *names[1:]]))
