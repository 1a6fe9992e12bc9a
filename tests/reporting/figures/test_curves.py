"""Curves of one run: only what was logged, the selected point marked."""

from medldr.folders.run_record import Selection
from medldr.reporting.sections.training import curves


def test_curves_skip_what_is_undefined_and_mark_the_selected_epoch():
    rows = [{"epoch": e, "val/auc": v} for e, v in ((1, None), (2, 0.5), (3, 0.75))]
    (drawing,) = curves("learning", rows, Selection(rule="val_auc", epoch=3, step=9))
    assert "from 0.500 at epoch 2 to 0.750 at epoch 3" in drawing.alt
    assert "selected (epoch 3)" in drawing.svg


def staged(*stages):
    return [
        {"epoch": n, "step": 10 * n, "stage": stage, "val/auc": 0.5 + n / 100}
        for n, stage in enumerate(stages, 1)
    ]


def test_a_later_stage_begins_at_a_line():
    (drawing,) = curves("learning", staged(1, 1, 2, 2, 3), None)
    assert "to 0.550 at epoch 5" in drawing.alt  # one curve of all stages
    assert drawing.alt.endswith("Stage 2 begins after epoch 2. Stage 3 begins after epoch 4.")
    assert "stage 2 begins" in drawing.svg
    assert "stage 3 begins" in drawing.svg
    assert "dashed vertical line" in drawing.caption
    (plain,) = curves("learning", staged(1, 1, 1), None)
    assert "tage" not in plain.alt + plain.caption + plain.svg
