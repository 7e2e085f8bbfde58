"""What a job runs, in one line: a file of the user, a built-in example program of Paddock, or a command.

Read from the job as it is sent and from the Environments of the local cluster, so that it is what the kubelet does
(`app.programs` has the same answer as `app.images`). The command is printed as a shell would read it.
"""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paddock.app.submitted.directories import annotate
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.submit.directory_map import MOUNT
from paddock.cli.submit.script.files import explain_differences
from paddock.cli.submit.script.sources import read_file
from paddock.jobs.frameworks.paddle_servers import SECONDS, can_wait
from paddock.jobs.frameworks.python_source import START
from paddock.jobs.labels import SERVERS_FIRST_ANNOTATION, WORKING_DIRECTORY_ANNOTATION
from paddock.jobs.model import Job, Rank, Role, Settings
from paddock.jobs.objects.pods import build_pod, main_container
from paddock.jobs.substitutions import SUBSTITUTED_ANNOTATION
from paddock.kube.meta import ENVIRONMENTS, Manifest, annotations_of
from paddock.kube.printable import show_line
from paddock.launches.containers import find_launch, find_script
from paddock.script.escapes import unescape
from paddock.script.source import Source
from paddock.submission.documents import Checked
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from paddock.kube.api import Api

_LONGEST = 120
"""Characters of a command that are printed."""


async def fetch_programs(api: Api, place: ClusterChoice, job: Job, workdir: str | None) -> list[Phrase]:
    """The lines to print about `job`, as it is sent. `workdir`: the value of --workdir."""
    directory = Path.cwd() if workdir is None else Path(workdir).resolve()
    environments = (await api.list(ENVIRONMENTS)).items if place.home is not None else None
    return [*explain_programs(job, environments, directory), *explain_shadowed(job, environments or ())]


def read_warnings(place: ClusterChoice, job: Job, workdir: str | None) -> list[Phrase]:
    """What is told of the Python files that the job starts and that are on this machine, as of a typed command. On a
    cluster only those of --workdir are the job's."""
    names = {role.name for role in job.roles if role.replicas}
    said: dict[Phrase, None] = {}
    for role, script, source in _read_files(place, job, workdir):
        found = explain_differences(
            script, source, servers="ps" in names, heter="heter" in names, serves=not role.trains
        )
        said |= dict.fromkeys(found)
    return list(said)


def _read_files(place: ClusterChoice, job: Job, workdir: str | None) -> Iterator[tuple[Role, str, Source]]:
    if place.home is None and workdir is None:
        return
    own = job.annotations.get(WORKING_DIRECTORY_ANNOTATION) if place.home is not None else None
    directory = Path(own or Path.cwd()) if workdir is None else Path(workdir).resolve()
    for role in job.roles:
        containers = role.template["spec"]["containers"]
        script = find_script(containers[main_container(job, containers)])
        path = directory / script
        if script.endswith(".py") and path.is_file():
            yield role, script, read_file(path)


def hold_workers(
    checked: Sequence[Checked], place: ClusterChoice, workdir: str | None, notify: Callable[[Phrase], None]
) -> list[Checked]:
    """The documents, in which the workers of a program that calls `init_worker()` at once wait until the servers
    answer, unless the job says what it wants (`paddock.dev/servers-first`). Tells of each."""
    return [_hold(each, each.job, place, workdir, notify) if each.job is not None else each for each in checked]


def _hold(
    each: Checked, job: Job, place: ClusterChoice, workdir: str | None, notify: Callable[[Phrase], None]
) -> Checked:
    servers = job.role("ps")
    if servers is None or not servers.replicas or SERVERS_FIRST_ANNOTATION in job.annotations:
        return each
    read = _read_files(place, job, workdir)
    script = next((script for _, script, source in read if source.starts_workers and not source.waits), "")
    if script and can_wait(job, str(place.home.outputs) if place.home is not None else None):
        notify(
            phrase(
                "{script} calls init_worker(): the workers start when the servers answer, or after {seconds} s",
                script=script, seconds=SECONDS,
            )
        )  # fmt: skip
        return annotate(each, SERVERS_FIRST_ANNOTATION, "true")
    if script:
        notify(
            phrase(
                "warning: {script} calls init_worker(), and servers open their ports some seconds after the workers "
                "start: connect to each of fleet.server_endpoints() before it, until it answers",
                script=script,
            )
        )
    return each


