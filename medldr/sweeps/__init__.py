"""Sweeps: many runs from one file, started where they are missing, told in one table.

`file` and `expand` make runs of a sweep file and touch nothing; `launch`, `scheduler` and the
launchers `local` and `slurm` run them as processes; `status` tells how far they are. A run and its
sweep meet only through files.
"""
