"""The logs of a Kubernetes' jobs, copied once while their pods are there, and read like those of the local cluster."""
