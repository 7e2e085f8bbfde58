"""Tests of the operator's guarantees, in both worlds (`world` of tests/conftest.py)."""
