"""Device, processes, signals and progress of a run."""
