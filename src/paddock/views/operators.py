"""The operators of a cluster, by their Leases, and why none of them has reconciled a job. Pure.

paddle-operator and Paddock's operator use a Lease of the same name, so that only one of them leads. Paddock's writes
its version and settings into the Lease's annotations.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from paddock.install.deployment import DEPLOYMENT
from paddock.install.rights import LEASE
from paddock.jobs.apis.registry import SCALED
from paddock.jobs.labels import SETTINGS_ANNOTATION, VERSION_ANNOTATION
from paddock.jobs.model import Settings
from paddock.kube.meta import (
    AUTOSCALERS,
    KUBERNETES_POD_GROUPS,
    POD_GROUPS,
    VOLCANO_POD_GROUPS,
    Key,
    Resource,
    annotations_of,
    namespace_of,
)
from paddock.kube.times import Moment, format_duration, read_time
from paddock.words.phrases import Phrase, phrase

_DURATION = 15
"""leaseDurationSeconds, where a Lease has none: client-go's default."""
_CLOCK_SKEW = 30.0
"""Seconds that the clocks of this machine and of the operator may differ."""


@dataclass(frozen=True, slots=True)
class Leader:
    """The content of a Lease."""

    namespace: str
    holder: str
    renewed: Moment | None
    """None after the holder released it."""
    duration: float
    version: str = ""
    """Empty for another operator."""
    namespaces: tuple[str, ...] = ()
    """Empty for all or unknown."""
    kinds: tuple[str, ...] = ()
    """Empty for all or unknown."""
    settings: Settings = field(default_factory=Settings, compare=False)
    """What its plans depend on, as far as the Lease says."""

    def is_gone(self, now: Moment) -> bool:
        return not self.holder or self.renewed is None or now - self.renewed > self.duration + _CLOCK_SKEW

    def serves(self, resource: Resource) -> bool:
        """Whether its --kinds have this kind."""
        forms = {resource.qualified, f"{resource.kind}.{resource.group}", resource.group}
        return not self.kinds or bool(forms & set(self.kinds))


def read_leader(lease: Mapping[str, Any]) -> Leader:
    spec, annotations = lease.get("spec") or {}, annotations_of(lease)
    settings = _read_settings(annotations.get(SETTINGS_ANNOTATION))
    return Leader(
        namespace_of(lease),
        str(spec.get("holderIdentity") or ""),
        read_time(spec.get("renewTime")),
        float(spec.get("leaseDurationSeconds") or _DURATION),
        annotations.get(VERSION_ANNOTATION, ""),
        _texts(settings.get("namespaces")),
        _texts(settings.get("kinds")),
        _read_plan_settings(settings),
    )


def _read_plan_settings(written: Mapping[str, Any]) -> Settings:
    groups = (POD_GROUPS, VOLCANO_POD_GROUPS, KUBERNETES_POD_GROUPS)
    kinds = _texts(written.get("kinds"))
    return Settings(
        pod_groups=next((each for each in groups if each.qualified == written.get("podGroups")), None),
        gang_scheduler=str(written.get("gangScheduler") or ""),
        substitutes=written.get("substitute") is True,
        autoscalers=AUTOSCALERS if any(each.qualified in kinds for each in SCALED) else None,
        datasets=written.get("datasets") is True,
        own_accounts=_read_accounts(_texts(written.get("ownAccounts"))),
    )


def _read_accounts(written: Sequence[str]) -> frozenset[Key]:
    return frozenset(Key(namespace, name) for namespace, _, name in (each.partition("/") for each in written))


def _read_settings(text: str | None) -> Mapping[str, Any]:
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _texts(value: object) -> tuple[str, ...]:
    return tuple(str(each) for each in value if each) if isinstance(value, list) else ()


@dataclass(frozen=True, slots=True)
class Installed:
    """The Deployment of an operator."""

    namespace: str
    ready: int
    """Of its pods."""
    wanted: int


