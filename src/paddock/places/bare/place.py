"""What `--to bare` is: a script for each machine, what is typed next, and the jobs that it cannot carry."""

from __future__ import annotations

import re
from collections.abc import Iterator

from paddock.jobs.apis.kubeflow import KubeflowJob
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.frameworks.registry import main_container
from paddock.jobs.model import Job, Role
from paddock.launches.containers import read_command
from paddock.places.bare.script import build_ranks, build_script, name_script
from paddock.places.rendering import File, Hosts, Platform, Rendering, Request, Unplaceable
from paddock.words.phrases import Names, Phrase, phrase

_UNSENDABLE = re.compile("[\0\ud800-\udfff]")
_SHOWN = 3
"""Machines whose commands are written out; more than these are told by two examples."""


def render(request: Request) -> Rendering:
    """A script for each of `request.hosts`. Raises `Unplaceable` for a text that no program can be given."""
    unsendable = tuple(_find_unsendable(request))
    if unsendable:
        raise Unplaceable(*unsendable)
    ranks = build_ranks(request)
    files = tuple(File(name_script(request, host), build_script(request, host, ranks), True) for host in request.hosts)
    return Rendering(files, tuple(_list_steps(request)), tuple(_list_notes(request)))


def _find_unsendable(request: Request) -> Iterator[Phrase]:
    """Kubernetes refuses a NUL when it starts a container; half of a surrogate pair is no character at all."""
    for program in request.programs:
        texts = {"command": " ".join(program.words)} | {each.name: each.value or "" for each in program.variables}
        for name, text in texts.items():
            if _UNSENDABLE.search(text):
                yield phrase(
                    "{rank}: {name} has a character that no program can be given (NUL, or half of a surrogate pair)",
                    rank=str(program.rank), name=name,
                )  # fmt: skip


def check(job: Job) -> tuple[Phrase, ...]:
    """A role whose command is in its image cannot run without that image."""
    return tuple(_explain_image(job, role) for role in job.roles if role.replicas and not _has_command(job, role))


def _has_command(job: Job, role: Role) -> bool:
    containers = role.template["spec"]["containers"]
    return bool(read_command(containers[main_container(job, containers)]))


def _explain_image(job: Job, role: Role) -> Phrase:
    containers = role.template["spec"]["containers"]
    index = main_container(job, containers)
    path = f"{_path_of(job, role)}.template.spec.containers[{index}].command"
    image = str(containers[index].get("image") or "")
    if "/demo-wide-and-deep:" in image:
        return phrase(
            "the role {role} has no command, and a bare machine has no image to bring one (in {image} it is "
            "[python, train.py]): write {path}",
            role=role.name, image=image, path=path,
        )  # fmt: skip
    return phrase(
        "the role {role} has no command, and a bare machine has no image to bring one: write {path}",
        role=role.name, path=path,
    )  # fmt: skip


def _path_of(job: Job, role: Role) -> str:
    api = KINDS.get(job.resource)
    if not isinstance(api, KubeflowJob):
        return f"spec.{role.name}"
    named = (each.name for each in api.replica_types if each.role == role.name)
    return f"spec.{api.replica_specs}.{next(named, role.name)}"


def _list_steps(request: Request) -> Iterator[Phrase | str]:
    names = [name_script(request, host) for host in request.hosts]
    several = len(names) > 1
    shown = list(zip(names, request.hosts, strict=True))[: _SHOWN if len(names) <= _SHOWN else 2]
    if several:
        yield phrase("copy each script to the directory of the program on its machine, and start it there:")
    else:
        yield phrase("copy the script to the directory of the program on the machine, and start it there:")
    for name, host in shown:
        yield f"scp {name} {host.name}:DIRECTORY/"
        yield f"ssh {host.name} bash DIRECTORY/{name} start"
    if len(shown) < len(names):
        yield phrase("and so on, to {name}", name=names[-1])
    yield phrase("{command} says which ranks run there, and {logs} shows what they write",
                 command=f"bash {names[0]} status", logs=f"bash {names[0]} logs -f")  # fmt: skip
    servers = tuple(tell_servers(request))
    yield from servers
    if not servers:
        yield phrase("{command} ends the ranks of a machine before their time", command=f"bash {names[0]} stop")
    yield phrase("--run does all of this by ssh, and ends with the job")


def _list_notes(request: Request) -> Iterator[Phrase]:
    unknown = tuple(dict.fromkeys(source for each in request.programs for source in each.unknown))
    if unknown:
        yield phrase(
            "the variables of {sources} (envFrom) are not in the file: export them on each machine before the start",
            sources=Names(unknown),
        )
    yield from tell_asked(request)


def tell_servers(request: Request) -> Iterator[Phrase]:
    """How parameter servers are ended by hand, where there are any."""
    serving = tuple(dict.fromkeys(each.host.name for each in request.programs if each.serves))
    if serving:
        yield phrase(
            "parameter servers do not end by themselves: when status says that all workers have ended, type {command} "
            "on {hosts}",
            command="bash SCRIPT stop", hosts=Names(serving),
        )  # fmt: skip


def tell_asked(request: Request) -> Iterator[Phrase]:
    """The variables whose values the file has not, where there are any."""
    asked = tuple(dict.fromkeys(variable.name for each in request.programs for variable in each.asked))
    if asked:
        yield phrase(
            "the values of {names} are not in the file: export them on each machine before the start",
            names=Names(asked),
        )


PLACE = Platform(
    name="bare",
    title=phrase("a bare machine"),
    hosts=Hosts.NAMED,
    render=render,
    page="bare-machines",
    check=check,
)
