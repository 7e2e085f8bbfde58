"""Curves of what ranks printed and used, with as many points as a screen has."""
