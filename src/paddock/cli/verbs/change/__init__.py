"""Verbs that change jobs that are there: one module each, as in the folder above."""
