"""How a run is started: forked or as a new process on this machine, or as a cluster job."""
