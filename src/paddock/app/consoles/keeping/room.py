"""How much may be kept on the disk of a claim. Pure.

What is asked for (`--keep-logs`) may be more than the claim has: then the oldest go first all the same, before the disk
is full, as a full disk takes no line of a job that runs.
"""

from __future__ import annotations

from dataclasses import replace

from paddock.history.retention import Limits

FREE_PART = 10
"""The part of a disk that stays free: records, and what is printed until the next pruning."""
LARGEST_PART = 20
"""The part of all room that one log may have, at least `LEAST_EACH`."""
LEAST_EACH = 64 * 2**20


def fit(limits: Limits, taken: int, free: int) -> Limits:
    """The limits that hold on this disk. `taken`: bytes of the logs; `free`: bytes that the disk has left."""
    return replace(limits, bytes=max(0, min(limits.bytes, taken + free - (taken + free) // FREE_PART)))


def bound_log(limits: Limits) -> int:
    """Bytes of one log that are kept."""
    return max(LEAST_EACH, limits.bytes // LARGEST_PART)
