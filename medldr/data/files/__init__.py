"""One image class and one set of rules for NIfTI, DICOM, pictures and arrays.

`read` reads any item as a `scan`, `rules` decides for a whole data set how scans become images,
`image` makes them. Training, checks and prediction go the same way.
"""
