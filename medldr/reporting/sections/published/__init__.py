"""Tables of our numbers beside those that others have published."""
