"""What a folder or a table says of its scans, before any is opened: one reader of each."""
