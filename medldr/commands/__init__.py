"""The longer commands, one file each; `medldr.cli` imports one only when it runs."""
