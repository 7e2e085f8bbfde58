"""Verbs that look and change nothing: what is wrong, and what mends it."""
