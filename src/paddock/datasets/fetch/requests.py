"""What this process is asked for: from standard input, or from the variables of a Job's pod."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import msgspec

from paddock.datasets.fetch.failures import FetchError
from paddock.datasets.fetching import REQUEST_VARIABLE, Fault, Request
from paddock.words.phrases import phrase

SECRET_PREFIX = "PADDOCK_FETCH_SECRET_"  # noqa: S105
"""Before each key of the Secret, in a Job's pod: PADDOCK_FETCH_SECRET_accessKeyID. An empty one is as none."""

TERMINATION_VARIABLE = "PADDOCK_FETCH_TERMINATION"
"""Names a file for the last report: the termination message of a pod."""


def read_request(environ: Mapping[str, str]) -> Request:
    """Raises `FetchError` for what is none."""
    text = environ[REQUEST_VARIABLE].encode() if REQUEST_VARIABLE in environ else sys.stdin.buffer.read()
    try:
        request = msgspec.json.decode(text, type=Request)
    except (msgspec.DecodeError, UnicodeError) as error:
        said = phrase("a fault of Paddock: the request to fetch cannot be read ({why})", why=str(error))
        raise FetchError(said, Fault.MACHINE) from None
    given = {key.removeprefix(SECRET_PREFIX): value for key, value in environ.items() if key.startswith(SECRET_PREFIX)}
    secret = {key: value for key, value in {**given, **request.secret}.items() if value}
    return msgspec.structs.replace(request, secret=secret)
