"""PyTorchJob of kubeflow.org/v1: the roles Master and Worker, `nprocPerNode` and `elasticPolicy`.

Defaults are training-operator's (v1.9.4, pkg/apis/kubeflow.org/v1/pytorch_defaults.go): nprocPerNode is `auto`, and of
an elasticPolicy with one bound the other is the same, with none both are the number of workers. Refused is what its
webhook refuses, and bounds that torchrun ends with an error at; what would wait for ever has a warning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from paddock.jobs.apis.kubeflow import KubeflowJob
from paddock.jobs.apis.kubeflow_replicas import ReplicaType
from paddock.jobs.apis.kubeflow_schema import build_elastic_policy
from paddock.jobs.apis.schema_parts import COUNT, TEXT, build_list, build_object
from paddock.jobs.launch import Elastic, Launch
from paddock.jobs.model import Role
from paddock.kube.meta import Manifest
from paddock.kube.nearness import nearest
from paddock.words.phrases import Phrase, counted, phrase
from paddock.words.sentences import either, perhaps, quoted, told

if TYPE_CHECKING:
    from paddock.manifests.fields import Fields

_SPECS = "pytorchReplicaSpecs"
_MOST = 2**31 - 1
_LAST_PORT = 65535
_PROCESSES = ("auto", "cpu", "gpu")
_BACKENDS = ("c10d", "etcd", "etcd-v2")


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
    processes = spec.text("nprocPerNode")
    in_place = elastic is None and sum(role.replicas for role in roles) > 1 and all(map(_restarts_in_place, roles))
    launch = Launch(processes or default, elastic, in_place=in_place)
    if processes and processes not in _PROCESSES and not launch.number:
        allowed = phrase("{words}, or a number from 1 on in quotes", words=_PROCESSES)
        _warn_of_word(spec, "nprocPerNode", allowed, nearest(processes, _PROCESSES))
    elif elastic is None and (launch.number or 0) > 1 and _starts_one_process(roles):
        spec.warn("nprocPerNode", _explain_processes(processes))
    return launch


def _read_elastic(spec: Fields, roles: tuple[Role, ...]) -> Elastic | None:
    if not spec.has("elasticPolicy"):
        return None
    policy = spec.child("elasticPolicy")
    if not any(role.name == "worker" for role in roles):
        wanted = phrase("a role with replicas and a template, beside an elasticPolicy,")
        spec.child(_SPECS).refuse("Worker", wanted)
    _check_processes(spec, policy)
    if (backend := policy.text("rdzvBackend")) and backend not in _BACKENDS:
        _warn_of_word(policy, "rdzvBackend", either(_BACKENDS), nearest(backend, _BACKENDS))
    least, most = policy.whole("minReplicas", 1, _MOST), policy.whole("maxReplicas", 1, _MOST)
    if least is not None and most is not None and least > most:
        policy.refuse("minReplicas", phrase("a whole number of at most maxReplicas, {most},", most=most))
    workers = sum(role.replicas for role in roles if role.name == "worker")
    conf = ((pair.text("key"), pair.text("value")) for pair in policy.children("rdzvConf"))
    metrics = tuple(dict(metric.value) for metric in policy.children("metrics"))
    elastic = Elastic(
        least=next((each for each in (least, most) if each is not None), workers),
        most=next((each for each in (most, least) if each is not None), workers),
        backend=backend,
        host=policy.text("rdzvHost"),
        port=policy.whole("rdzvPort", 1, _LAST_PORT),
        id=policy.text("rdzvId"),
        conf=tuple(conf),
        standalone=policy.flag("standalone"),
        processes=policy.whole("nProcPerNode", 1, _MOST),
        max_restarts=policy.whole("maxRestarts", 0, _MOST),
        metrics=metrics if policy.has("metrics") else None,
        launched=not _starts_one_process(roles),
    )
    refused = any(found is None and policy.has(key) for key, found in (("minReplicas", least), ("maxReplicas", most)))
    for said in _explain_counts(elastic, sum(role.replicas for role in roles)) if workers and not refused else ():
        spec.add(told(policy.path, said, severity="warning"))
    return elastic


def _check_processes(spec: Fields, policy: Fields) -> None:
    """The two fields for the processes of a pod: the one in elasticPolicy is deprecated, and both are refused."""
    if not policy.has("nProcPerNode"):
        return
    path = policy.path_of("nProcPerNode")
    if spec.has("nprocPerNode"):
        spec.add(told(path, phrase("must not stand beside spec.nprocPerNode, which says the same: remove this one")))
    else:
        spec.add(told(path, phrase("is deprecated: write it as spec.nprocPerNode, in quotes"), severity="warning"))


def _explain_counts(elastic: Elastic, size: int) -> Iterator[Phrase]:
    """Why pods would wait without end at the rendezvous, of a job of `size` pods; or why nothing is elastic."""
    if elastic.standalone and elastic.least > 1:
        yield phrase(
            "with standalone each pod has a rendezvous of its own, where it waits without end for {least} pods: set "
            "minReplicas to 1, or remove standalone",
            least=elastic.least,
        )
    elif elastic.most >= elastic.least > size:
        yield counted(
            "the job has {count} pod, and torchrun waits until there are {least} (minReplicas)",
            "the job has {count} pods, and torchrun waits until there are {least} (minReplicas)",
            count=size,
            least=elastic.least,
        )
    elif elastic.least <= elastic.most < size:
        yield phrase(
            "the job has {size} pods; at most {most} take part (maxReplicas), and the others wait",
            size=size,
            most=elastic.most,
        )
    elif not elastic.launched:
        yield phrase(
            "the command starts one process, without torchrun, which alone forms the group anew when ranks come or go: "
            "start it with torchrun, or all ranks start again together"
        )


def _starts_one_process(roles: tuple[Role, ...]) -> bool:
    """Whether every role starts a Python program without a launcher, as far as its command shows."""
    return bool(roles) and all(map(_is_plain, roles))


def _is_plain(role: Role) -> bool:
    from paddock.launches.containers import starts_one_process

    trains = _find_trainer(role)
    return trains is not None and starts_one_process(trains)


def _find_trainer(role: Role) -> Mapping[str, Any] | None:
    """The container that trains; None where the template has none that can be read."""
    pod = role.template.get("spec")
    containers = pod.get("containers") if isinstance(pod, dict) else None
    if not isinstance(containers, list) or not containers or not all(isinstance(each, dict) for each in containers):
        return None
    names = [each.get("name") for each in containers]
    found: Mapping[str, Any] = containers[names.index("pytorch") if "pytorch" in names else 0]
    return found


def _restarts_in_place(role: Role) -> bool:
    """Whether its torchrun starts failed processes again, and leaves to the operator where its agents meet. Without
    replicas a role decides nothing."""
    trains = _find_trainer(role)
    if trains is None or not role.replicas:
        return trains is not None
    texts = str([trains.get(key) for key in ("command", "args", "env")]).lower()
    if "max-restarts" not in texts and "max_restarts" not in texts:
        return False  # few jobs have it, and an operator asks at each pass
    from paddock.launches.containers import restarts_in_place

    return restarts_in_place(trains)


def _explain_processes(processes: str) -> Phrase:
    return phrase(
        "WORLD_SIZE counts {processes} processes in each pod, and the command starts one, without torchrun: unless the "
        "program starts the others, ranks wait for them without end; start it with torchrun, or remove the line",
        processes=processes,
    )


def _warn_of_word(fields: Fields, key: str, allowed: Phrase, near: str) -> None:
    said = phrase(
        "found {found}, which torchrun may not know: there is {allowed}{perhaps}",
        found=quoted(fields.value[key]),
        allowed=allowed,
        perhaps=perhaps(near),
    )
    fields.warn(key, said)


KUBEFLOW_PYTORCH = KubeflowJob(
    kind="PyTorchJob",
    replica_specs=_SPECS,
    replica_types=(ReplicaType("Master", "master", is_master=True, most=1), ReplicaType("Worker", "worker")),
    framework="pytorch",
    needs=phrase("a mapping with Master, Worker or both"),
    own_fields=_own_fields,
    read_launch=_read_launch,
    first_worker_leads=True,
)
