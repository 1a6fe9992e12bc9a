"""The loop, on Lightning Fabric."""
