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
    """Create the object of `recipe`. `optional`: as of `Patch`."""

    resource: Resource
    recipe: Recipe
    optional: bool = False

    @property
    def key(self) -> Key:
        return self.recipe.key

    @property
    def manifest(self) -> Manifest:
        """Built at each call."""
        return self.recipe.build()


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete by UID, never by name alone. `grace` in seconds, None for the pod's own. `former`: a former job owned it
    when the cache heard of it last. It may have been orphaned since, and is read first: what nobody owns is left."""

    resource: Resource
    key: Key
    uid: str
    grace: int | None = None
    former: bool = False


@dataclass(frozen=True, slots=True)
class Patch:
    """A merge patch, guarded by UID. `optional`: best effort; a failure is logged, and nothing else."""

    resource: Resource
    key: Key
    uid: str
    patch: Manifest
    optional: bool = False


Action = Create | Delete | Patch


@dataclass(frozen=True, slots=True)
class EventNote:
    """An event to publish on the job: `type` Normal or Warning, `reason` in CamelCase, one English sentence."""

    reason: str
    message: str
    type: str = "Normal"


@dataclass(frozen=True, slots=True)
class Plan:
    """The whole decision of one reconcile, printable and comparable.

    If `status` differs from the recorded one, record it first. If it differs in what is `decisive`, `actions` is empty
    and the next reconcile acts. `requeue_after`: seconds until time alone changes the decision.
    """

    status: Status
    actions: tuple[Action, ...] = ()
    events: tuple[EventNote, ...] = ()
    requeue_after: float | None = None
