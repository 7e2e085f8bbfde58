"""The command line: one file for each verb, thin over `app`, `client` and `jobs`."""
