"""Figures of latents: what a run's network makes of its images."""
