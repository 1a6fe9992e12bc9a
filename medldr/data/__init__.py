"""From a table of images to batches: splits, samplers, loaders, downloads."""
