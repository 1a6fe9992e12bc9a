"""The quickstart: ERM and LatentDR on the rib phantom, one scanner held out, compared.

It shows the whole workflow in a minute or two on two cores, without network access. Its numbers
demonstrate the tool and are not evidence for the method: simulated volumes, one seed each.
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

_WHAT: Final = (
    "Rib fractures, imaged by four simulated scanners. Two networks, ERM and LatentDR, are trained "
    "on three of them and tested on these three and on the fourth, which neither has seen."
)

_BEFORE: Final = (
    f"{_WHAT} This takes a minute or two on two cores. If you stop it, run the same command again "
    "to resume.\n"
)

_RATE: Final = (
    "LatentDR trains at half the learning rate, as in its paper; in such a short training that "
    "alone costs accuracy. The control runs algorithm=erm_half_lr and algorithm=latentdr_full_lr "
    "separate the two effects."
)


def quickstart(out: Path | str = "runs/quickstart", overrides: Sequence[str] = ()) -> Path:
    """Train or resume the two runs, then print their comparison and write its page.

    Finished runs are not trained again, so a second call shows the result at once.

    Args:
        out: Folder of the two run folders and of the page.
        overrides: ``KEY=VALUE`` changes of both runs, as for `medldr train`.

    Returns:
        The page.

    Raises:
        InputError: If an override is invalid, or the folder cannot be used.
        Interrupted: If a signal stopped it; the same call resumes.
    """
    configs = [load_config(name, overrides) for name in RUNS]
    waiting = [config for config in configs if not is_done(identify(config).folder(out))]
    _say(_BEFORE if waiting else f"Already trained. To start over, remove the folder {out}.\n")
    folders = []
    for number, config in enumerate(configs, 1):
        if config in waiting:
            _say(f"{number} of {len(configs)}: {config.label}")
        folders.append(train_run(config, out).folder)
    page = Path(out) / PAGE
    title = "Quickstart: ERM and LatentDR on the rib phantom"
    remark = f"{DEMONSTRATION} {_WHAT} {_RATE}"
    compare_runs(folders, page, title=title, remark=remark)
    _say(f"\n{DEMONSTRATION} {_RATE}")
    return page


def _say(text: str) -> None:
    console().print(text, markup=False)
