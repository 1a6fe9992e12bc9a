"""LatentDR, the method itself, in plain torch: it imports nothing else from medldr."""

from medldr.latent._options import OPTIONS, Option, check_options
from medldr.latent._targets import label_entropy, mean_label
from medldr.latent._views import Term, Views
from medldr.latent.degradation import AttentionDegradation, GaussianDegradation, PoolDegradation
from medldr.latent.latentdr import LatentDR
from medldr.latent.restoration import AttentionRestoration

__all__ = [
    "OPTIONS",
    "AttentionDegradation",
    "AttentionRestoration",
    "GaussianDegradation",
    "LatentDR",
    "Option",
    "PoolDegradation",
    "Term",
    "Views",
    "check_options",
    "label_entropy",
    "mean_label",
]
