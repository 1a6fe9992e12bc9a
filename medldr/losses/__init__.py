"""Plug-ins: classification losses; all take soft labels."""
