"""Name resolution between the pods of one machine. Pure.

With bubblewrap every pod has a hosts file (`build_hosts`). Without a sandbox there is only the machine's hosts file,
which Paddock must not write; then names of the pod's group (the pods and Services of its controller) are replaced by
addresses in the values of its environment and in its command and args (`build_addresses`, `kube.host_words`). Names in
files and programs are not replaced: these need bubblewrap.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from paddock.kube.downward import host_name
from paddock.kube.meta import Manifest, controller_of, key_of, labels_of, name_of, namespace_of

_ZONE = "svc.cluster.local"


def build_hosts(pod: Manifest, lines: Iterable[str]) -> str:
    """The hosts file of one pod: its own names first, then `lines` of all pods and Services in its namespace."""
    aliases = (
        f"{alias['ip']}\t{' '.join(alias['hostnames'])}"
        for alias in pod["spec"].get("hostAliases") or ()
        if alias.get("hostnames")
    )
    own = build_pod_line(pod)
    head = ("# written by paddock for this pod", "127.0.0.1\tlocalhost", "::1\tlocalhost", own)
    return "".join(f"{line}\n" for line in (*head, *aliases, *(line for line in lines if line != own)) if line)


def build_pod_line(pod: Manifest) -> str:
    """A pod's address and names; empty if it has no address or has ended."""
    address = address_of(pod)
    return f"{address}\t{' '.join(_pod_names(pod))}" if address and not _is_over(pod) else ""


def build_service_lines(services: Iterable[Manifest], pods: Iterable[Manifest]) -> list[str]:
    """One line for each Service and selected pod, ordered by name."""
    # Built at every start of a pod: an index by one label of the selector avoids a scan over all pods.
    found = sorted(services, key=key_of)
    live = _by_label(live_pods(pods)) if found else {}
    return [
        f"{address_of(pod)}\t{' '.join(_service_names(service))}"
        for service in found
        for pod in _selected(service, live.get(next(iter(_selector(service).items()), ("", "")), ()))
    ]


def build_addresses(pod: Manifest, pods: Iterable[Manifest], services: Iterable[Manifest]) -> dict[str, str]:
    """The addresses of the pod's group by name; empty if not assigned yet, as for a Service whose pod has to come."""
    everyone = [other for other in pods if _same_group(pod, other)]
    group = [other for other in everyone if not _is_over(other)]
    found: dict[str, str] = {}
    for service in services:
        if not _same_group(pod, service):
            continue
        # A replaced name has room for one address, so the first selected pod stands for the whole Service.
        chosen = next(iter(_selected(service, sorted(group, key=key_of))), None)
        if chosen is not None:
            found |= dict.fromkeys(_service_names(service), address_of(chosen))
        elif _selector(service) and not _selected(service, everyone):
            # Of one whose pods have ended, no address will come: whoever waited for it would wait for ever.
            found |= dict.fromkeys(_service_names(service), "")
    for other in group:
        found |= dict.fromkeys(_pod_names(other), address_of(other))
    return found


def live_pods(pods: Iterable[Manifest]) -> list[Manifest]:
    """The pods with an address that have not ended, ordered by name."""
    return sorted((pod for pod in pods if address_of(pod) and not _is_over(pod)), key=key_of)


def address_of(pod: Mapping[str, Any]) -> str:
    return str((pod.get("status") or {}).get("podIP") or "")


def _is_over(pod: Mapping[str, Any]) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _pod_names(pod: Manifest) -> list[str]:
    host, subdomain, namespace = host_name(pod), pod["spec"].get("subdomain"), namespace_of(pod)
    names = [host]
    if subdomain:
        place = f"{host}.{subdomain}"
        names += [place, f"{place}.{namespace}", f"{place}.{namespace}.svc", f"{place}.{namespace}.{_ZONE}"]
    return names if name_of(pod) in names else [*names, name_of(pod)]


def _service_names(service: Manifest) -> list[str]:
    name, namespace = name_of(service), namespace_of(service)
    return [name, f"{name}.{namespace}", f"{name}.{namespace}.svc", f"{name}.{namespace}.{_ZONE}"]


def _by_label(pods: Iterable[Manifest]) -> dict[tuple[str, str], list[Manifest]]:
    found: dict[tuple[str, str], list[Manifest]] = {}
    for pod in pods:
        for label in labels_of(pod).items():
            found.setdefault(label, []).append(pod)
    return found


def _selector(service: Manifest) -> Mapping[str, str]:
    return (service.get("spec") or {}).get("selector") or {}


def _selected(service: Manifest, pods: Sequence[Manifest]) -> list[Manifest]:
    """The pods that match the selector. A Service without one selects nothing: its endpoints are managed elsewhere."""
    wanted = _selector(service).items()
    return [pod for pod in pods if wanted <= labels_of(pod).items()] if wanted else []


def _same_group(pod: Manifest, other: Manifest) -> bool:
    """Whether both objects have the same controller."""
    mine, theirs = controller_of(pod), controller_of(other)
    return mine is not None and theirs is not None and mine.get("uid") == theirs.get("uid")
