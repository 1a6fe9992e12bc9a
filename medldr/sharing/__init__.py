"""What may leave the house: runs without the names of people, files and machines."""
