"""The text of data sets of a user's own: a table, an archive of arrays or a tree of folders."""
