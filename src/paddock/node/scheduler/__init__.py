"""The scheduler: its loop, the placement of pods on nodes, and capacity, gangs and constraints."""
