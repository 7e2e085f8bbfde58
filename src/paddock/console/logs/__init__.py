"""Logs as they are looked at: lanes of ranks, colours, what is found in them."""
