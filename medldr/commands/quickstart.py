"""The quickstart: ERM and LatentDR on the rib phantom, one scanner held out, side by side.

It shows the whole line in a minute or two on two cores and without a network. Its numbers are a
demonstration of the tool and not evidence for the method: simulated volumes, one seed each.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from medldr.config import identify, load_config
from medldr.folders.lifecycle import is_done
from medldr.reporting import DEMONSTRATION, compare_runs
from medldr.reporting.writers.terminal import console
from medldr.run import train_run

RUNS: Final = ("phantom_fracture_erm", "phantom_fracture_latentdr_pool")
"""Packaged runs; the first one is the reference of the comparison."""

PAGE: Final = "quickstart.html"

_BEFORE: Final = """\
Rib fractures, seen by four simulated scanners. Two networks, ERM and LatentDR, learn from three of
them and are tested on these and on the fourth, which neither has seen. This takes a minute or two
on two cores; stopped, the same command goes on.
"""

_RATE: Final = (
    "LatentDR trains at half the rate, as its paper does; in so short a training that alone costs "
    "accuracy. The control runs algorithm=erm_half_lr and algorithm=latentdr_full_lr tell them "
    "apart."
)


def quickstart(out: Path | str = "runs/quickstart", overrides: Sequence[str] = ()) -> Path:
    """Train the two runs, or go on with them, then print their comparison and write its page.

    What is finished is not trained again, so a second call shows the result at once.

    Args:
        out: Folder of the two run folders and of the page.
        overrides: ``KEY=VALUE`` changes of both runs, as for `medldr train`.

    Returns:
        The page.

    Raises:
        InputError: If an override does not fit, or the folder cannot be used.
        Interrupted: If a signal stopped it; the same call goes on.
    """
    configs = [load_config(name, overrides) for name in RUNS]
    waiting = [config for config in configs if not is_done(identify(config).folder(out))]
    _say(_BEFORE if waiting else f"Trained before. To train anew, remove the folder {out}.\n")
    folders = []
    for number, config in enumerate(configs, 1):
        if config in waiting:
            _say(f"{number} of {len(configs)}: {config.label}")
        folders.append(train_run(config, out).folder)
    page = Path(out) / PAGE
    title = "Quickstart: ERM and LatentDR on the rib phantom"
    compare_runs(folders, page, title=title, remark=DEMONSTRATION)
    _say(f"\n{DEMONSTRATION} {_RATE}")
    return page


def _say(text: str) -> None:
    console().print(text, markup=False)
