"""What a manifest becomes before it is sent, and what is wrong with it: for the command line, Python, the console."""
