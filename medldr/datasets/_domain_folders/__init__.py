"""The parts of the data set `domain_folders`."""
