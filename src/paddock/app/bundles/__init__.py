"""Bundles: what is known of one job, in one file that another machine can read."""
