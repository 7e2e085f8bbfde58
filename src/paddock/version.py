"""The version of Paddock. Here and not in the package itself, which names the Python calls, so that no module leans on
what leans on it."""

__version__ = "0.1.0"
