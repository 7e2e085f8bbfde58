"""Bare machines: a script for each, started by hand or by ssh (`paddock render --to bare --run`)."""

from __future__ import annotations

from paddock.jobs.frameworks.registry import main_container
from paddock.jobs.model import Job
from paddock.jobs.text.phrases import NOTHING, Names, Phrase, phrase
from paddock.places.programs import with_fixed_size
from paddock.places.rendering import File, Hosts, Place, Rendering, Request
from paddock.places.scripts.processes import PROCESSES
from paddock.places.scripts.ranks import build_script, refuse_unknown


def name_script(name: str, host: str) -> str:
    """`resnet-10.0.0.1.sh`"""
    return f"{name}-{host}.sh"


def render(request: Request) -> Rendering:
    refuse_unknown(request.programs)
    name = request.name
    count = len(request.hosts)
    files = tuple(
        File(
            name_script(name, host.name),
            build_script(request, host, name, "", (PROCESSES,), what=f"Machine {host.index} of {count}"),
            executable=True,
        )
        for host in request.hosts
    )
    return Rendering(files, build_steps(request, files), build_notes(request))


def build_steps(request: Request, files: tuple[File, ...]) -> tuple[Phrase | str, ...]:
    serves = [str(each.rank) for each in request.programs if each.serves]
    steps: list[Phrase | str] = [
        phrase(
            "copy each script to its machine, beside the program, and type there: bash {script} start",
            script=files[0].path,
        ),
        phrase(
            "the other commands are status, logs, stop, check and command: bash {script} --help", script=files[0].path
        ),
    ]
    if serves:
        steps.append(
            phrase(
                "parameter servers ({ranks}) run until they are stopped: bash {script} stop, when the workers are done",
                ranks=Names(tuple(serves)),
                script=files[0].path,
            )
        )
    steps.append(phrase("or let ssh do all of it: the same command with --run"))
    return tuple(steps)


def build_notes(request: Request) -> tuple[Phrase, ...]:
    asked = tuple(dict.fromkeys(each.name for program in request.programs for each in program.asked))
    if not asked:
        return ()
    return (
        phrase("{names} must be set where a script is started: their values are not in the file", names=Names(asked)),
    )


def check(job: Job) -> tuple[Phrase, ...]:
    """Ranks without a command: an image brings one, and a bare machine has no image."""
    job = with_fixed_size(job)
    found = []
    for role in job.roles:
        containers = role.template["spec"]["containers"]
        container = containers[main_container(job, containers)]
        if role.replicas and not container.get("command") and not container.get("args"):
            found.append(
                phrase(
                    "{role} has no command: the image {image} brings one, and a bare machine has no image; write "
                    "command in its container",
                    role=role.name,
                    image=str(container.get("image") or NOTHING),
                )
            )
    return tuple(found)


PLACE = Place(
    "bare",
    "a bare machine",
    Hosts.NAMED,
    render,
    "bare-machines",
    has=frozenset(),
    check=check,
)
