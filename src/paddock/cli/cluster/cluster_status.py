"""`paddock status --context C`: the server, its operators, ours and others', and the capacity of its nodes.

Facts that RBAC forbids are shown as unreadable: users of a large cluster can seldom list nodes.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from paddock.build import BUILD
from paddock.cli.cluster.lookup import fetch_all
from paddock.cli.cluster.operators import fetch_installed, fetch_leaders
from paddock.cli.cluster.others import fetch_others
from paddock.cli.cluster.places import Cluster
from paddock.cli.cluster.served import fetch_served
from paddock.cli.cluster.session import connect, run
from paddock.cli.help import columns
from paddock.cli.output.language import readers_language
from paddock.cli.output.streams import print_line, write_json
from paddock.cli.output.terminal import stdout
from paddock.jobs.apis.registry import KINDS
from paddock.kube.errors import Forbidden
from paddock.kube.meta import NODES, Manifest, Resource
from paddock.kube.quantities import format_quantity, read_amounts
from paddock.kube.times import Moment
from paddock.views.operators import Installed, Leader, explain_no_operator
from paddock.views.phases import say_state, show_phase
from paddock.words.formats import format_of
from paddock.words.phrases import Phrase, phrase, render

if TYPE_CHECKING:
    from paddock.client.client import Client


_UNREAD = phrase("you may not read them")


def print_cluster(place: Cluster, output: str, namespace: str) -> int:
    """The exit code: 1 if no operator leads, as far as Leases can be read."""
    facts = run(_fetch_facts(place, namespace))
    if output == "json":
        print_line(write_json(facts, indent=2, default=str))  # a `why` is a phrase
        return 0 if facts["operators"] != [] else 1
    for line in build_lines(place, facts, readers_language()):
        stdout().print(line)
    return 0 if facts["operators"] != [] else 1


async def _fetch_facts(place: Cluster, namespace: str) -> dict[str, Any]:
    async with connect(place) as client:
        version = await client.fetch("/version")
        served = await fetch_served(client)
        leaders = await fetch_leaders(client, namespace)
        installed = await fetch_installed(client, namespace) if leaders == [] else None
        nodes = await _fetch_nodes(client)
        jobs = await _fetch_jobs(client, served, namespace)
        others = await fetch_others(client, place.flags.kubectl)
    return {
        "server": place.config.server,
        "context": place.config.context,
        "namespace": namespace,
        "kubernetes": str(version.get("gitVersion")),
        "paddock": BUILD,
        "kinds": [each.qualified for each in served],
        **build_operators(leaders, namespace, place.flags.kubectl, time.time(), installed),
        **others,
        "nodes": None if nodes is None else build_nodes(nodes),
        "jobs": jobs,
    }


async def _fetch_nodes(client: Client) -> list[Manifest] | None:
    try:
        return (await client.list(NODES)).items
    except Forbidden:
        return None


async def _fetch_jobs(client: Client, served: Sequence[Resource], namespace: str) -> dict[str, int] | None:
    try:
        found = await fetch_all(client, served, namespace)
    except Forbidden:
        return None
    return dict(Counter(show_phase(KINDS[resource].read_status(each)) or "Pending" for resource, each in found))


def build_operators(
    leaders: Sequence[Leader] | None, namespace: str, kubectl: str, now: Moment, installed: Installed | None = None
) -> dict[str, Any]:
    """`operators`: those with a valid Lease, None if Leases cannot be read; `why`: the reason if there is none."""
    alive = [each for each in leaders or () if not each.is_gone(now)]
    facts = [
        {
            "version": each.version or None,
            "namespace": each.namespace,
            "leader": each.holder,
            "watches": list(each.namespaces) or None,
            "kinds": list(each.kinds) or None,
        }
        for each in alive
    ]
    why = explain_no_operator(leaders, next(iter(KINDS)), namespace, kubectl, now, installed)
    return {"operators": None if leaders is None else facts, "why": None if alive else why}


def build_nodes(nodes: Sequence[Manifest]) -> dict[str, Any]:
    """The number of nodes, of ready nodes, and the sum of each extended resource."""
    devices: dict[str, Fraction] = {}
    for node in nodes:
        for name, amount in read_amounts((node.get("status") or {}).get("allocatable")).items():
            if "/" in name and amount:
                devices[name] = devices.get(name, Fraction(0)) + amount
    ready = sum(_is_ready(node) for node in nodes)
    return {"count": len(nodes), "ready": ready, "devices": {key: format_quantity(n) for key, n in devices.items()}}


def _is_ready(node: Manifest) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)


def build_lines(place: Cluster, facts: dict[str, Any], language: str) -> list[str]:
    """One line for each fact. Pure."""
    nodes = facts["nodes"]
    lines: dict[Phrase, Phrase | str] = {
        phrase("context:"): f"{facts['context']} ({place.config.source.partition(', context')[0]})",
        phrase("server:"): f"{facts['server']} (Kubernetes {facts['kubernetes']})",
        phrase("namespace:"): facts["namespace"],
        phrase("kinds:"): ", ".join(facts["kinds"]),
        phrase("operator:"): describe_operators(facts["operators"], facts["why"], language),
        phrase("jobs:"): _UNREAD
        if facts["jobs"] is None
        else ", ".join(f"{count} {say_state(phase, language)}" for phase, count in sorted(facts["jobs"].items()))
        or phrase("none"),
        phrase("nodes:"): _describe_nodes(nodes, language),
        phrase("paddock:"): facts["paddock"],
    }
    labels = {render(name, language): render(text, language) for name, text in lines.items()}
    others = [
        render(each["why"], language) for each in (*(facts["others"] or ()), *(facts["foreignDefinitions"] or ()))
    ]
    told = [*labels.items(), *zip([render(phrase("others:"), language), *[""] * len(others)], others, strict=False)]
    return [label + " " * max(1, 12 - columns(label)) + text for label, text in told]


def _describe_nodes(nodes: dict[str, Any] | None, language: str) -> str:
    if nodes is None:
        return render(_UNREAD, language)
    if not nodes["count"]:
        return render(phrase("none"), language)
    ready = render(phrase("{ready} of {count} ready", ready=nodes["ready"], count=nodes["count"]), language)
    devices = [f"{amount} {name}" for name, amount in nodes["devices"].items()]
    return format_of(language).comma.join([ready, *devices])


def describe_operators(operators: Sequence[dict[str, Any]] | None, why: Phrase | None, language: str) -> Phrase | str:
    if operators is None:  # Leases may not be read: whether somebody acts is not known
        return why or ""
    if not operators:
        return phrase("nobody acts on jobs here: {why}", why=why or "")
    return "; ".join(_describe_operator(each, language) for each in operators)


def _describe_operator(operator: dict[str, Any], language: str) -> str:
    name = (
        phrase("paddock {version}", version=operator["version"]) if operator["version"] else phrase("another operator")
    )
    said = phrase(
        "{operator} in namespace {namespace}, led by {leader}",
        operator=name, namespace=operator["namespace"], leader=operator["leader"],
    )  # fmt: skip
    if not operator["watches"]:
        return render(said, language)
    watched = phrase("{said}, watching {names} alone", said=said, names=", ".join(operator["watches"]))
    return render(watched, language)
