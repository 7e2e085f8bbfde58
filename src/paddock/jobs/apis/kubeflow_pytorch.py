"""PyTorchJob of kubeflow.org/v1: the roles Master and Worker, `nprocPerNode` and `elasticPolicy`.

Defaults are training-operator's (v1.9.4, pkg/apis/kubeflow.org/v1/pytorch_defaults.go): nprocPerNode is `auto`, and of
an elasticPolicy with one bound the other is the same, with none both are the number of workers.
"""

from __future__ import annotations

from paddock.jobs.apis.kubeflow import KubeflowJob, ReplicaType
from paddock.jobs.apis.kubeflow_schema import build_elastic_policy
from paddock.jobs.apis.schema_parts import COUNT, TEXT, build_list, build_object
from paddock.jobs.launch import Elastic, Launch
from paddock.jobs.model import Role
from paddock.jobs.reading.fields import Fields
from paddock.jobs.text.phrases import phrase
from paddock.kube.meta import Manifest

_MOST = 2**31 - 1
_LAST_PORT = 65535


def _own_fields() -> Manifest:
    pair = build_object({"key": TEXT, "value": TEXT})
    elastic = build_elastic_policy(
        rdzvBackend=TEXT,
        rdzvPort=COUNT,
        rdzvHost=TEXT,
        rdzvId=TEXT,
        rdzvConf=build_list(pair),
        standalone={"type": "boolean"},
        nProcPerNode=COUNT,
    )
    return {"nprocPerNode": TEXT, "elasticPolicy": elastic}


def _read_launch(spec: Fields, roles: tuple[Role, ...]) -> Launch:
    elastic = _read_elastic(spec, roles)
    default = "" if elastic is not None and elastic.processes is not None else "auto"
    return Launch(spec.text("nprocPerNode") or default, elastic)


def _read_elastic(spec: Fields, roles: tuple[Role, ...]) -> Elastic | None:
    if not spec.has("elasticPolicy"):
        return None
    policy = spec.child("elasticPolicy")
    least, most = policy.whole("minReplicas", 0, _MOST), policy.whole("maxReplicas", 0, _MOST)
    workers = sum(role.replicas for role in roles if role.name == "worker")
    conf = ((pair.text("key"), pair.text("value")) for pair in policy.children("rdzvConf"))
    metrics = policy.value.get("metrics")
    return Elastic(
        least=next((each for each in (least, most) if each is not None), workers),
        most=next((each for each in (most, least) if each is not None), workers),
        backend=policy.text("rdzvBackend"),
        host=policy.text("rdzvHost"),
        port=policy.whole("rdzvPort", 1, _LAST_PORT),
        id=policy.text("rdzvId"),
        conf=tuple(conf),
        standalone=policy.flag("standalone"),
        processes=policy.whole("nProcPerNode", 1, _MOST),
        max_restarts=policy.whole("maxRestarts", 0, _MOST),
        metrics=tuple(metrics) if isinstance(metrics, list) else None,
    )


KUBEFLOW_PYTORCH = KubeflowJob(
    kind="PyTorchJob",
    replica_specs="pytorchReplicaSpecs",
    replica_types=(ReplicaType("Master", "master", is_master=True), ReplicaType("Worker", "worker")),
    framework="pytorch",
    needs=phrase("a mapping with Master, Worker or both"),
    own_fields=_own_fields,
    read_launch=_read_launch,
    first_worker_leads=True,
)
