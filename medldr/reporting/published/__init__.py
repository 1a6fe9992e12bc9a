"""Numbers that others have published, and how ours relate to them."""
