"""A served kind: its names, schema, subresources and printer columns.

Built-in kinds are listed in `kinds.built_ins`, custom ones are read from their CRDs in `kinds.custom`;
`kinds.registry.Registry` joins the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paddock.apiserver.schema.cel_rules import Rule
from paddock.kube.meta import Resource

VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class Column:
    """One column of `kubectl get`."""

    name: str
    type: str  # string, integer, number, boolean, or date (shown as an age)
    path: str  # a JSONPath as in a CRD (`.status.phase`)
    priority: int = 0  # 0 is always shown, others with `-o wide`
    format: str = ""
    description: str = ""


AGE = Column("Age", "date", ".metadata.creationTimestamp")


@dataclass(frozen=True, eq=False)
class ServedResource:
    """One kind in one version. Compared by identity: a changed CRD creates new ones."""

    resource: Resource
    singular: str
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: frozenset[str] = frozenset()
    schema: Mapping[str, Any] | None = None  # structural and self-contained
    columns: tuple[Column, ...] = ()
    custom: bool = False
    storage: bool = True  # else its objects are stored in another version, or as another group has them
    scale: Mapping[str, Any] | None = None  # the CRD's scale subresource (its three paths)
    list_kind: str = ""
    rules: tuple[Rule, ...] = ()  # of CEL, in the schema of a custom kind
    verbs: tuple[str, ...] = VERBS  # fewer for a kind whose objects are computed and not stored

    @property
    def computed(self) -> bool:
        """Whether its objects are not stored (`objects.computed`)."""
        return "create" not in self.verbs

    @property
    def qualified_kind(self) -> str:
        """The kind in error messages: `PaddleJob.batch.paddlepaddle.org`, `Pod`."""
        group = self.resource.group
        return f"{self.resource.kind}.{group}" if group else self.resource.kind

    @property
    def list_name(self) -> str:
        """The kind of a list of these: `PodList`."""
        return self.list_kind or f"{self.resource.kind}List"
