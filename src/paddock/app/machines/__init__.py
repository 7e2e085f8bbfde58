"""Machines that are reached by the user's own ssh. What is asked of them, and what it means, is in `places.bare`."""
