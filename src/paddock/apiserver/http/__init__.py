"""The HTTP server: requests, responses, watch streams, certificates and tokens."""
