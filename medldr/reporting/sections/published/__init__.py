"""Tables of our numbers next to those that others have published."""
