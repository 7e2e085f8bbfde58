"""The packages of frameworks among requirements, and what their wheels forget to require. Pure."""
