"""The manifest of a batch.paddlepaddle.org/v1 PaddleJob -> Job. Its rules are told in `apis.paddlepaddle`."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from paddock.jobs.apis import MOST_PODS, JobApi
from paddock.jobs.apis.elastic import is_bounded
from paddock.jobs.apis.manifests import accept, build_job, check_size
from paddock.jobs.apis.names import check_name
from paddock.jobs.apis.paddlepaddle_status import ROLES
from paddock.jobs.apis.run_policy import read_run_policy, read_scheduling
from paddock.jobs.apis.templates import check_template
from paddock.jobs.model import CleanPods, Intranet, Job, Network, Policies, RestartPolicy, Role
from paddock.kube.nearness import nearest
from paddock.kube.validation.field_errors import Code
from paddock.manifests.fields import Fields
from paddock.words.phrases import phrase
from paddock.words.problems import Problem
from paddock.words.sentences import perhaps, quoted

_TRAINS = frozenset({"worker"})

_NO_HETER = phrase(
    "heterogeneous parameter servers are in PaddlePaddle 2.3 to 3.0 alone, and a program trains there only where it "
    "mends PaddlePaddle's Python, as examples/heter does; docs/servers.md has the list"
)
_NO_SERVERS = phrase(
    "heter ranks without parameter servers: PaddlePaddle takes such a job for one that is not distributed, and each "
    "rank trains the whole net, alone; add spec.ps"
)
"""Source: fleet/base/role_maker.py, `_ps_env`."""
_UNREAD = phrase(
    "is not read, and no version of paddle-operator read it: the number of pods is replicas, and what a pod may use "
    "is in resources of its containers"
)


class _Clean(StrEnum):
    ALWAYS = "Always"
    NEVER = "Never"
    ON_FAILURE = "OnFailure"
    ON_COMPLETION = "OnCompletion"


class _RunClean(StrEnum):
    """Values of `runPolicy.cleanPodPolicy`: Kubeflow's too."""

    ALWAYS = "Always"
    NEVER = "Never"
    ON_FAILURE = "OnFailure"
    ON_COMPLETION = "OnCompletion"
    ALL = "All"
    NONE = "None"
    RUNNING = "Running"


_OF_KUBEFLOW = {_RunClean.ALL: CleanPods.ALWAYS, _RunClean.NONE: CleanPods.NEVER}


class _Restart(StrEnum):
    NEVER = "Never"
    ON_FAILURE = "OnFailure"


def read_job(api: JobApi, manifest: Mapping[str, Any]) -> Job:
    """Raises `InvalidJob` with every problem at once, and no other exception."""
    root = Fields(manifest, "", {})
    metadata, spec = root.child("metadata"), root.child("spec")
    network = Network(spec.choice("intranet", Intranet, Intranet.POD_IP), spec.whole("withGloo", 0, 2) or 0)
    elastic = _read_elastic(spec)
    roles = _read_roles(spec, network, elastic)
    check_name(metadata, roles)
    job = build_job(
        api,
        metadata,
        roles,
        network,
        _read_policies(spec),
        read_scheduling(spec.child("schedulingPolicy"), roles),
        spec=spec,
    )
    return accept(job, root, lambda role: f"spec.{role.name}", "template.spec.restartPolicy")


def _read_roles(spec: Fields, network: Network, elastic: bool) -> tuple[Role, ...]:
    if spec.readable and not spec.has("worker"):
        why = phrase("is missing: every job trains in its workers, with parameter servers too")
        allowed = "a role with replicas and a template"
        spec.add(Problem(spec.path_of("worker"), str(why), "nothing", allowed, said=why, code=Code.REQUIRED))
    roles = [_read_role(spec.child(name), name, network, elastic) for name in ROLES if spec.has(name)]
    if spec.has("heter"):
        spec.warn("heter", _NO_HETER if spec.has("ps") else _NO_SERVERS)
    check_size(spec, roles)
    return tuple(roles)


def _read_role(fields: Fields, name: str, network: Network, elastic: bool) -> Role:
    replicas = fields.whole("replicas", 1, MOST_PODS)
    if replicas is None and not fields.has("replicas"):
        fields.refuse("replicas", phrase("a whole number from {low} to {high}", low=1, high=MOST_PODS))
    sizes = name == "worker" and (elastic or is_bounded(fields))
    for unread in () if sizes else ("requests", "limits"):
        if fields.value.get(unread) is not None:
            fields.warn(unread, _UNREAD)
    check_template(fields)
    restart = _read_restart(fields.child("template").child("spec"), name, network, elastic)
    template, trains = fields.value.get("template"), name in _TRAINS
    return Role(name, replicas or 0, template if isinstance(template, Mapping) else {}, restart, trains, trains)


def _read_restart(spec: Fields, role: str, network: Network, elastic: bool) -> RestartPolicy:
    """paddle-operator's defaults: OnFailure for workers with `intranet: Service`. Elastic jobs are always OnFailure."""
    by_name = role == "worker" and network.intranet is Intranet.SERVICE
    default = _Restart.ON_FAILURE if by_name else _Restart.NEVER
    if spec.value.get("restartPolicy") == "Always":
        spec.refuse("restartPolicy", "Never or OnFailure (a rank that has ended well must not start again)")
        return RestartPolicy.NEVER
    found = spec.choice("restartPolicy", _Restart, default)
    return RestartPolicy.ON_FAILURE if elastic else RestartPolicy(found)


def _read_elastic(spec: Fields) -> bool:
    """Whether `elastic` is set: in paddle-operator any number restarted what fails. Its own elastic mode is broken
    since v0.3.3; the sizes are read in `apis.elastic`."""
    spec.whole("elastic", -(2**31), 2**31 - 1)
    return spec.has("elastic")


def _read_policies(spec: Fields) -> Policies:
    """The first of `cleanPodPolicy`, `cleanPolicy` and `runPolicy.cleanPodPolicy` that is set."""
    policy, names = spec.child("runPolicy"), ("cleanPodPolicy", "cleanPolicy")
    said = [_read_clean(spec, name) for name in names if spec.value.get(name)]
    if spec.has("cleanPolicy"):
        spec.warn("cleanPolicy", 'the field is called "cleanPodPolicy"; it is read as if it were')
    clean = policy.choice("cleanPodPolicy", _RunClean, _RunClean.ON_COMPLETION)
    return read_run_policy(policy, CleanPods(said[0]) if said else _OF_KUBEFLOW.get(clean) or CleanPods(clean))


def _read_clean(spec: Fields, key: str) -> _Clean:
    """An unknown word means Never, as in paddle-operator, whose own examples have OnFailed and Nerver."""
    found = spec.value.get(key)
    if not isinstance(found, str) or found in list(_Clean):
        return spec.choice(key, _Clean, _Clean.ON_COMPLETION)
    said = phrase(
        "found {found}, which keeps ended pods, like Never: there are {names}{perhaps}",
        found=quoted(found), names=tuple(_Clean), perhaps=perhaps(nearest(found, _Clean)),
    )  # fmt: skip
    spec.warn(key, said)
    return _Clean.NEVER
