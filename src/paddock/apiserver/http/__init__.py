"""The HTTP server: requests, responses, watch streams, certificates and tokens.

Its modules need aiohttp, whose first import is here, before any of theirs.
"""

from paddock.aiohttp_import import without_certificates

with without_certificates():
    pass
