"""Admission: defaults, validation and warnings before an object is stored."""
