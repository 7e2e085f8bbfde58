"""The figures of docs/benchmarks.md, each a module of its own: `python -m benchmarks [NAME...] [--write]`."""
