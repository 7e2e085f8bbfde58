"""The value of the label by which the objects made for a Dataset are found. Pure."""

from __future__ import annotations

import hashlib

from paddock.kube.datasets import LABEL

_LONGEST = 63


def build_labels(dataset: str) -> dict[str, str]:
    return {LABEL: build_label(dataset), "app.kubernetes.io/managed-by": "paddock"}


def build_label(dataset: str) -> str:
    """A name has up to 253 characters, a label's value 63."""
    return dataset if len(dataset) <= _LONGEST else shorten(dataset, _LONGEST)


def shorten(name: str, longest: int) -> str:
    """The beginning of a name and a digest of the whole, so that two long names stay two."""
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{name[: longest - 9].rstrip('-.')}-{digest}"
