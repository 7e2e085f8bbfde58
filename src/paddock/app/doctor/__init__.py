"""What `paddock doctor` looks at: this machine and its peers (`host`), for `jobs.doctor` to judge."""
