"""Every metric as a function of predictions."""
