"""Finished runs side by side: means, intervals, paired differences."""
