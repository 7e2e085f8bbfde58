"""Images of containers without a container engine: a base image, and layers with packages and code, in a registry.

`references`, `challenges`, `manifests`, `contents` and `platforms` decide and are pure; `registry` speaks HTTP (the OCI
distribution specification 1.1, and Docker's manifests of schema 2), `layers` reads and writes archives, `packages` runs
uv. `base` reads what lies below, `building` makes what is added, `sending` puts both into the registry. Knows no jobs.
"""
