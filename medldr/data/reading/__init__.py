"""Pictures that are read on demand, new items for a trained network, and downloads."""
