"""What runs of a cluster have written into a claim, read through a pod that has it mounted."""
