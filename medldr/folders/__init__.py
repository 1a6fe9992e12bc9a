"""Run folders and sweep folders: their files, their records, and who may write them."""
