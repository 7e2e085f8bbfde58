"""What the form offers for a field that names an object: environments, queues, priorities. It may be typed as well.

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
from paddock.kube.errors import ApiError, Forbidden
from paddock.kube.meta import ENVIRONMENTS, PRIORITY_CLASSES, Manifest, Resource, name_of, namespace_of
from paddock.kube.validation.names import DNS_LABEL

LOCAL_QUEUES = Resource("kueue.x-k8s.io", "v1beta1", "LocalQueue", "localqueues")
WORKLOAD_PRIORITIES = Resource(
    "kueue.x-k8s.io", "v1beta1", "WorkloadPriorityClass", "workloadpriorityclasses", namespaced=False
)
VOLCANO_QUEUES = Resource("scheduling.volcano.sh", "v1beta1", "Queue", "queues", namespaced=False)
TOPICS = tuple(map(Topic, (ENVIRONMENTS, PRIORITY_CLASSES, LOCAL_QUEUES, WORKLOAD_PRIORITIES, VOLCANO_QUEUES)))
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
        found = {"environment": self.environments, "queue": queues, "priority": priorities}
        return {name: names for name, names in found.items() if names}


async def find_choices(page: PageContext, namespace: str) -> Choices:
    """`namespace`: the job's, for a reader who may not list the LocalQueues of all."""

    def names(resource: Resource) -> list[str]:
        return sorted(map(name_of, page.objects(Topic(resource))))

    return Choices(
        environments=names(ENVIRONMENTS),
        priorities=[each for each in names(PRIORITY_CLASSES) if not each.startswith(_OF_THE_SYSTEM)],
        volcano=names(VOLCANO_QUEUES),
        workload=names(WORKLOAD_PRIORITIES),
        local=_by_namespace(await _list_local(page, namespace)),
        on_laptop=page.backend.local,
    )


async def _list_local(page: PageContext, namespace: str) -> Iterable[Manifest]:
    if not isinstance(page.caches.get(Topic(LOCAL_QUEUES), Cache()).error, Forbidden):
        return page.objects(Topic(LOCAL_QUEUES))
    if not DNS_LABEL.allows(namespace):  # somebody types it yet, or it is a path of the API
        return ()
    try:
        return (await page.api.list(LOCAL_QUEUES, namespace)).items
    except ApiError:
        return ()


def _by_namespace(queues: Iterable[Manifest]) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for each in queues:
        found.setdefault(namespace_of(each), []).append(name_of(each))
    return {namespace: sorted(names) for namespace, names in found.items()}
