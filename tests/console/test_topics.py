"""What the pages of one job look at holds every object that the operator makes for the job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from paddock.console.addresses import address_of_job
from paddock.console.feed import Topic
from paddock.console.screens.events import list_topics as list_event_topics
from paddock.console.screens.plan import list_topics as list_plan_topics
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import Rank
from paddock.jobs.objects.children import build_config_map, build_service
from paddock.jobs.objects.pod_groups import build_pod_group
from paddock.kube.meta import CONFIG_MAPS, POD_GROUPS, SERVICES, VOLCANO_POD_GROUPS, Manifest, Resource, labels_of
from paddock.kube.selectors import match_fields, match_labels

NAME = "a" * 70
"""So long that names and labels made of it are shortened."""
CONTAINER = {"name": "main", "image": "python:3", "command": ["true"]}
ROLE: dict[str, Any] = {"replicas": 2, "template": {"spec": {"containers": [CONTAINER]}}}
SPECS = {
    "PaddleJob.batch.paddlepaddle.org": {"worker": ROLE},
    "PaddleJob.kubeflow.org": {"paddleReplicaSpecs": {"Worker": ROLE}},
    "PyTorchJob.kubeflow.org": {"pytorchReplicaSpecs": {"Worker": ROLE}},
    "JAXJob.kubeflow.org": {"jaxReplicaSpecs": {"Worker": ROLE}},
}


def is_seen(topics: Sequence[Topic], resource: Resource, made: Manifest) -> bool:
    return any(
        topic.resource == resource and match_labels(topic.labels)(labels_of(made)) and match_fields(topic.fields)(made)
        for topic in topics
    )


@pytest.mark.parametrize("name", ["demo", NAME])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.qualified)
def test_the_pages_look_at_what_the_operator_makes(kind: Resource, name: str) -> None:
    metadata = {"name": name, "namespace": "default", "uid": "one"}
    spec = SPECS[f"{kind.kind}.{kind.group}"]
    job = KINDS[kind].read_job({"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec})
    plural = address_of_job(kind, "default", name).split("/")[3]
    path = {"namespace": "default", "kind": plural, "name": name}
    plan, events = list_plan_topics(path, {}), list_event_topics(path, {})
    made = [
        (SERVICES, build_service(job, Rank("worker", 0))),
        (CONFIG_MAPS, build_config_map(job, 1, dict.fromkeys(job.ranks(), "127.0.0.2"), None)),
        (POD_GROUPS, build_pod_group(job, POD_GROUPS)),
        (VOLCANO_POD_GROUPS, build_pod_group(job, VOLCANO_POD_GROUPS)),
    ]
    assert [resource.qualified for resource, each in made if not is_seen(plan, resource, each)] == []
    of_events = [each for each in made if each[0] != CONFIG_MAPS]
    assert [resource.qualified for resource, each in of_events if not is_seen(events, resource, each)] == []
