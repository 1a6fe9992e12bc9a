"""A folder for each domain, in it one for each class: DomainBed's five sets, and any such tree.

``FOLDER/<domain>/<class>/<image>`` is read as it is. Domains are the sorted folders at the top,
classes those below, in one list over all domains: a domain that lacks a class shifts no label.
Labels count from 0; of two classes the second is the positive one, unless
`evaluation.positive_class` names the first. There are no splits; `data.split_rule`,
`data.held_out` and the fractions make them. With `data.set` the tree is one of the five sets
(pacs, vlcs, office_home, terra_incognita, domain_net): its domains must exist, and what is found is
compared with the published numbers of pictures, which identifies the release and is never a reason
to refuse.

Pictures of any size and colour become ``size`` x ``size`` RGB when they are read; `medldr data
pack` stores them so. With ``size: null`` training sees each at its own size, so that a random crop
is cut from the picture as it is, one by one in the worker processes; validation, test and
prediction see it whole, resized to `transform.size`. There is no pack of these. Before that, each
picture is decoded once, which is remembered.

Pictures of a tree of one's own are read as a person sees them: transparent pixels on a ground
(`data.ground`), photographs upright (`data.exif`), 16 bits by one depth for all (`data.bit_depth`).
Those of a known set are read as published codes read them, whatever is transparent or turned.

In a medical tree a patient's pictures must stay together: `data.group_pattern` finds the patient
in what follows the class, for example ``'^(P[0-9]+)_'``.

Source:
    Layout, domains and the order of rows are those of DomainBed and torchvision's ImageFolder, so
    that its divisions of row numbers hold here; hidden files, which ImageFolder counts, are
    skipped. The official lists of PACS for training and validation are not read: DomainBed
    leaves them out on purpose, as fixed parts invite fitting to them, and their labels count from
    1, which has misled others.
    Published codes crop at random from a picture at its own size: ``size: null``. With a number,
    which is our choice for packs and small trees, the crop is cut from the squashed picture, and
    its aspect ratio is relative to that; at validation there is no difference where `size` is
    `transform.size`.
    Truncated pictures are refused, where published codes fill them with grey.
    Names of folders count as equal where a person reads the same; see `medldr.data.listing.names`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medldr.data.files.memory import Examined
from medldr.data.files.rgb import Judged, OwnRules, judge
from medldr.data.files.scan import ABSENT
from medldr.data.image_table import Looks
from medldr.data.listing.item_frame import Listing, texts
from medldr.data.listing.names import composed, groups_by_pattern
from medldr.data.reading.pictures import PictureFiles, looks_of, unusable
from medldr.datasets._domain_folders.benchmarks import SETS, compare, nearest
from medldr.datasets._domain_folders.config import Config
from medldr.datasets._domain_folders.domain_tree import (
    domain_names,
    list_pictures,
    without_blacklist,
)
from medldr.datasets._domain_folders.location import find, locate
from medldr.datasets.base import BadFile, ImageTable, Seen, check_held_out

__all__ = ["Config", "examine", "load", "load_again", "present", "require"]

_WHOLE: Final = 224
"""Edge of whole pictures with ``size: null``, where no transform says another."""
_NO_PATIENTS: Final = (
    "no patient ids (data.group_pattern): splits may divide a patient's images, and 95% CIs count "
    "images as independent."
)


def load(config: Config) -> ImageTable:
    """List the pictures of a tree and prove each readable, from memory where it has not changed.

    Raises:
        InputError: If there is no such tree, it has another layout, a picture is broken
            and may not be left out, or blacklist or group pattern do not match it.
    """
    listing = _listed(config)
    pictures = _pictures(config, listing)
    examined = pictures.examined()
    proven = _proven(config, listing, examined)
    table = _table(config, listing, _scaled(config, pictures, proven), proven.bad)
    out = {file.path for file in proven.bad}
    good = [
        one for path, one in zip(listing.ids.tolist(), examined, strict=True) if path not in out
    ]
    notes = tuple(f"{table.name}: {note}" for note in proven.notes)
    return replace(table, looks=Looks(looks_of(table.ids.tolist(), good), notes))


def load_again(config: Config, bad_files: tuple[BadFile, ...]) -> ImageTable:
    """What `load` returns, where a pack already recorded which pictures cannot be used.

    Raises:
        InputError: As `load`; but only `LazyImages.stamp` shows whether a picture was replaced.
    """
    listing = _listed(config)
    return _table(config, listing, _pictures(config, listing), bad_files)


def _table(
    config: Config, listing: Listing, pictures: PictureFiles, bad: tuple[BadFile, ...]
) -> ImageTable:
    name = config.set or config.name
    # What identifies the release is what is there, whether or not it can be read.
    release = (compare(SETS[config.set], per_domain(listing)),) if config.set else ()
    skip, form = config.on_bad_file == "skip", "{0.path} ({0.reason})"
    kept, left_out = listing.without(bad, str(listing.root), skip=skip, what="pictures", form=form)
    if bad:
        pictures = pictures.take(np.flatnonzero(np.isin(listing.ids, kept.ids)))
    listing = kept.noting(*left_out)
    if config.set is None and config.group_pattern is None:
        listing = listing.noting(_NO_PATIENTS)
    if config.group_pattern is not None:
        listing = replace(listing, groups=_groups(config, listing, config.group_pattern))
    return listing.table(
        name=name,
        task="multi-class",
        images=pictures,
        notes=(*release, *(f"{name}: {note}" for note in listing.notes)),
        hashes={_how(config): pictures.digest()},
        bad_files=bad,
        reading=pictures.reading,
    )


def _groups(config: Config, listing: Listing, pattern: str) -> NDArray[np.str_]:
    """The group of each picture, searched in what follows its class."""
    paths = listing.ids.tolist()
    inside = [composed(path).split("/", 2)[2] for path in paths]
    at = [f"{name!r} of {path}" for name, path in zip(inside, paths, strict=True)]
    groups = groups_by_pattern(pattern, inside, str(listing.root), at, "rename these pictures")
    if config.group_scope == "domain":
        pairs = zip(listing.domains.tolist(), groups, strict=True)
        groups = [f"{domain}/{group}" for domain, group in pairs]
    return texts(groups)


def per_domain(listing: Listing) -> Counter[str]:
    """Number of pictures by domain."""
    return Counter(listing.domains.tolist())


def _how(config: Config) -> str:
    """What, besides the files, decides the pixels."""
    size = "their own size" if config.size is None else f"{config.size} x {config.size}"
    if config.set is not None:
        return f"pictures at {size}"
    turned = "upright" if config.exif else "as stored"
    return f"own pictures at {size}, on {config.ground}, {turned}, bit_depth {config.bit_depth}"


def _listed(config: Config) -> Listing:
    known = SETS[config.set] if config.set else None
    folder = locate(config.set, config.root)
    listing = list_pictures(folder, known, nested=config.group_pattern is not None)
    if config.blacklist is None:
        return listing
    return without_blacklist(listing, config.blacklist, known.folder if known else folder.name)


def _pictures(config: Config, listing: Listing) -> PictureFiles:
    own = OwnRules(config.ground, config.exif) if config.set is None else None
    edge = config.size or _WHOLE
    return PictureFiles(
        listing.root,
        listing.ids.tolist(),
        (edge, edge),
        resize=True,
        own=own,
        own_size=config.size is None,
    )


def _proven(config: Config, listing: Listing, examined: Sequence[Examined]) -> Judged:
    paths = listing.ids.tolist()
    if config.set is not None:
        return Judged(unusable(paths, examined), 8, ())
    return judge(paths, examined, config.bit_depth, config.ground)


def _scaled(config: Config, pictures: PictureFiles, proven: Judged) -> PictureFiles:
    """The pictures, with a depth where they have rules of their own."""
    if config.set is not None:
        return pictures
    return pictures.with_rules(OwnRules(config.ground, config.exif, proven.depth))


def present(config: Config) -> str:
    """Where the tree is on this machine, or that it is absent; no picture is checked."""
    folder = find(config.set, config.root)
    if folder is not None:
        return f"in {folder}"
    return f"missing ({SETS[config.set].folder})" if config.set else "missing (set data.root)"


def require(config: Config) -> None:
    """Check that the tree exists, with the held-out domains; no picture is read.

    Raises:
        InputError: Naming where it was searched and what is expected.
    """
    folder = locate(config.set, config.root)
    known = SETS[config.set] if config.set is not None else None
    check_held_out(config.held_out, config.set or config.name, domain_names(folder, known))


def examine(config: Config, seen: Seen) -> dict[str, Any]:
    """Compare a tree with what was published about it; every picture is decoded.

    Args:
        config: Where it is.
        seen: Called with the id and the pixels ``(3, H, W)`` of each picture that is whole.

    Returns:
        ``folder``; ``counts``, one record per domain with ``found`` (usable pictures) and
        ``published`` (None where nothing is known); ``missing`` and ``extra``, lists of paths;
        ``unreadable``, a list of (path, reason).

    Raises:
        InputError: If there is no such tree, or it has another layout.
    """
    listing = _listed(config)
    paths = listing.ids.tolist()
    pictures = _pictures(config, listing)
    shown = np.zeros(len(pictures), dtype=bool)

    def look(row: int, pixels: NDArray[np.uint8]) -> None:
        shown[row] = True
        seen(paths[row], pixels)

    examined = pictures.examined(seen=look, title="decoding the pictures")
    proven = _proven(config, listing, examined)
    scaled = _scaled(config, pictures, proven)
    out = {file.path for file in proven.bad}
    for row in np.flatnonzero(~shown).tolist():  # their scale follows from all the others
        if paths[row] not in out:
            seen(paths[row], scaled[row])
    counts = per_domain(listing)
    usable = per_domain(listing.take(np.flatnonzero([path not in out for path in paths])))
    published: dict[str, int] = {}
    if config.set:
        known = SETS[config.set]
        published = dict(zip(known.domains, nearest(known, counts).counts, strict=True))
    return {
        "folder": str(listing.root),
        "counts": [
            {
                "split": "",
                "domain": domain,
                "found": usable[domain],
                "published": published.get(domain),
            }
            for domain in counts
        ],
        "missing": [file.path for file in proven.bad if file.reason == ABSENT],
        "unreadable": [tuple(file) for file in proven.bad if file.reason != ABSENT],
        "extra": sorted(listing.unused),
    }


CONTRACT_KEYS = {"set": "pacs", "size": 16}
