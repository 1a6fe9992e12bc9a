"""Metrics, calibration, intervals and comparison."""
