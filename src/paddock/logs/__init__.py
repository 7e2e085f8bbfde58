"""Progress and error lines in the log of a training program."""
