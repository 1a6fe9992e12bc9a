"""From a sweep file to its runs; nothing here reads a run folder or starts anything."""
