"""What a network saw: heat maps, and its most confident mistakes."""
