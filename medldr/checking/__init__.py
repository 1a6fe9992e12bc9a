"""A look at a whole data set before anything is trained on it."""
