"""Which weights a run keeps: selection rules and averages."""
