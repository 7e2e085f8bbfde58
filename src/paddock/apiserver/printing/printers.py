"""Printers of built-in kinds whose cells need more than a JSONPath: pods, nodes, services and others.

Source: Kubernetes' pkg/printers/internalversion. A printer returns the cells after the name. Columns that are plain
paths are `Column`s in `kinds.built_ins`; `tables` builds the Table from both. A printer never fails on an object,
whichever fields are missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from paddock.apiserver.printing.cells import (
    NONE,
    UNKNOWN,
    Cells,
    Object,
    age,
    condition,
    format_age,
    part,
    print_labels,
)
from paddock.apiserver.printing.pods import print_pod
from paddock.apiserver.storage.event_forms import convert
from paddock.kube.meta import EVENTS, labels_of, metadata
from paddock.kube.times import Moment

_ROLE_PREFIX = "node-role.kubernetes.io/"


@dataclass(frozen=True, slots=True)
class Printer:
    """Columns as (name, type, priority), and the function that builds their cells."""

    columns: tuple[tuple[str, str, int], ...]
    cells: Callable[[Object, Moment], Cells]


def _print_node(node: Object, now: Moment) -> Cells:
    info = part(node, "status", "nodeInfo")
    words = {"True": "Ready", "False": "NotReady"}
    status = words.get(str(condition(node, "Ready").get("status")), "Unknown")
    # Kubernetes prints NotReady for every status but True, and Unknown only for a node without the condition.
    if condition(node, "Ready").get("status") == "Unknown":
        status = "NotReady"
    if part(node, "spec").get("unschedulable"):
        status += ",SchedulingDisabled"
    labels = labels_of(node)
    roles = sorted(label.removeprefix(_ROLE_PREFIX) for label in labels if label.startswith(_ROLE_PREFIX))
    addresses = {one.get("type"): one.get("address") for one in part(node, "status").get("addresses") or ()}
    return [
        status,
        ",".join(filter(None, roles)) or NONE,
        age(node, now),
        info.get("kubeletVersion") or "",
        addresses.get("InternalIP") or NONE,
        addresses.get("ExternalIP") or NONE,
        info.get("osImage") or UNKNOWN,
        info.get("kernelVersion") or UNKNOWN,
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]


def _print_service(service: Object, now: Moment) -> Cells:
    spec = part(service, "spec")
    ports = [_print_port(port) for port in spec.get("ports") or ()]
    external = ",".join(spec.get("externalIPs") or ())
    if spec.get("type") == "ExternalName":
        external = spec.get("externalName") or ""
    return [
        spec.get("type") or "ClusterIP",
        spec.get("clusterIP") or NONE,
        external or NONE,
        ",".join(ports) or NONE,
        age(service, now),
        print_labels(spec.get("selector")),
    ]


def _print_port(port: Object) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port')}{node_port}/{port.get('protocol', 'TCP')}"


def _print_event(event: Object, now: Moment) -> Cells:
    involved, source, series = part(event, "involvedObject"), part(event, "source"), part(event, "series")
    first = event.get("firstTimestamp") or event.get("eventTime")
    last = series.get("lastObservedTime") or event.get("lastTimestamp") or first
    parts = (source.get("component") or event.get("reportingComponent"), source.get("host"))
    return [
        format_age(last, now),
        event.get("type") or "",
        event.get("reason") or "",
        f"{str(involved.get('kind') or '').lower()}/{involved.get('name') or ''}",
        involved.get("fieldPath") or "",
        ", ".join(str(part) for part in parts if part),
        str(event.get("message") or "").strip(),
        format_age(first, now),
        series.get("count") or event.get("count") or 1,
        metadata(event).get("name") or "",
    ]


def _print_config_map(config_map: Object, now: Moment) -> Cells:
    return [len(part(config_map, "data")) + len(part(config_map, "binaryData")), age(config_map, now)]


def _print_secret(secret: Object, now: Moment) -> Cells:
    return [secret.get("type") or "Opaque", len(part(secret, "data")), age(secret, now)]


def _print_service_account(account: Object, now: Moment) -> Cells:
    return [len(account.get("secrets") or ()), age(account, now)]


def _print_endpoints(endpoints: Object, now: Moment) -> Cells:
    pairs = [
        f"{address.get('ip')}:{port.get('port')}"
        for subset in endpoints.get("subsets") or ()
        for address in subset.get("addresses") or ()
        for port in subset.get("ports") or ()
    ]
    # Kubernetes also prints three endpoints and the number of the others.
    more = f" + {len(pairs) - 3} more..." if len(pairs) > 3 else ""
    return [",".join(pairs[:3]) + more or NONE, age(endpoints, now)]


def _print_deployment(deployment: Object, now: Moment) -> Cells:
    spec, status = part(deployment, "spec"), part(deployment, "status")
    containers = part(spec, "template", "spec").get("containers") or ()
    return [
        f"{status.get('readyReplicas') or 0}/{spec.get('replicas') or 0}",
        status.get("updatedReplicas") or 0,
        status.get("availableReplicas") or 0,
        age(deployment, now),
        ",".join(str(one.get("name")) for one in containers),
        ",".join(str(one.get("image")) for one in containers),
        print_labels(part(spec, "selector").get("matchLabels")),
    ]


_EVENT = Printer(
    (("Last Seen", "string", 0), ("Type", "string", 0), ("Reason", "string", 0), ("Object", "string", 0),
     ("Subobject", "string", 1), ("Source", "string", 1), ("Message", "string", 0), ("First Seen", "string", 1),
     ("Count", "integer", 1), ("Name", "string", 1)),
    lambda event, now: _print_event(convert(dict(event), EVENTS.api_version), now),
)  # fmt: skip


def _print_quota(quota: Object, now: Moment) -> Cells:
    """Source: printResourceQuota: what begins with `limits.` is in a column of its own."""
    hard, used = part(quota, "status", "hard"), part(quota, "status", "used")
    pairs = [(name, f"{name}: {used.get(name, '0')}/{hard[name]}") for name in sorted(hard)]
    requests = [text for name, text in pairs if not name.startswith("limits.")]
    limits = [text for name, text in pairs if name.startswith("limits.")]
    return [", ".join(requests), ", ".join(limits), age(quota, now)]


def _print_priority_class(priority: Object, now: Moment) -> Cells:
    policy = priority.get("preemptionPolicy") or ""
    return [priority.get("value") or 0, bool(priority.get("globalDefault")), age(priority, now), policy]


PRINTERS: Mapping[tuple[str, str], Printer] = {
    ("", "Pod"): Printer(
        (("Ready", "string", 0), ("Status", "string", 0), ("Restarts", "string", 0), ("Age", "string", 0),
         ("IP", "string", 1), ("Node", "string", 1), ("Nominated Node", "string", 1), ("Readiness Gates", "string", 1)),
        print_pod,
    ),
    ("", "Node"): Printer(
        (("Status", "string", 0), ("Roles", "string", 0), ("Age", "string", 0), ("Version", "string", 0),
         ("Internal-IP", "string", 1), ("External-IP", "string", 1), ("OS-Image", "string", 1),
         ("Kernel-Version", "string", 1), ("Container-Runtime", "string", 1)),
        _print_node,
    ),
    ("", "Service"): Printer(
        (("Type", "string", 0), ("Cluster-IP", "string", 0), ("External-IP", "string", 0), ("Port(s)", "string", 0),
         ("Age", "string", 0), ("Selector", "string", 1)),
        _print_service,
    ),
    ("", "Event"): _EVENT,
    ("events.k8s.io", "Event"): _EVENT,
    ("", "ConfigMap"): Printer((("Data", "integer", 0), ("Age", "string", 0)), _print_config_map),
    ("", "Secret"): Printer((("Type", "string", 0), ("Data", "integer", 0), ("Age", "string", 0)), _print_secret),
    ("", "ServiceAccount"): Printer((("Secrets", "integer", 0), ("Age", "string", 0)), _print_service_account),
    ("", "ResourceQuota"): Printer(
        (("Request", "string", 0), ("Limit", "string", 0), ("Age", "string", 0)), _print_quota
    ),
    ("scheduling.k8s.io", "PriorityClass"): Printer(
        (("Value", "integer", 0), ("Global-Default", "boolean", 0), ("Age", "string", 0),
         ("PreemptionPolicy", "string", 0)),
        _print_priority_class,
    ),
    ("", "Endpoints"): Printer((("Endpoints", "string", 0), ("Age", "string", 0)), _print_endpoints),
    ("apps", "Deployment"): Printer(
        (("Ready", "string", 0), ("Up-to-date", "integer", 0), ("Available", "integer", 0), ("Age", "string", 0),
         ("Containers", "string", 1), ("Images", "string", 1), ("Selector", "string", 1)),
        _print_deployment,
    ),
}  # fmt: skip
