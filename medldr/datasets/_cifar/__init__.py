"""The parts of the data set `cifar_lt`."""