def explain_programs(job: Job, environments: Sequence[Manifest] | None, directory: Path) -> list[Phrase]:
    """One line if all roles run the same, else one for each role. `environments`: those of the local cluster, None on
    another; `directory`: that of the command. Pure."""
    said = {role.name: _explain(job, role, environments, directory) for role in job.roles}
    if len(set(said.values())) == 1:
        return [next(iter(said.values()))]
    return [phrase("{role}: {what}", role=name, what=each) for name, each in said.items()]


def explain_shadowed(job: Job, environments: Sequence[Manifest]) -> list[Phrase]:
    """A warning for each file of the user that runs in place of a built-in example program of its name."""
    from paddock.app.programs import read_content

    found: dict[Phrase, None] = {}
    for role in job.roles if job.annotations.get(WORKING_DIRECTORY_ANNOTATION) else ():
        pod = build_pod(job, Rank(role.name, 0), 0, None, Settings(substitutes=True))
        container = pod["spec"]["containers"][main_container(job, pod["spec"]["containers"])]
        content = read_content(container, pod, environments)
        if content is None or content.is_default or content.files is None:
            continue
        named = container if container.get("command") else {**container, "command": list(content.command)}
        if content.has(script := find_script({**named, "workingDir": ""})):
            said = phrase(
                "warning: {script} of {directory} runs in place of the built-in example program {program}, for which "
                "the image stands: --workdir names a directory without {script} to run that one",
                script=script, directory=job.annotations[WORKING_DIRECTORY_ANNOTATION], program=content.files.name,
            )  # fmt: skip
            found[said] = None
    return list(found)


def _explain(job: Job, role: Role, environments: Iterable[Manifest] | None, directory: Path) -> Phrase:
    from paddock.app.programs import read_content

    local = environments is not None
    pod = build_pod(job, Rank(role.name, 0), 0, None, Settings(substitutes=local, environments=local))
    containers = pod["spec"]["containers"]
    container = containers[main_container(job, containers)]
    image = str(container.get("image") or "")
    content = read_content(container, pod, environments) if environments is not None else None
    if content is not None and not container.get("command"):
        container = {**container, "command": list(content.command)}
    where = phrase("environment {name}", name=content.environment) if content else phrase("image {name}", name=image)
    if not container.get("command") and not container.get("args"):
        return phrase("runs what the image starts, {where}", where=where)
    if SUBSTITUTED_ANNOTATION in annotations_of(pod) and START in container["command"]:
        return phrase("runs the Python program in the manifest, {where}", where=where)
    command = show_command([*(container.get("command") or ()), *(container.get("args") or ())])
    started_in = job.annotations.get(WORKING_DIRECTORY_ANNOTATION, "") if environments is not None else ""
    script = find_script(container)
    if script and content is not None and content.files is not None and not started_in:
        return phrase(
            "runs the built-in example program {program} of Paddock (no {script} in {directory}), {where}",
            program=content.files.name, script=script, directory=str(directory), where=where,
        )  # fmt: skip
    path = _find_path(container, started_in)
    if path.startswith(f"{MOUNT}/") and environments is None:
        return phrase(
            "runs {path} of this machine, as sent ({command}), {where}",
            path=str(directory / path.removeprefix(f"{MOUNT}/")), command=command, where=where,
        )  # fmt: skip
    if path:
        return phrase("runs {path} ({command}), {where}", path=path, command=command, where=where)
    return phrase("runs {command}, {where}", command=command, where=where)


def _find_path(container: Mapping[str, Any], started_in: str) -> str:
    """The absolute path of the script that the command names; empty if there is none, or it is not known where."""
    launch = find_launch(container)
    script = launch.program.script if launch is not None and not launch.elsewhere else ""
    base = str(container.get("workingDir") or started_in)
    return posixpath.normpath(posixpath.join(base, script)) if script and (base or script.startswith("/")) else ""


def show_command(words: Iterable[object]) -> str:
    """A container's command and arguments as one would type them, in one line: of a long text only the beginning."""
    text = shlex.join(unescape(str(word)) for word in words)
    line = show_line(text)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
