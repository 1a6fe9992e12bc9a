"""The five sets of DomainBed: folders, domains, classes, and how many pictures each release has.

Source:
    Folder and domain names, the class lists of TerraIncognita and the sets' totals are those of
    DomainBed and SWAD. Of the counts per domain, those of PACS and of the first TerraIncognita
    are published; the others are as commonly reported, so there the total is what decides.
    PACS: Li et al. 2017. VLCS: Fang et al. 2013. Office-Home: Venkateswara et al. 2017.
    TerraIncognita: Beery et al. 2018. DomainNet: Peng et al. 2019.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Release(NamedTuple):
    """One published state of a set.

    Attributes:
        what: What it is, after "this is".
        counts: Pictures per domain, in the order of the domains.
        certain: Whether the counts per domain were published, not only their sum.
        remark: What readers of a result should know; empty if nothing.
    """

    what: str
    counts: tuple[int, ...]
    certain: bool
    remark: str = ""

    @property
    def total(self) -> int:
        """Pictures of all domains."""
        return sum(self.counts)


class Known(NamedTuple):
    """What is known about a set beforehand.

    Attributes:
        title: Its name in texts.
        folder: Folder that DomainBed looks for.
        domains: Their folders, in order.
        classes: Number of classes.
        class_names: Their folders, in order; empty where only their number is known.
        releases: Published states, first the one used in published results.
        remark: Of every release.
    """

    title: str
    folder: str
    domains: tuple[str, ...]
    classes: int
    class_names: tuple[str, ...]
    releases: tuple[Release, ...]
    remark: str = ""


_DUPLICATES: Final = (704, 1_596, 3_493, 0, 2_380, 1_258)
"""Pictures per domain on DomainBed's list of DomainNet's duplicates: 9,431."""

_DOMAIN_NET: Final = (48_129, 51_605, 72_266, 172_500, 172_947, 69_128)
_UNCLEANED: Final = tuple(n + d for n, d in zip(_DOMAIN_NET, _DUPLICATES, strict=True))

SETS: Final = {
    "pacs": Known(
        title="PACS",
        folder="PACS",
        domains=("art_painting", "cartoon", "photo", "sketch"),
        classes=7,
        class_names=("dog", "elephant", "giraffe", "guitar", "horse", "house", "person"),
        releases=(Release("the whole set", (2_048, 2_344, 1_670, 3_929), certain=True),),
    ),
    "vlcs": Known(
        title="VLCS",
        folder="VLCS",
        domains=("Caltech101", "LabelMe", "SUN09", "VOC2007"),
        classes=5,
        class_names=("bird", "car", "chair", "dog", "person"),
        releases=(Release("the whole set", (1_415, 2_656, 3_282, 3_376), certain=False),),
    ),
    "office_home": Known(
        title="Office-Home",
        folder="office_home",
        domains=("Art", "Clipart", "Product", "Real World"),
        classes=65,
        class_names=(),
        releases=(Release("the whole set", (2_427, 4_365, 4_439, 4_357), certain=False),),
    ),
    "terra_incognita": Known(
        title="TerraIncognita",
        folder="terra_incognita",
        domains=("location_100", "location_38", "location_43", "location_46"),
        classes=10,
        class_names=(
            *("bird", "bobcat", "cat", "coyote", "dog"),
            *("empty", "opossum", "rabbit", "raccoon", "squirrel"),
        ),
        releases=(
            Release(
                "the first release (used in published results)",
                (4_879, 9_767, 4_020, 6_122),
                certain=True,
            ),
            Release(
                "today's release",
                (4_741, 9_736, 3_970, 5_883),
                certain=False,
                remark="published results use the first release, with 24,788",
            ),
        ),
        remark="a picture showing two species is in both class folders",
    ),
    "domain_net": Known(
        title="DomainNet",
        folder="domain_net",
        domains=("clipart", "infograph", "painting", "quickdraw", "real", "sketch"),
        classes=345,
        class_names=(),
        releases=(
            Release("cleaned, as in published results", _DOMAIN_NET, certain=False),
            Release(
                "not cleaned of its duplicates",
                _UNCLEANED,
                certain=False,
                remark="published results exclude 9,431 of them: name DomainBed's list of "
                "duplicates in data.blacklist",
            ),
        ),
    ),
}
"""By the value of `data.set`."""


def compare(known: Known, pictures: dict[str, int]) -> str:
    """Which release the pictures of each domain are, in a sentence.

    Args:
        known: The set.
        pictures: How many there are, by domain.

    Example:
        >>> compare(SETS["pacs"], dict(zip(SETS["pacs"].domains, (2048, 2344, 1670, 3929))))
        'PACS: 9,991 pictures, the whole set.'
        >>> compare(SETS["pacs"], dict(zip(SETS["pacs"].domains, (2048, 2344, 1670, 3928))))
        'PACS: 9,990 pictures, one fewer than the whole set of 9,991 (sketch 3,928 of 3,929).'
    """
    counts = [pictures.get(domain, 0) for domain in known.domains]
    total = sum(counts)
    release = nearest(known, pictures)
    head = f"{known.title}: {total:,} pictures, "
    unequal = [
        f"{domain} {n:,} of {published:,}"
        for domain, n, published in zip(known.domains, counts, release.counts, strict=True)
        if n != published
    ]
    gap = total - release.total
    if not gap:
        text = f"{head}{release.what}"
        if unequal:
            text += f", with different counts per domain ({'; '.join(unequal)})"
    else:
        word = "fewer" if gap < 0 else "more"
        size = "one" if abs(gap) == 1 else f"{abs(gap):,}"
        text = (
            f"{head}{size} {word} than {release.what} of {release.total:,} ({'; '.join(unequal)})"
        )
    if unequal and not release.certain:
        text += "; counts per domain are as commonly reported, and only the total is certain"
    remarks = [remark for remark in (release.remark, known.remark) if remark]
    return f"{'; '.join((text, *remarks))}."


def nearest(known: Known, pictures: dict[str, int]) -> Release:
    """The release whose total is nearest, and of those the one with the nearest domains."""
    counts = [pictures.get(domain, 0) for domain in known.domains]

    def away(release: Release) -> tuple[int, int]:
        apart = (abs(a - b) for a, b in zip(counts, release.counts, strict=True))
        return abs(sum(counts) - release.total), sum(apart)

    return min(known.releases, key=away)
