"""Kubernetes as values: objects, selectors, patches, quantities, errors, times. Pure: no I/O, no clock, no randomness.

Objects are plain dictionaries, just as the API speaks them (`Manifest`); nothing here or above wraps them in classes.
"""
