"""Plug-ins: the datasets."""
