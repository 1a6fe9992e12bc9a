"""The parts of the data set `camelyon17`."""
