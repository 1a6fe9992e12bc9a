"""LatentDR, the method itself, in plain torch."""
