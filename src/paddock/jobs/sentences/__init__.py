"""Sentences for users, built from values, in English and Chinese."""
