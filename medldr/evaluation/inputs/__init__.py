"""What a network was given: its images described, controls, and images unlike them."""
