"""What tables and figures call the runs of a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from medldr.config.method import Config, method_title
from medldr.config.sections import dataset_name, held_out


def unique_headings(runs: Sequence[tuple[Config, Path]], titles: Sequence[str] = ()) -> list[str]:
    """What to call runs: by title or method, and by what tells runs that share it apart.

    Args:
        runs: Plain configuration and folder of each; all folders are different.
        titles: One per run, empty for those to be called by their method; unset: all are.

    Returns:
        One heading per run, all different.
    """
    plain = [config for config, _ in runs]
    given = titles or [""] * len(plain)
    parts = [[title or method_title(config)] for title, config in zip(given, plain, strict=True)]
    more = (
        [f"{', '.join(held_out(config))} held out" if held_out(config) else "" for config in plain],
        [dataset_name(config, {}) for config in plain],
        [str(config.get("label", "")) for config in plain],
        [f"seed {config.get('seed', 0)}" for config in plain],
        [path.resolve().parent.name for _, path in runs],
        [path.name for _, path in runs],
        [str(path.resolve()) for _, path in runs],
    )
    for words in more:
        names = [", ".join(part) for part in parts]
        for name in {name for name in names if names.count(name) > 1}:
            same = [i for i, other in enumerate(names) if other == name]
            if len({words[i] for i in same}) > 1:
                for i in same:
                    parts[i] += [words[i]] if words[i] else []
    return [", ".join(part) for part in parts]
