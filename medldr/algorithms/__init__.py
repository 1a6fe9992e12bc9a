"""Plug-ins: training algorithms, one file each."""
