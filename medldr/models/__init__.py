"""Plug-ins: networks."""
