"""From stored pixels to batches: order, samplers, workers."""
