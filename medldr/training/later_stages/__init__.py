"""What follows the training of the whole network: `training.stages`."""
