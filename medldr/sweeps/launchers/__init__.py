"""How a run is started: as a process of this machine, or as a job of a cluster."""
