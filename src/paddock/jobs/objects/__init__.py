"""The Kubernetes objects of a job: built from it, and read back."""
