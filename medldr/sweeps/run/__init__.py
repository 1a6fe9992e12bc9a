"""Starting the runs of a sweep and following them until they end."""
