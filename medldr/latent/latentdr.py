"""LatentDR: degrade latents by their batch, restore them, and classify all three alike.

Works in anybody's training loop::

    aug = LatentDR(dim=512, num_classes=11, degrade="pool")   # give its parameters to the optimizer
    z = encoder(images)
    loss = aug.loss(z, labels, classifier)                    # classifier: any callable z -> logits

Prediction stays ``classifier(encoder(images))``; nothing here is needed for it.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from medldr.latent import _options as option
from medldr.latent._layer import check_latents
from medldr.latent._operators import build_operators
from medldr.latent._options import (
    Activation,
    Degrade,
    DropoutPlace,
    Norm,
    Restore,
    SubsetPer,
    SubsetSize,
    TermName,
    check_options,
)
from medldr.latent._targets import classification_loss, mean_label
from medldr.latent._views import Classifier, Criterion, Term, Views


class LatentDR(nn.Module):
    """Latent degradation and restoration as an augmentation of a batch of latents.

    With ``z_d = D(z)`` and ``z_r = R(z_d, z)`` the loss is
    ``l(g(z), y) + l(g(z_d), m) + l(g(z_r), y)``, where ``m`` is the mean of the batch's one-hot
    (or multi-hot) labels and ``g`` the one classifier that is also used for prediction.

    Args:
        dim: Latent size ``D``.
        num_classes: Number of logits ``K``.
        multi_label: Labels are ``(B, K)`` multi-hot, with NaN where missing, and each is decided
            by itself (sigmoid); otherwise they exclude each other (softmax).
        degrade: ``attention`` (the paper's SA), ``pool``, ``gaussian`` or ``none``.
        restore: ``attention`` or ``none``. R is built only where the term ``restored`` uses it,
            and D only where a term uses it.
        terms: The extra losses used: ``degraded``, ``restored`` or both.
        head_dim: Width of each attention head.
        ff_dim: Width of the feed-forward parts.
        heads: Number of attention heads.
        keep: Pool: probability of each latent to enter a query's own random subset.
        include_query: Whether the set of a query holds the query itself.
        dropout: Rate of dropout.
        norm: Order of the layer norms: ``post``, ``residual`` or ``pre``.
        share_classifier: Whether one classifier serves all terms. If not, a linear one of its
            own serves the extra terms (`own_classifier`).
        share_operators: Whether D and R are one and the same attention layer.
        weights: Factors of the original, degraded and restored term.
        sigma: Gaussian: standard deviation of the noise.
        activation: Between the two feed-forward maps: ``relu`` or ``gelu``.
        dropout_at: Where dropout acts: on the ``attention`` weights, after ``mixing``, on the
            ``hidden`` layer of the feed-forward part and on its ``output``.
        scale_scores: Whether attention scores are divided by the root of a head's width.
        subset_per: Pool: ``query`` or ``batch``, for each of which a subset is drawn.
        subset_size: Pool: ``random``, or ``fixed`` to the share ``keep`` of the set.

    Shape:
        - ``z``: ``(B, D)``, all latents of one batch; its rows are one set.
        - Labels: ``(B,)`` int64 class numbers; ``(B, K)`` float, soft or multi-hot.

    Raises:
        ValueError: If an option is unknown, out of range or does not fit the others, or an
            input has the wrong shape.

    Source:
        "LatentDR" (method section, appendix), whose authors published no code. Option by option:

        * ``degrade``, ``restore``: the paper's SA, Pool and Gaussian; cross-attention.
        * ``terms``: "only" in the paper's ablation means one loss alone. D-only is
          ``["degraded"]``; R-only is ``["restored"]`` with degrade ``none``, which is
          BatchFormer's form. Gaussian D-only, R-only and D+R are degrade ``gaussian`` with
          ``["degraded"]``, ``["restored"]`` and both.
        * ``head_dim``, ``ff_dim``: the paper's: SA ``dim / 4`` twice; Pool R ``dim / 32``, D and R
          ``dim / 8``. With ``gaussian`` and ``none`` R has Pool's widths, because the ablation
          with these methods uses the Pool form (our reading). ``heads`` 1, biases
          everywhere, ``activation`` ReLU and torch's default initialisation are our choice; the
          paper names no activation.
        * ``keep``: 0.5, at least one, drawn for every query; the paper says only that a different
          subset is taken, which may also mean one for each batch (``subset_per``) or of a fixed
          size (``subset_size``). In eval mode the whole set is averaged and no noise is drawn.
        * ``scale_scores``: true, our choice: the paper prints ``1 / sqrt(d_k)`` in its background
          section and leaves it out where it defines the restoration.
        * ``include_query``: true as in the pseudocode; false as in the text ("the remaining
          samples"), and one sample alone is then an error.
        * ``dropout``: 0.5 is the paper's; where it acts is not said. ``dropout_at``: our choice,
          everywhere that torch's TransformerEncoderLayer has it.
        * ``norm``: ``post`` is eq. msa-1, the paper's for domain generalization and medical
          images; ``residual`` is eq. msa-2 as printed, ``LN(Z) + Attn(Z)``, its choice for the
          long tail; ``pre`` is ``Z + Attn(LN(Z))``, as its prose describes msa-2.
        * ``share_classifier``: true is the paper's; false is its ablation, with a freshly
          initialised linear classifier.
        * ``share_operators``: false, our choice; a commented line of the paper's source says that
          SA's operators were shared, which does no harm; its printed text does not mention it.
          ``weights``: (1, 1, 1). ``sigma``: 1.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> aug, classifier = LatentDR(dim=16, num_classes=3), nn.Linear(16, 3)
        >>> z, y = torch.randn(8, 16), torch.tensor([0, 1, 2, 0, 1, 2, 0, 1])
        >>> aug(z).restored.shape
        torch.Size([8, 16])
        >>> aug.loss(z, y, classifier).shape
        torch.Size([])
    """

    def __init__(
        self,
        dim: int,
        num_classes: int,
        *,
        multi_label: bool = False,
        degrade: Degrade = "attention",
        restore: Restore = "attention",
        terms: Sequence[TermName] = ("degraded", "restored"),
        head_dim: int | None = None,
        ff_dim: int | None = None,
        heads: int = option.HEADS,
        keep: float = option.KEEP,
        include_query: bool = option.INCLUDE_QUERY,
        dropout: float = option.DROPOUT,
        norm: Norm = option.NORM,
        share_classifier: bool = True,
        share_operators: bool = False,
        weights: Sequence[float] = (1.0, 1.0, 1.0),
        sigma: float = option.SIGMA,
        activation: Activation = option.ACTIVATION,
        dropout_at: Sequence[DropoutPlace] = option.DROPOUT_AT,
        scale_scores: bool = option.SCALE_SCORES,
        subset_per: SubsetPer = option.SUBSET_PER,
        subset_size: SubsetSize = option.SUBSET_SIZE,
    ) -> None:
        super().__init__()
        check_options(
            degrade=degrade,
            restore=restore,
            terms=terms,
            share_operators=share_operators,
            weights=weights,
            subset_per=subset_per,
            subset_size=subset_size,
        )
        if num_classes < 1:
            raise ValueError(f"num_classes should be at least 1, but is {num_classes}")
        self.dim = dim
        self.num_classes = num_classes
        self.multi_label = multi_label
        self.terms = tuple(terms)
        self.weights = tuple(float(w) for w in weights)
        self.degradation, self.restoration = build_operators(
            dim,
            degrade=degrade,
            restored="restored" in self.terms,
            share_operators=share_operators,
            head_dim=head_dim,
            ff_dim=ff_dim,
            sigma=sigma,
            layer={
                "dropout": dropout,
                "norm": norm,
                "include_query": include_query,
                "activation": activation,
                "dropout_at": dropout_at,
            },
            attention={"heads": heads, "scale_scores": scale_scores},
            subset={"keep": keep, "subset_per": subset_per, "subset_size": subset_size},
        )
        self.own_classifier: nn.Module | None = (
            None if share_classifier else nn.Linear(dim, num_classes)
        )

    def draw(
        self,
        z: Tensor,
        z_set: Tensor | None = None,
        *,
        own: Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor | None:
        """What the degradation draws for these latents: Pool's subsets, Gaussian's noise.

        Args:
            z: ``(B, D)`` queries.
            z_set: ``(N, D)`` set; the batch itself by default.
            own: ``(B,)`` column of each query in ``z_set``.
            generator: Source of randomness; torch's global one by default.

        Returns:
            ``(B, N)`` bool, ``(B, D)`` noise, or None where there is nothing to draw.
        """
        if self.degradation is None:
            return None
        return self.degradation.draw(z, z_set, own=own, generator=generator)

    def forward(
        self,
        z: Tensor,
        z_set: Tensor | None = None,
        *,
        own: Tensor | None = None,
        drawn: Tensor | None = None,
    ) -> Views:
        """Degraded and restored latents of a batch.

        Args:
            z: ``(B, D)`` queries.
            z_set: ``(N, D)`` set they are mixed with; the batch itself by default. With several
                processes: the latents of all of them.
            own: ``(B,)`` column of each query in a set given apart; needed where
                ``include_query`` is false, unless the set holds none of the queries.
            drawn: What `draw` returned for the same arguments; a new draw by default (in eval
                mode: no noise, and the whole set is averaged).
        """
        check_latents("z", z, self.dim)
        if z_set is None:
            z_set, own = z, torch.arange(len(z), device=z.device)
        z_d = z if self.degradation is None else self.degradation(z, z_set, own=own, drawn=drawn)
        z_r = None if self.restoration is None else self.restoration(z_d, z_set, own=own)
        return Views(z_d if "degraded" in self.terms else None, z_r)

    def extra_terms(
        self,
        z: Tensor,
        y: Tensor,
        classifier: Classifier,
        *,
        criterion: Criterion | None = None,
        degraded_criterion: Criterion | None = None,
        soft_label: Tensor | None = None,
        z_set: Tensor | None = None,
        own: Tensor | None = None,
        drawn: Tensor | None = None,
    ) -> dict[str, Term]:
        """The degraded and restored terms in use, by name, unweighted.

        Args:
            z: ``(B, D)`` latents.
            y: Labels of the same samples.
            classifier: Serves these terms too, unless `share_classifier` is false.
            criterion: Mean classification loss; cross-entropy (multi-label: binary) by default.
            degraded_criterion: That of the degraded term, where it differs.
            soft_label: ``(K,)`` target of the degraded term; the mean label of ``y`` by default.
            z_set: As in `forward`.
            own: As in `forward`.
            drawn: As in `forward`.
        """
        criterion = self._criterion if criterion is None else criterion
        classify = classifier if self.own_classifier is None else self._classify
        views = self(z, z_set, own=own, drawn=drawn)
        found: dict[str, Term] = {}
        if views.degraded is not None:
            if soft_label is None:
                soft_label = mean_label(y, self.num_classes)
            logits = classify(views.degraded)
            judge = criterion if degraded_criterion is None else degraded_criterion
            found["degraded"] = Term(logits, judge(logits, soft_label.expand(len(z), -1)))
        if views.restored is not None:
            logits = classify(views.restored)
            found["restored"] = Term(logits, criterion(logits, y))
        return found

    def total(self, original: Tensor, terms: dict[str, Term]) -> Tensor:
        """Weighted sum of the original loss and the extra terms."""
        factor = dict(zip(("original", "degraded", "restored"), self.weights, strict=True))
        loss = factor["original"] * original
        for name, term in terms.items():
            loss = loss + factor[name] * term.loss
        return loss

    def loss(
        self,
        z: Tensor,
        y: Tensor,
        classifier: Classifier,
        *,
        criterion: Criterion | None = None,
        z_set: Tensor | None = None,
        own: Tensor | None = None,
        soft_label: Tensor | None = None,
        drawn: Tensor | None = None,
    ) -> Tensor:
        """The weighted sum of the original, degraded and restored terms (scalar, float32).

        Args:
            z: ``(B, D)`` latents, attached.
            y: ``(B,)`` class numbers; ``(B, K)`` soft labels; with `multi_label` ``(B, K)``
                multi-hot with NaN for missing entries.
            classifier: Any callable from latents to logits.
            criterion: As in `extra_terms`.
            z_set: As in `forward`.
            own: As in `forward`.
            soft_label: As in `extra_terms`; with a set given apart, the mean label of that set.
            drawn: As in `forward`.
        """
        criterion = self._criterion if criterion is None else criterion
        original = criterion(classifier(z), y)
        terms = self.extra_terms(
            z,
            y,
            classifier,
            criterion=criterion,
            soft_label=soft_label,
            z_set=z_set,
            own=own,
            drawn=drawn,
        )
        return self.total(original, terms)

    def _classify(self, z: Tensor) -> Tensor:
        assert self.own_classifier is not None
        with torch.autocast(z.device.type, enabled=False):
            logits: Tensor = self.own_classifier(z.to(next(self.own_classifier.parameters()).dtype))
        return logits

    def _criterion(self, logits: Tensor, target: Tensor) -> Tensor:
        return classification_loss(logits, target, self.num_classes, self.multi_label)
