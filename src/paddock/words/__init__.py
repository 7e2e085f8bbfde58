"""Sentences for people, in their language: phrases, catalogues, problems and the texts of others. Pure.

Below all rooms that speak, so that none needs to know another's to say what it does.
"""
