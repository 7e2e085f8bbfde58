"""The manager of a job that Paddock leaves to somebody else (`jobs.manager`), in words. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.jobs.manager import find_other_manager
from paddock.words.phrases import Phrase, phrase


def explain_manager(manifest: Mapping[str, Any]) -> Phrase | None:
    """`managed by …, not by Paddock`; None for Paddock's own jobs."""
    manager = find_other_manager(manifest)
    return phrase("managed by {manager}, not by Paddock", manager=manager) if manager else None
