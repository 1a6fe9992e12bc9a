"""How a run is started: forked or by itself on this machine, or as a job of a cluster."""
