"""Sweeps: many runs from one file; missing ones are started, all are reported in one table.

`plan` expands a sweep file into runs and touches nothing; `launch`, the `scheduler` and the
`launchers` start them as processes; `status` shows how far they are. A run and its sweep
communicate only through files.
"""
