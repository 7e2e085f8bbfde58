"""Tests of what the operator promises, in both worlds (`world` of tests/conftest.py)."""
