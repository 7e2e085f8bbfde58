"""What the ranks of jobs use, for the console: recorded on a laptop, sampled on a cluster."""
