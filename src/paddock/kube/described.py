"""Annotations by which people say what an object is to them. They decide nothing, and give nobody a right. Pure."""

from __future__ import annotations

from collections.abc import Mapping

DESCRIPTION_ANNOTATION = "kubernetes.io/description"
"""What it is, of Kubernetes' well-known annotations."""
NOTE_ANNOTATION = "paddock.dev/note"
"""On jobs: what a person wrote about it, at most 4,000 characters."""
TAGS_ANNOTATION = "paddock.dev/tags"
"""On jobs: words by which it is found again, separated by commas; at most 16, of 1 to 40 characters each."""
OWNER_ANNOTATION = "paddock.dev/owner"
"""On jobs: whose it is, as whoever created it wrote."""
CREATED_BY_ANNOTATION = "paddock.dev/created-by"
"""On jobs: who submitted it, the user as the API names it, or on a laptop the login (`jobs.people`). Paddock writes
it."""
_LONGEST_OWNER = 253


def read_owner(annotations: Mapping[str, str]) -> str:
    """Empty where nobody said."""
    return annotations.get(OWNER_ANNOTATION, "").strip()[:_LONGEST_OWNER]


def read_creator(annotations: Mapping[str, str]) -> str:
    """Who submitted the job, as one short line; empty where nobody said."""
    return " ".join(annotations.get(CREATED_BY_ANNOTATION, "")[: 4 * _LONGEST_OWNER].split())[:_LONGEST_OWNER]
