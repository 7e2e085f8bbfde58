"""Storage: the store, its changelog and the watch hub."""
