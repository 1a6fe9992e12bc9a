"""The sections of pages, one file each: results become tables and sentences."""