def read_installed(deployment: Mapping[str, Any]) -> Installed:
    spec, status = deployment.get("spec") or {}, deployment.get("status") or {}
    wanted = spec.get("replicas")
    return Installed(namespace_of(deployment), int(status.get("readyReplicas") or 0), 1 if wanted is None else wanted)


def explain_no_operator(
    leaders: Sequence[Leader] | None,
    resource: Resource,
    namespace: str,
    kubectl: str,
    now: Moment,
    installed: Installed | None = None,
) -> Phrase:
    """Why no operator has reconciled a job, by the Leases, and what to do. `leaders`: None if unreadable; `installed`:
    None if there is no Deployment, or it cannot be read. Pure."""
    if leaders is None:
        return phrase(
            "you may not read Leases, so whether one runs is not known here. Ask who administers the cluster, or look "
            "whether it watches namespace {namespace}",
            namespace=namespace,
        )
    if not leaders and installed is not None:
        return _explain_installed(installed, kubectl)
    if not leaders:
        return phrase(
            "none seems to run, as nobody holds the Lease {lease}. `paddock manifests operator --image IMAGE | "
            "{kubectl} create -f -` starts one",
            lease=LEASE, kubectl=kubectl,
        )  # fmt: skip
    alive = [each for each in leaders if not each.is_gone(now)]
    if not alive:
        last = max(leaders, key=lambda each: each.renewed or 0.0)
        return _explain_gone(last, kubectl, now)
    watching = [each for each in alive if not each.namespaces or namespace in each.namespaces]
    if not watching:
        first = alive[0]
        return phrase(
            "the operator in namespace {where} watches {watched} alone, not {namespace}: submit the job there, or have "
            "its --namespace changed",
            where=first.namespace, watched=", ".join(first.namespaces), namespace=namespace,
        )  # fmt: skip
    serving = [each for each in watching if each.serves(resource)]
    if not serving:
        return phrase(
            "the operator in namespace {where} serves {kinds} alone: have {kind} added to its --kinds",
            where=watching[0].namespace,
            kinds=", ".join(watching[0].kinds),
            kind=resource.qualified,
        )
    first = serving[0]
    return phrase(
        "{operator} leads in namespace {where} and has not acted on it; its log says why: `{kubectl} -n {where} logs "
        "deploy/{deployment}`",
        operator=build_name(first), where=first.namespace, kubectl=kubectl, deployment=DEPLOYMENT,
    )  # fmt: skip


def _explain_installed(installed: Installed, kubectl: str) -> Phrase:
    where, look = installed.namespace, f"{kubectl} -n {installed.namespace} get pods"
    if not installed.wanted:
        return phrase(
            "the Deployment {deployment} in namespace {where} is there, and has 0 replicas: `{command}` starts it",
            deployment=DEPLOYMENT, where=where,
            command=f"{kubectl} -n {where} scale deployment {DEPLOYMENT} --replicas=1",
        )  # fmt: skip
    return phrase(
        "the Deployment {deployment} in namespace {where} is there, its pods ready: {ready} of {wanted}, and nobody "
        "holds the Lease yet: `{look}` shows whether they start",
        deployment=DEPLOYMENT, where=where, ready=installed.ready, wanted=installed.wanted, look=look,
    )  # fmt: skip


def _explain_gone(leader: Leader, kubectl: str, now: Moment) -> Phrase:
    look = f"{kubectl} -n {leader.namespace} get pods"
    if leader.renewed is None or not leader.holder:
        return phrase("the operator in namespace {where} has stopped (`{look}`)", where=leader.namespace, look=look)
    return phrase(
        "the operator in namespace {where} has not been heard of for {age}: `{look}` shows whether it runs",
        where=leader.namespace, age=format_duration(now - leader.renewed), look=look,
    )  # fmt: skip


def build_name(leader: Leader) -> Phrase:
    """`paddock 0.1.0`, or 'another operator' without a version."""
    return phrase("paddock {version}", version=leader.version) if leader.version else phrase("another operator")
