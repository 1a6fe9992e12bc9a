"""Sections of the page of a comparison, and what a sweep's page shares with it."""
