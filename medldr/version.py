"""The version of medldr, where any part of it may read it."""

__version__ = "0.1.0"
