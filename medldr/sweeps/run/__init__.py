"""Starting the runs of a sweep and following them to their end."""
