"""paddock status"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from paddock.app.home import UNSANDBOXED, Home, explain_full_disk, find_running
from paddock.build import BUILD
from paddock.cli.cluster.options import namespace_option
from paddock.cli.cluster.places import Cluster, Local, explain_other_version
from paddock.cli.cluster.session import choose_place, connect, home, run
from paddock.cli.help import columns
from paddock.cli.output.language import localized, readers_language
from paddock.cli.output.streams import print_line, write_json
from paddock.cli.output.terminal import stdout
from paddock.cli.verb import Verb
from paddock.kube.quantities import format_bytes
from paddock.kube.times import format_duration
from paddock.views.phases import say_state
from paddock.words.formats import format_of
from paddock.words.phrases import Foreign, Names, Phrase, counted, phrase

if TYPE_CHECKING:
    from paddock.app.home import Running
    from paddock.client.client import Client


@click.command(name="status", cls=Verb)
@click.option("-o", "output", type=click.Choice(["text", "json"]), default="text", help="How to print it.")
@namespace_option
def command(output: str, namespace: str) -> int:
    """Whether the local cluster is up, and what it runs on; of a context, who acts on its jobs. Exit code 1 when it is
    not up, or nobody acts.

    \b
    paddock status
    paddock status -o json
    paddock status --context prod
    paddock status --context prod -n team-a
    """
    chosen = choose_place()
    if isinstance(chosen, Cluster):
        from paddock.cli.cluster.cluster_status import print_cluster

        return print_cluster(chosen, output, namespace)
    place = home()
    running = find_running(place)
    facts = run(_facts(place, running)) if running else {"up": False}
    orphans = _find_orphans(place)
    facts |= {"client": BUILD, "unnamedEnvironments": list(map(str, orphans))}
    if output == "json":
        print_line(write_json(facts | {"home": str(place.root)}, indent=2))
    elif running:
        _print(place, running, facts)
    else:
        said = phrase(
            "local cluster is not up (home {path}): `paddock up` or `paddock run FILE` starts it",
            path=str(place.root),
        )
        stdout().print(localized(said))
        if (full := explain_full_disk(place)) is not None:
            stdout().print(localized(full))
        if orphans:
            stdout().print(localized(explain_orphans(orphans)))
    return 0 if running else 1


def _find_orphans(place: Home) -> list[Path]:
    """The built directories that no Environment has. The cluster is not started to look."""
    from paddock.environments.directories import list_keys

    if not list_keys(place.cache / "environments"):
        return []
    from paddock.app.cleaning.things import list_orphans
    from paddock.cli.cluster.uses import fetch_all_needs

    return list_orphans(place, run(fetch_all_needs(place)))


def explain_orphans(orphans: Sequence[Path]) -> Phrase:
    """What takes room in the cache though no Environment has it, and what removes it. Not how much: each file of them
    would be looked at, a second of `status`."""
    return counted(
        "{count} built environment in {path} has no name any more: `{command}` says what comes free, and removes it",
        "{count} built environments in {path} have no name any more: `{command}` says what comes free, and removes "
        "them",
        count=len(orphans), path=str(orphans[0].parent), command="paddock clean environments",
    )  # fmt: skip


async def _facts(place: Home, running: Running) -> dict[str, Any]:
    import psutil

    from paddock.cli.cluster.lookup import fetch_all
    from paddock.jobs.apis.registry import KINDS
    from paddock.kube.meta import PODS

    async with connect(Local(place)) as client:
        report = await _fetch_report(client)
        jobs = [job for _, job in await fetch_all(client, KINDS, "")]
        pods = (await client.list(PODS)).items
    return {
        "up": True,
        **asdict(running),
        "pinned": place.pinned.exists(),
        "diskFull": explain_full_disk(place) is not None,
        "memory": psutil.Process(running.pid).memory_info().rss,
        "jobs": Counter(str((job.get("status") or {}).get("phase") or "Pending") for job in jobs),
        "pods": Counter(str((pod.get("status") or {}).get("phase") or "Pending") for pod in pods),
        **report,
    }


async def _fetch_report(client: Client) -> dict[str, Any]:
    """What the server tells of itself; empty if it is of a version that tells nothing."""
    from paddock.kube.errors import NotFound

    try:
        report: dict[str, Any] = await client.fetch("/paddock/status")
    except NotFound:
        return {}
    return report


def _print(place: Home, running: Running, facts: dict[str, Any]) -> None:
    up = format_duration(time.time() - running.started)
    said = phrase("up for {time}; it stops by itself ten minutes after the last job and the last command", time=up)
    if facts["pinned"]:
        said = phrase("up for {time}, until `paddock down`", time=up)
    serves = phrase(
        "{url} (process {pid}, {memory}, paddock {version})",
        url=running.url, pid=running.pid, memory=format_bytes(facts["memory"]), version=running.version,
    )  # fmt: skip
    machine = phrase("{machine}; pods in {sandbox}", machine=Foreign(running.machine), sandbox=running.sandbox)
    if running.sandbox == UNSANDBOXED:
        machine = phrase("{machine}; programs run without a sandbox, with all your rights",
                         machine=Foreign(running.machine))  # fmt: skip
    full = explain_full_disk(place)
    other = explain_other_version(running.version)
    orphans = [Path(each) for each in facts["unnamedEnvironments"]]
    lines = {
        phrase("local cluster:"): localized(said),
        phrase("serves:"): localized(serves),
        **({phrase("version:"): localized(other)} if other is not None else {}),
        **({phrase("console:"): running.console} if running.console else {}),
        phrase("machine:"): localized(machine),
        phrase("jobs:"): _counted(facts["jobs"]),
        phrase("pods:"): _counted(facts["pods"]),
        **({phrase("disk:"): localized(full)} if full is not None else {}),
        **({phrase("cache:"): localized(explain_orphans(orphans))} if orphans else {}),
        **describe_report(facts),
        phrase("home:"): str(place.root),
        phrase("kubeconfig:"): str(place.kubeconfig),
    }
    for name, text in lines.items():
        label = localized(name)
        stdout().print(label + " " * (18 - columns(label)) + text)


def describe_report(facts: dict[str, Any]) -> dict[Phrase, str]:
    """The lines about what the server tells of itself; none for what it does not tell. Pure."""
    lines: dict[Phrase, str] = {}
    if "longestStall" in facts:
        said = phrase(
            "{seconds} s at most, in the last {minutes} minutes",
            seconds=f"{facts['longestStall']:.2f}", minutes=facts["minutes"],
        )  # fmt: skip
        lines[phrase("slowest answer:")] = localized(said)
    # What has been created again is told by `-o json` alone.
    if damaged := [one for one in facts.get("damaged") or () if not one.get("replaced")]:
        said = counted(
            "{count} object could not be read; it is set aside in {file} (table damaged), create it again: {names}",
            "{count} objects could not be read; they are set aside in {file} (table damaged), create them again: "
            "{names}",
            count=facts["damagedCount"] - len(facts["damaged"]) + len(damaged), file=facts["store"],
            names=Names(tuple(str(one["object"]) for one in damaged), most=0),
        )  # fmt: skip
        lines[phrase("damaged:")] = localized(said)
    return lines


def _counted(counts: dict[str, int]) -> str:
    language = readers_language()
    said = [f"{count} {say_state(phase, language)}" for phase, count in sorted(counts.items())]
    return format_of(language).comma.join(said) or localized(phrase("none"))
