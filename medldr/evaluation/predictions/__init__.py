"""Predictions: made by a model, stored on disk, written for benchmarks."""
