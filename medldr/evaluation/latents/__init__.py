"""The latents of a run: of its images, and what its degradation and restoration make of them."""
