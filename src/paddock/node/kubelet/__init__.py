"""The kubelet: reconciles the pods of this machine, their status and their events."""
