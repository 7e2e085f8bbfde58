"""What becomes of checked documents on this machine before they are sent: the one path of `paddock run`, `submit`, the
Python calls and the console's form."""
