"""What a console is given by the place where it runs: a laptop or a cluster."""
