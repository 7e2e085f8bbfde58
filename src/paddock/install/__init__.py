"""What is put onto a cluster: definitions, the operator's objects and rights."""
