"""One reader for NIfTI, DICOM, pictures and arrays: training, evaluation and prediction use it."""
