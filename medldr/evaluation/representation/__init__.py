"""What latents are like: plain numbers of arrays; nothing here reads a file or knows torch."""
