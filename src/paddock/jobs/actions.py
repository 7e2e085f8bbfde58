"""What a decision is: a Plan, and the Actions in it. Frozen; `jobs.plan` makes them, the operator carries them out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from paddock.jobs.model import Status
from paddock.kube.meta import Key, Manifest, Resource, key_of


class Recipe(Protocol):
    """What an object is built from. The pods of a large job are built one by one, as they are sent: all at once would
    take as long as their number times the size of a template, and as much memory."""

    @property
    def key(self) -> Key: ...

    def build(self) -> Manifest:
        """The manifest; its owner, labels and names are complete."""
        ...


@dataclass(frozen=True, slots=True)
class Built:
    """An object that is built already: one of those of which a job has one."""

    manifest: Manifest

    @property
    def key(self) -> Key:
        return key_of(self.manifest)

    def build(self) -> Manifest:
        return self.manifest


@dataclass(frozen=True, slots=True)
class Create:
    """Create the object of `recipe`."""

    resource: Resource
    recipe: Recipe
    optional: bool = False  # as of `Patch`

    @property
    def key(self) -> Key:
        return self.recipe.key

    @property
    def manifest(self) -> Manifest:
        """Built at each call."""
        return self.recipe.build()


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete by UID, never by name alone."""

    resource: Resource
    key: Key
    uid: str
    grace: int | None = None  # seconds, None for the pod's own
    former: bool = False
    """A former job owned it when the cache heard of it last. It may have been orphaned since, and is read first: what
    nobody owns is left."""


@dataclass(frozen=True, slots=True)
class Patch:
    """A merge patch, guarded by UID."""

    resource: Resource
    key: Key
    uid: str
    patch: Manifest
    optional: bool = False  # best effort: a failure is logged, and nothing else


Action = Create | Delete | Patch


@dataclass(frozen=True, slots=True)
class EventNote:
    """An event to publish on the job."""

    reason: str  # in CamelCase
    message: str  # one English sentence
    type: str = "Normal"  # or Warning


@dataclass(frozen=True, slots=True)
class Plan:
    """The whole decision of one reconcile, printable and comparable."""

    status: Status  # is recorded first, if it differs from the recorded one
    actions: tuple[Action, ...] = ()  # none if the status differs in what is `decisive`: the next reconcile acts
    events: tuple[EventNote, ...] = ()
    requeue_after: float | None = None  # seconds until time alone changes the decision
    wants_stacks: bool = False  # the node is to write the stacks of the gang into its logs (`policies.silent_job`)
