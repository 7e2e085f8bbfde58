"""What properties are held to: any JSON at any place of a manifest, any status, and all that is built of a job."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from paddock.jobs.model import Counts, Job, Settings
from paddock.jobs.objects import pods
from paddock.jobs.objects.children import build_autoscaler
from paddock.kube.meta import AUTOSCALERS, POD_GROUPS, VOLCANO_POD_GROUPS

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """The paths of a manifest at which a test may put another value."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    return [(value, key) for key in keys] + [place for key in keys for place in places(value[key])]


FULL = {
    "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}},
    "spec": {
        "hostname": "h",
        "schedulerName": "volcano",
        "containers": [
            {
                "name": "paddle",
                "image": "i",
                "command": ["a"],
                "env": [{"name": "A", "value": "b"}],
                "envFrom": [{"configMapRef": {"name": "c"}}],
                "ports": [{"containerPort": 80}],
                "volumeMounts": [{"name": "v", "mountPath": "/v"}],
                "resources": {"limits": {"nvidia.com/gpu": 1}, "requests": {"cpu": "1"}},
            }
        ],
        "initContainers": [{"name": "init", "image": "i", "resources": {"limits": {"cpu": "2"}}}],
        "volumes": [{"name": "v", "emptyDir": {}}],
    },
}


def build_everything(job: Job) -> None:
    addresses = dict.fromkeys(job.ranks(), "127.0.0.2")
    for rank in job.ranks()[:20]:
        for groups in (None, POD_GROUPS, VOLCANO_POD_GROUPS):
            pod = pods.build_pod(job, rank, 1, 40000, Settings(groups, "/root"))
            found = pods.read_pod(pod)
            assert found is not None and (found.rank, found.attempt, found.port) == (rank, 1, 40000)
        pods.build_service(job, rank)
    if pods.needs_config_map(job):
        pods.build_config_map(job, 1, addresses, 40000)
    pods.build_pod_group(job, VOLCANO_POD_GROUPS)
    if job.launch.elastic is not None:
        build_autoscaler(job, AUTOSCALERS)


MOMENTS = st.none() | st.integers(0, 2**32).map(float)
COUNTS = st.builds(Counts, *[st.integers(0, 10_000)] * 6)
ARGS = st.dictionaries(
    st.text(max_size=5),
    st.integers() | st.text(max_size=5) | st.booleans() | st.lists(st.text(max_size=3), max_size=2)
    | st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
    max_size=3,
)  # fmt: skip


def merged(target: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result
