"""The parts of the data set `medmnist`."""
