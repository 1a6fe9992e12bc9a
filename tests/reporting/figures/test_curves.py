"""Curves of one run: only what was logged, the selected point marked."""

from medldr.folders.run_record import Selection
from medldr.reporting.figures.curves import LEARNING, OF_LATENTS, curves


def test_what_was_not_logged_is_no_figure():
    assert curves(LEARNING, [], None) == []
    assert curves(OF_LATENTS, [{"epoch": 1, "train/loss": 1.0}], None, 0.5) == []


def test_curves_skip_what_is_undefined_and_mark_the_selected_epoch():
    rows = [{"epoch": e, "val/auc": v} for e, v in ((1, None), (2, 0.5), (3, 0.75))]
    (drawing,) = curves(LEARNING, rows, Selection(rule="val_auc", epoch=3, step=9))
    assert "from 0.500 at epoch 2 to 0.750 at epoch 3" in drawing.alt
    assert "selected (epoch 3)" in drawing.svg


def test_an_accuracy_on_mixed_images_is_called_that():
    rows = [{"epoch": e, "train/accuracy/mixed": e / 4, "train/loss": 1.0} for e in (1, 2)]
    loss, results = curves(LEARNING, rows, None)
    assert "training, original latents" not in loss.svg
    alt = results.alt.replace("\xa0", " ")
    assert "training accuracy, mixed images: from 25.0% at epoch 1" in alt


def test_evaluations_between_epochs_are_drawn_over_steps():
    rows = [{"epoch": 1, "step": s, "val/auc": 0.5 + s / 100} for s in (10, 20)]
    (drawing,) = curves(LEARNING, rows, Selection(rule="val_auc", epoch=1, step=20))
    assert "at step 20" in drawing.alt
    assert "selected (step 20)" in drawing.svg


def test_batchformer_shows_its_latents_beside_the_plain_ones():
    rows = [
        {"epoch": e, "train/accuracy": 0.5 + e / 10, "train/accuracy/batchformer": 0.4 + e / 10}
        for e in (1, 2, 3)
    ]
    (drawing,) = curves(OF_LATENTS, rows, None, 0.25)
    assert drawing.name == "attended"
    assert "after batch attention: from" in drawing.alt


def staged(*stages):
    return [
        {"epoch": n, "step": 10 * n, "stage": stage, "val/auc": 0.5 + n / 100}
        for n, stage in enumerate(stages, 1)
    ]


def test_a_later_stage_begins_at_a_line():
    (drawing,) = curves(LEARNING, staged(1, 1, 2, 2, 3), None)
    assert "to 0.550 at epoch 5" in drawing.alt  # one curve of all stages
    assert drawing.alt.endswith("Stage 2 begins after epoch 2. Stage 3 begins after epoch 4.")
    assert "stage 2 begins" in drawing.svg
    assert "stage 3 begins" in drawing.svg
    assert "dashed vertical line" in drawing.caption
    (plain,) = curves(LEARNING, staged(1, 1, 1), None)
    assert "tage" not in plain.alt + plain.caption + plain.svg


def test_a_stage_without_training_has_no_point():
    rows = staged(1, 1, 1)
    chosen = Selection(rule="val_auc", epoch=2, step=20)
    (plain,) = curves(LEARNING, rows, chosen)
    normalised = {"epoch": 2, "step": 20, "stage": 2, "val/auc": 0.99}
    (drawing,) = curves(LEARNING, [*rows, normalised], chosen)
    assert (drawing.alt, drawing.svg) == (plain.alt, plain.svg)
