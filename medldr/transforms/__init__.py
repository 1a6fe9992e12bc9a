"""Plug-ins: pixel rules (presets) and lists of MONAI transforms."""
