"""How a job ended, for programs: a webhook, a command, a Python call. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class End:
    """How a followed job ended."""

    job: str
    namespace: str
    phase: str
    """`Completed`, `Failed`, `Cancelled`; `Suspended` where it was given up or --timeout was over, `Interrupted` where
    the user ended it, `Unknown` where it could not be followed to its end."""
    cause: str
    """A sentence; empty for a job that completed and of which no rank failed, nor by what its launcher said."""
    seconds: float
    """Seconds from the submission to the end."""
