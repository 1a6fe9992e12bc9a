"""Packs: a data set's pixels in one memory-mapped array."""
