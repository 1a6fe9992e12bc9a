"""Images of scans, kept once they are read."""
