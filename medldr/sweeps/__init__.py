"""Sweeps: many runs from one file, started where they are missing, told in one table."""
