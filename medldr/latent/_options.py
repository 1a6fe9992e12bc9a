"""The options of LatentDR, defined once: their types, ranges and valid combinations.

The signature of `LatentDR` lists them with their defaults. A configuration derives its keys from
that signature and from `OPTIONS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

Degrade = Literal["attention", "pool", "gaussian", "none"]
Restore = Literal["attention", "none"]
TermName = Literal["degraded", "restored"]
Norm = Literal["post", "residual", "pre"]
Activation = Literal["relu", "gelu"]
DropoutPlace = Literal["attention", "mixing", "hidden", "output"]
SubsetPer = Literal["query", "batch"]
SubsetSize = Literal["random", "fixed"]

# Defaults that the operators share with the whole method.
HEADS: Final = 1
KEEP: Final = 0.5
DROPOUT: Final = 0.5
NORM: Final[Norm] = "post"
INCLUDE_QUERY: Final = True
SIGMA: Final = 1.0
ACTIVATION: Final[Activation] = "relu"
DROPOUT_AT: Final[tuple[DropoutPlace, ...]] = ("attention", "mixing", "hidden", "output")
SCALE_SCORES: Final = True
SUBSET_PER: Final[SubsetPer] = "query"
SUBSET_SIZE: Final[SubsetSize] = "random"


@dataclass(frozen=True)
class Option:
    """What the type of an option does not express.

    Attributes:
        meaning: What it is, in a few words.
        ge: It is at least this.
        gt: It is more than this.
        le: It is at most this.
        lt: It is less than this.
        stored: Its type in a file, where that is narrower than in a call.
    """

    meaning: str | None = None
    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None
    stored: Any = None

    def allows(self, value: float) -> bool:
        """Whether a number is in the range; NaN is in none."""
        return (
            (self.ge is None or value >= self.ge)
            and (self.gt is None or value > self.gt)
            and (self.le is None or value <= self.le)
            and (self.lt is None or value < self.lt)
        )

    @property
    def range(self) -> str:
        """The range in words.

        Example:
            >>> OPTIONS["keep"].range, OPTIONS["heads"].range
            ('in (0, 1]', 'at least 1')
        """
        if self.le is None and self.lt is None:
            return f"at least {self.ge}"
        low = f"({self.gt}" if self.ge is None else f"[{self.ge}"
        high = f"{self.lt})" if self.le is None else f"{self.le}]"
        return f"in {low}, {high}"


OPTIONS: Final[Mapping[str, Option]] = {
    "terms": Option("extra losses used", stored=tuple[TermName, ...]),
    "head_dim": Option("width of a head; unset: D/4 with attention, else D/32", ge=1),
    "ff_dim": Option("feed-forward width; unset: D/4 with attention, else D/8", ge=1),
    "heads": Option(ge=1),
    "keep": Option("pool: probability that a latent is averaged", gt=0, le=1),
    "include_query": Option("whether a query's set includes the query itself"),
    "dropout": Option(ge=0, lt=1),
    "share_classifier": Option("share one classifier among all terms"),
    "share_operators": Option("D and R are the same attention layer"),
    "weights": Option(
        "weights of the original, degraded and restored loss", stored=tuple[float, float, float]
    ),
    "sigma": Option("gaussian: standard deviation of the noise", ge=0),
    "activation": Option("between the two feed-forward maps"),
    "dropout_at": Option(
        "where dropout acts: attention weights, after mixing, inside and after the feed-forward",
        stored=tuple[DropoutPlace, ...],
    ),
    "scale_scores": Option("divide attention scores by the root of a head's width"),
    "subset_per": Option("pool: a subset for every query, or one for the whole batch"),
    "subset_size": Option("pool: every latent by chance, or a fixed share `keep` of the set"),
}


def check_ranges(**values: float) -> None:
    """Raise ValueError where an option is out of its range."""
    for name, value in values.items():
        option = OPTIONS[name]
        if not option.allows(value):
            raise ValueError(f"{name} should be {option.range}, but is {value}")


def check_word(name: str, value: str, words: Any) -> None:
    """Raise ValueError where an option is none of the words of a `Literal`."""
    allowed = get_args(words)
    if value not in allowed:
        raise ValueError(f"{name} should be one of {', '.join(allowed)}, but is {value!r}")


def check_options(
    *,
    degrade: str,
    restore: str,
    terms: Sequence[str],
    share_operators: bool,
    weights: Sequence[float],
    subset_per: str,
    subset_size: str,
) -> None:
    """Raise ValueError where options are unknown or do not fit together."""
    check_word("degrade", degrade, Degrade)
    check_word("restore", restore, Restore)
    for term in terms:
        check_word("terms", term, TermName)
    if not terms or len(set(terms)) < len(terms):
        raise ValueError(
            f"terms should name degraded, restored or both, each once, but is {list(terms)}; "
            "with no extra term this is plain training (erm)"
        )
    if "degraded" in terms and degrade == "none":
        raise ValueError(
            "terms has 'degraded', but degrade is 'none': choose a degradation (attention, pool, "
            "gaussian) or leave 'degraded' out of terms"
        )
    if "restored" in terms and restore == "none":
        raise ValueError(
            "terms has 'restored', but restore is 'none': set restore to 'attention' or leave "
            "'restored' out of terms"
        )
    if share_operators and (degrade != "attention" or "restored" not in terms):
        raise ValueError(
            "share_operators needs two attention operators: degrade 'attention' (it is "
            f"{degrade!r}) and 'restored' in terms (they are {list(terms)})"
        )
    if len(weights) != 3 or any(not 0 <= w < float("inf") for w in weights):
        raise ValueError(
            "weights should be three finite numbers of at least 0 (original, degraded, restored), "
            f"but is {list(weights)}"
        )
    if degrade != "pool" and (subset_per, subset_size) != (SUBSET_PER, SUBSET_SIZE):
        raise ValueError(
            f"subset_per and subset_size have no effect with degrade {degrade!r}, which draws no "
            "subset: omit them, or set degrade to 'pool'"
        )
