"""The name of a job from the name of its script. Pure.

The names of a job's pods and Services begin with it, so it is a DNS-1035 label, and short enough to stay readable.
"""

from __future__ import annotations

import re
from hashlib import sha256

LONGEST = 40
"""Characters of a name that is made here; with a role and an index it fits a host name of 63."""
_DIGITS = 6


def build_name(text: str) -> str:
    """`Train_V2` -> `train-v2`, `训练` -> `job-` and a hash. A hash is added where letters or length are lost, so that
    two scripts do not share a name by accident."""
    lost = not text.isascii() or len(text) > LONGEST
    plain = re.sub(r"[^a-z0-9]+", "-", text.lower() if text.isascii() else _ascii(text)).strip("-")
    begun = plain if plain[:1].isalpha() else f"job-{plain}".rstrip("-")
    if not lost:
        return begun
    digest = sha256(text.encode(errors="surrogateescape")).hexdigest()[:_DIGITS]
    return f"{begun[: LONGEST - _DIGITS - 1].rstrip('-')}-{digest}"


def _ascii(text: str) -> str:
    return "".join(each if each.isascii() else "-" for each in text).lower()


def build_secret_name(job: str) -> str:
    """The Secret of a job's --env-file and --secret."""
    return f"{job}-env"
