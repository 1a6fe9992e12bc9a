"""What is wrong with a configuration, in words: what is allowed, and what was probably meant."""
