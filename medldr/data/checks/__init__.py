"""Looking at the images of a data set before anything is trained on them."""
