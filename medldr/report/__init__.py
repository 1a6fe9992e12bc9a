"""Run folders to tables and self-contained pages."""
