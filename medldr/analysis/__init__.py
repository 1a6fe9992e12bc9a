"""What a method does to latents: runs are read, measured, and shown on one page."""
