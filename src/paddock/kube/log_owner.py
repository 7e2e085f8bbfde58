"""Whose logs a directory has: written beside them by the node, read by who keeps and prunes them after the pod is gone.

    <directory>/NAMESPACE_POD_UID/.owner.json     one `LogOwner`

The node writes it (`node.runtime.logs`) and `history` reads it; neither knows the other, so what they share is here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

OWNER_FILE = ".owner.json"
LARGEST_OWNER = 4 * 2**20
"""Bytes that are read of it: the labels of a pod, whose object has 3 MiB at most."""


@dataclass(frozen=True, slots=True)
class LogOwner:
    """The controller of a pod whose logs are kept, and of the pod what a reader needs when it is gone: its name, its
    labels, and the container that `kubectl logs` reads. A node of an older Paddock wrote the controller alone."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    pod: str = ""
    container: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
