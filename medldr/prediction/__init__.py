"""Prediction on new items: read as in training, answered by one run or several, with warnings."""
