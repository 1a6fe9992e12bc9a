"""Folders of runs and sweeps, each file read once, with no id of a patient left in."""
