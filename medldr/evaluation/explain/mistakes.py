"""The most confident mistakes of a run: which they are, and a small picture of each.

A confident mistake shows more than an average number does: a wrong label, a burned-in mark, a kind
of image that training lacked. Nothing that names a file, an item or a patient is kept.

Source:
    Our choice: at most 12, at most 4 of one true class, so that a single bad class does not fill
    the page; pictures of at most 96 pixels, of a volume the middle slice along each axis.
"""

from __future__ import annotations

import base64
import io
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.data.image_table import ImageTable
from medldr.evaluation.groups import decisions
from medldr.evaluation.metrics.counts import decide
from medldr.folders.mistakes_record import Mistake, Mistakes
from medldr.types import Predictions

if TYPE_CHECKING:
    from PIL import Image

MOST: Final = 12
MOST_OF_CLASS: Final = 4
PIXELS: Final = 96
SPLITS: Final = ("test", "id_test")
"""The first of these that was predicted is searched."""


class Wrong(NamedTuple):
    """A wrong prediction.

    Attributes:
        row: Its row among the predictions.
        truth: The true class; of several labels, the label and whether it is there.
        predicted: The predicted class, likewise.
        confidence: Its probability.
    """

    row: int
    truth: str
    predicted: str
    confidence: float


def confident_mistakes(table: Predictions) -> list[Wrong]:
    """The wrong predictions with the highest probability, the highest first.

    Of an item with several wrong labels the most confident one counts. Predictions that are not
    finite, and labels that are unknown, are left out.

    Args:
        table: Predictions of one split.

    Returns:
        At most `MOST`, at most `MOST_OF_CLASS` of one true class.

    Example:
        >>> from medldr.evaluation.predictions.table import predictions_of
        >>> prob = [[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]]
        >>> [wrong.row for wrong in confident_mistakes(predictions_of("binary", [1, 1, 0], prob))]
        [0, 2]
    """
    taken: Counter[str] = Counter()
    found: list[Wrong] = []
    for wrong in sorted(_all(table), key=lambda wrong: (-wrong.confidence, wrong.row)):
        if len(found) < MOST and taken[wrong.truth] < MOST_OF_CLASS:
            taken[wrong.truth] += 1
            found.append(wrong)
    return found


def _all(table: Predictions) -> list[Wrong]:
    names, decided = table.class_names, decide(table.prob, table.task)
    finite: NDArray[np.bool_] = np.all(np.isfinite(table.prob), axis=1)
    if table.task != "multi-label":
        rows = np.flatnonzero(finite & (decided != table.label)).tolist()
        pairs = ((row, int(table.label[row]), int(decided[row])) for row in rows)
        return [Wrong(r, names[t], names[d], float(table.prob[r, d])) for r, t, d in pairs]
    known = ~np.isnan(table.label)
    wrong: NDArray[np.bool_] = np.asarray(finite)[:, None] & (decided != table.label) & known
    confidence = np.where(wrong, np.where(decided == 1, table.prob, 1 - table.prob), -1.0)
    found = []
    for row in np.flatnonzero(wrong.any(axis=1)).tolist():
        label = int(confidence[row].argmax())
        said = ("absent", "present") if decided[row, label] else ("present", "absent")
        truth, predicted = (f"{names[label]}: {word}" for word in said)
        found.append(Wrong(row, truth, predicted, float(confidence[row, label])))
    return found


def picture_mistakes(
    predictions: Mapping[str, Predictions],
    table: ImageTable,
    rows: Mapping[str, NDArray[np.int64]],
) -> Mistakes | None:
    """The most confident mistakes with their pictures; None where no test split was predicted.

    Args:
        predictions: One table per split.
        table: The images; only those of the mistakes are read.
        rows: Rows of each split in that table, in the order of the predictions.
    """
    split = next((split for split in SPLITS if split in predictions), None)
    if split is None:
        return None
    predicted = predictions[split]
    known, right = decisions(predicted)
    items = tuple(
        Mistake(
            truth=wrong.truth,
            predicted=wrong.predicted,
            confidence=wrong.confidence,
            domain=str(predicted.domain[wrong.row]),
            png=thumbnail(shown(table, int(rows[split][wrong.row]))),
        )
        for wrong in confident_mistakes(predicted)
    )
    return Mistakes(
        split=split,
        n=len(predicted),
        wrong=int((right < known).sum()),
        slices=table.images.ndim == 5,
        items=items,
    )


def shown(table: ImageTable, row: int) -> NDArray[Any]:
    """The image that stands for an item on a page: of several, the first."""
    images = 1 if table.combined is None else len(table.combined.names)
    pixels: NDArray[Any] = table.images[row]
    return pixels[: len(pixels) // images]


def thumbnail(pixels: NDArray[Any]) -> str:
    """A small picture as PNG in base64.

    Args:
        pixels: ``(C, H, W)``, or ``(C, D, H, W)``: then its middle slice along each axis, side by
            side; uint8, or floats from 0 to 1. Of other than one or three channels, the first is
            shown.

    Example:
        >>> import base64
        >>> base64.b64decode(thumbnail(np.zeros((1, 8, 8), np.uint8)))[1:4]
        b'PNG'
    """
    from PIL import Image  # a run needs it at its end only

    grey = pixels if len(pixels) == 3 else pixels[:1]
    if grey.dtype != np.uint8:
        grey = np.round(grey * 255).astype(np.uint8)
    if grey.ndim == 3:
        parts = [grey]
    else:
        parts = [np.take(grey, grey.shape[axis] // 2, axis=axis) for axis in (1, 2, 3)]
    small = [_small(part) for part in parts]
    height = max(picture.height for picture in small)
    width = sum(picture.width for picture in small) + 2 * (len(small) - 1)
    sheet = Image.new(small[0].mode, (width, height))
    left = 0
    for picture in small:
        sheet.paste(picture, (left, 0))
        left += picture.width + 2
    file = io.BytesIO()
    sheet.save(file, "PNG", optimize=True)
    return base64.b64encode(file.getvalue()).decode()


def _small(pixels: NDArray[np.uint8]) -> Image.Image:
    """A picture ``(C, H, W)`` of at most `PIXELS` on each side, never enlarged."""
    from PIL import Image

    shown = pixels[0] if len(pixels) == 1 else pixels.transpose(1, 2, 0)
    picture = Image.fromarray(np.ascontiguousarray(shown))
    picture.thumbnail((PIXELS, PIXELS))
    return picture
