"""The objects of the cluster: reads, writes, the semantics of each verb, garbage collection."""
