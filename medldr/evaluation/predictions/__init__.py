"""Predictions: made by a model, kept on disk, written for benchmarks."""
