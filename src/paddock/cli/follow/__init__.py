"""Following a job to its end: status, logs, the building of its environment, giving up."""
