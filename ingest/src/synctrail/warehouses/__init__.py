"""The warehouses that a load can go to."""
