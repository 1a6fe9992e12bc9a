"""Figures, drawn as SVG."""
