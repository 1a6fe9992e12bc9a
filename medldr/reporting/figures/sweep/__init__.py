"""Figures of a sweep: what it costs, where it helps, how large a batch has to be."""
