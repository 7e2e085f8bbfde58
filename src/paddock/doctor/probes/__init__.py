"""What `paddock doctor --host` looks at: this machine and its peers, for `doctor.host` to judge. Not pure."""
