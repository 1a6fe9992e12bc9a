"""The numbers of a report: comparisons, means, choices. No text."""
