"""What the form offers for a field that names an object: environments, datasets, claims, Secrets with their keys,
queues, priorities. It may be typed as well.

Queues are Kueue's LocalQueues where the job names one by Kueue's label, else Volcano's; priorities are Kueue's
WorkloadPriorityClasses or Kubernetes' PriorityClasses. All are read with the reader's rights: of a kind that is not
served, or that the reader may not list, nothing is offered.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from paddock.console.feed import Cache, Topic
from paddock.console.forms.rows import Labelled
from paddock.console.page_context import PageContext
from paddock.kube import kueue
from paddock.kube.calls import List
from paddock.kube.errors import ApiError, Forbidden
from paddock.kube.meta import (
    CLAIMS,
    DATASETS,
    ENVIRONMENTS,
    PRIORITY_CLASSES,
    SECRETS,
    Manifest,
    Resource,
    name_of,
    namespace_of,
)
from paddock.kube.validation.names import DNS_LABEL

LOCAL_QUEUES, WORKLOAD_PRIORITIES = kueue.LOCAL_QUEUES[0], kueue.WORKLOAD_PRIORITIES[0]
"""In the newest version; the feed asks for the older one where it is not served."""
VOLCANO_QUEUES = Resource("scheduling.volcano.sh", "v1beta1", "Queue", "queues", namespaced=False)
TOPICS = tuple(
    map(
        Topic,
        (ENVIRONMENTS, PRIORITY_CLASSES, LOCAL_QUEUES, WORKLOAD_PRIORITIES, VOLCANO_QUEUES, DATASETS, CLAIMS),
    )
)
_MOST_SECRETS = 200
"""That are offered."""
_OF_THE_SYSTEM = "system-"
"""Classes that Kubernetes keeps for kube-system."""


@dataclass(frozen=True, slots=True)
class Choices:
    """Names by kind. `local`: LocalQueues by namespace."""

    environments: Sequence[str] = ()
    priorities: Sequence[str] = ()
    volcano: Sequence[str] = ()
    workload: Sequence[str] = ()
    local: Mapping[str, Sequence[str]] = field(default_factory=dict)
    on_laptop: bool = False
    """The jobs run on this machine, whose directories they start in."""
    datasets: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By namespace, as `claims`."""
    claims: Mapping[str, Sequence[str]] = field(default_factory=dict)
    secrets: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The keys of each Secret of the namespace."""

    @property
    def labelled(self) -> Collection[Labelled]:
        """The fields that a new value writes as a label of Kueue: those for which Kueue has something to choose; on a
        laptop the working directory as an annotation."""
        found: Mapping[Labelled, bool] = {
            "queue": any(self.local.values()),
            "priority": bool(self.workload),
            "directory": self.on_laptop,
        }
        return frozenset(name for name, there in found.items() if there)

    def offer(self, namespace: str, by_label: Collection[str]) -> Mapping[str, Sequence[str]]:
        """What each field offers; without those that have nothing to offer. `by_label`: those that the text writes as a
        label."""
        queues = self.local.get(namespace, ()) if "queue" in by_label else self.volcano
        priorities = self.workload if "priority" in by_label else self.priorities
        found = {
            "environment": self.environments,
            "queue": queues,
            "priority": priorities,
            "dataset": self.datasets.get(namespace, ()),
            "claim": self.claims.get(namespace, ()),
            "secret": sorted(self.secrets),
            "key": sorted({key for keys in self.secrets.values() for key in keys}),
        }
        return {name: names for name, names in found.items() if names}


async def find_choices(page: PageContext, namespace: str, *, begins: bool = False) -> Choices:
    """`namespace`: the job's, for a reader who may not list the LocalQueues of all. `begins`: the page is opened; then
    the Secrets are read, of which no copy is kept, and a browser keeps their names while somebody types."""

    def names(resource: Resource) -> list[str]:
        return sorted(map(name_of, page.objects(Topic(resource))))

    return Choices(
        environments=names(ENVIRONMENTS),
        priorities=[each for each in names(PRIORITY_CLASSES) if not each.startswith(_OF_THE_SYSTEM)],
        volcano=names(VOLCANO_QUEUES),
        workload=names(WORKLOAD_PRIORITIES),
        local=_by_namespace(await _list_of(page, LOCAL_QUEUES, namespace)),
        datasets=_by_namespace(await _list_of(page, DATASETS, namespace)),
        claims=_by_namespace(await _list_of(page, CLAIMS, namespace)),
        secrets=await _list_keys(page, namespace) if begins else {},
        on_laptop=page.backend.local,
    )


async def _list_of(page: PageContext, resource: Resource, namespace: str) -> Iterable[Manifest]:
    """Those of all namespaces, or of this one for who may see no more."""
    if not isinstance(page.caches.get(Topic(resource), Cache()).error, Forbidden):
        return page.objects(Topic(resource))
    found: Sequence[Manifest] = ()
    for version in (resource, *kueue.find_others(resource)):
        found = found or await _list_within(page, List(version, namespace))
    return found


async def _list_within(page: PageContext, call: List) -> Sequence[Manifest]:
    if not DNS_LABEL.allows(call.namespace):  # somebody types it yet, or it is a path of the API
        return ()
    try:
        return (await page.api.send(call)).items
    except ApiError:
        return ()


async def _list_keys(page: PageContext, namespace: str) -> Mapping[str, Sequence[str]]:
    """Of the Secrets that a person makes: those of Helm have a megabyte each. Values are not looked at."""
    found = await _list_within(page, List(SECRETS, namespace, fields="type=Opaque", keep=keep_keys))
    return {name_of(each): sorted(each.get("data") or {}) for each in found[:_MOST_SECRETS]}


def keep_keys(secret: Manifest) -> Manifest:
    """What is held of a Secret while all are read. Pure."""
    return {"metadata": {"name": name_of(secret)}, "data": dict.fromkeys(secret.get("data") or {}, "")}


def _by_namespace(queues: Iterable[Manifest]) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for each in queues:
        found.setdefault(namespace_of(each), []).append(name_of(each))
    return {namespace: sorted(names) for namespace, names in found.items()}
