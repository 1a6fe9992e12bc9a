"""One metric: what it is called, what it is computed by, and how it is printed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """One metric.

    Attributes:
        name: Its key in `evaluation.json`.
        title: Its name in tables and figures.
        meaning: One plain sentence for the glossary of a page.
        percent: Printed as a percentage with one decimal, else as a number with three.
        better: ``higher``, ``lower``, or empty where neither is better.
        definition: How it is computed, as written to `evaluation.json`.
        function: Where it is computed, in `medldr.evaluation.metrics`: ``counts.decisions``. Empty
            where it is derived from other metrics.
        tasks: Kinds of labels that it is defined for.
        levels: What it is reported for: ``split``, ``class``, ``domain``.
        undefined: Why it has no value where the labels are known.
        cards: Tasks for which it is among the few large numbers of a page.
        range: The lowest and the highest value that it can have.
        calibration: Whether it evaluates the probabilities rather than the predicted classes.
        share: What it is a share of, if it is a count over a count: ``items``, those of a ``class``
            or ``decided`` as it, all ``positives`` or ``negatives``, those ``flagged`` or
            ``cleared`` at the threshold. Its interval is Wilson's, of ``items`` where few are right
            or wrong.
        area: Whether it is an area under a curve, whose interval is made on the logit scale.
        mean_share: Whether it is made of shares without being one itself, such as a mean recall.
        ratio: Of a likelihood ratio: the share of positives that are ``flagged`` or ``cleared`` at
            the threshold, over that of negatives. It is infinite in samples without the latter.
        biased: Whether a finite sample inflates it: it has no interval, but a noise floor.
        threshold: Whether it needs a threshold from the validation split.
        shots: Whether it needs the training images of each class and is asked for by
            ``evaluation.shots``.
        published: Whether published tables report it.
        selects: Whether ``training.select`` can name it.
        over_domains: Whether it is a mean over domains.
        short: Its title for a narrow terminal; empty: the title.
        aliases: Other keys that mean it.
    """

    name: str
    title: str
    meaning: str
    percent: bool = False
    better: str = "higher"
    definition: str = ""
    function: str = ""
    tasks: tuple[str, ...] = ()
    levels: tuple[str, ...] = ("split",)
    undefined: str = ""
    cards: tuple[str, ...] = ()
    range: tuple[float, float] = (0.0, 1.0)
    calibration: bool = False
    share: str = ""
    area: bool = False
    mean_share: bool = False
    ratio: str = ""
    biased: bool = False
    threshold: bool = False
    shots: bool = False
    published: bool = False
    selects: bool = False
    over_domains: bool = False
    short: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def on_logit(self) -> bool:
        """Whether a mean over seeds has its interval on the logit scale.

        Example:
            >>> from medldr.metrics import metric_facts
            >>> [metric_facts(name).on_logit for name in ("accuracy", "auc", "macro_f1")]
            [True, True, False]
        """
        return self.area or self.mean_share or bool(self.share)

    @property
    def span(self) -> float:
        """The largest difference that two of its values can have."""
        return self.range[1] - self.range[0]

    @property
    def heading(self) -> str:
        """Title with its unit.

        Example:
            >>> from medldr.metrics import metric_facts
            >>> metric_facts("accuracy").heading, metric_facts("auc").heading
            ('Accuracy (%)', 'AUC')
        """
        return f"{self.title} (%)" if self.percent else self.title

    @property
    def short_heading(self) -> str:
        """Heading for a narrow terminal.

        Example:
            >>> from medldr.metrics import metric_facts
            >>> metric_facts("mae").short_heading, metric_facts("accuracy").short_heading
            ('Abs. error', 'Accuracy (%)')
        """
        if not self.short:
            return self.heading
        return f"{self.short} (%)" if self.percent else self.short

    def show(self, value: float) -> str:
        """Print a value in this metric's unit.

        Example:
            >>> from medldr.metrics import metric_facts
            >>> metric_facts("accuracy").show(0.7349), metric_facts("auc").show(0.5)
            ('73.5', '0.500')
        """
        text = f"{100 * value:.1f}" if self.percent else f"{value:.3f}"
        if not text.startswith("-"):
            return text
        return f"−{text[1:]}" if text.strip("-0.") else text[1:]

    def with_unit(self, value: float) -> str:
        """Print a value as it is written in a sentence.

        Example:
            >>> from medldr.metrics import metric_facts
            >>> metric_facts("accuracy").with_unit(0.7349), metric_facts("auc").with_unit(0.5)
            ('73.5%', '0.500')
        """
        return f"{self.show(value)}%" if self.percent else self.show(value)

    def show_difference(self, value: float) -> str:
        """Print a difference with its sign, a real minus and no hyphen, as wide as a plus.

        Example:
            >>> from medldr.metrics import metric_facts
            >>> accuracy, ece = metric_facts("accuracy"), metric_facts("ece")
            >>> accuracy.show_difference(0.05), ece.show_difference(-0.01)
            ('+5.0', '−0.010')
        """
        text = self.show(value)
        return text if text.startswith("−") else f"+{text}"
