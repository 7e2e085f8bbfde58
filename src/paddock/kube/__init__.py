"""Kubernetes as values: objects, selectors, patches, quantities, errors, times. Pure: no I/O, no clock, no randomness.

Objects are plain dictionaries with the API's JSON (`Manifest`); no package wraps them in classes.
"""
