"""Jobs from Python, as in a notebook: `paddock.run` and `paddock.train`, over the same path as the command line."""
