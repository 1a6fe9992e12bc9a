"""Sections of the page of `medldr analyze`, one per topic."""
