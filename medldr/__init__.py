"""medldr: image classifiers that must hold up in a hospital they have never seen."""

__version__ = "0.1.0"
