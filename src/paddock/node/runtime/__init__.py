"""The container runtime: containers as processes, with sandboxes, mounts, addresses, logs and records."""
