"""The pages: a run, a comparison, a sweep; each is a list of sections."""
