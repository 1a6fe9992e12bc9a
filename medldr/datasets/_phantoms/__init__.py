"""The parts of the two phantoms."""
