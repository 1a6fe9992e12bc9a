"""What a resumed run needs to continue bit for bit."""
