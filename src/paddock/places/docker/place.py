"""What `--to docker` is: the script of a bare machine whose ranks are containers of `docker run` in the foreground.

`docker run` hands SIGTERM on to its container, so a rank is stopped as a process is; a container that is left after
10 s is removed by its name. Restarts by `--restart` are not asked for: a rank alone in a new container finds no gang.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from paddock.places.bare.place import tell_asked, tell_servers
from paddock.places.bare.script import Engine, build_command, build_ranks, build_script, name_script
from paddock.places.docker.options import (
    MOUNTED,
    OF_CLIENT,
    find_mounted,
    list_mounts,
    list_options,
    name_container,
    split_command,
)
from paddock.places.programs import RankProgram
from paddock.places.rendering import Ability, File, Hosts, Platform, Rendering, Request, Unplaceable
from paddock.places.shell import quote
from paddock.words.phrases import Names, Phrase, phrase

_TEXT = r"""
# ---- containers ----

check_container() {
    local rank=$1
    if ! type -P docker >/dev/null; then
        complain "$rank: there is no program docker on this machine: install Docker"
    elif ! docker version >/dev/null 2>&1; then
        complain "$rank: docker does not answer: is its daemon running, and may you use it (group docker)?"
    elif docker container inspect "$container" >/dev/null 2>&1; then
        complain "$rank: there is a container $container already: docker rm -f $container"
    fi
}

end_container() {
    docker rm -f "$container" >/dev/null 2>&1 || true
}
"""


def build_program(program: RankProgram, request: Request) -> list[str]:
    """The lines of a rank's function that set `program` and `container`."""
    before, after = split_command(program)
    lines = [f"    container={quote(name_container(request.name, program))}"]
    lines += build_command(["docker", "run", *list_options(program, request.programs, request.name)])
    if mounted := find_mounted(program):
        lines += [
            "    # The program of the machine, if it is there, and else that of the image.",
            f"    if [[ -f $(find_directory)/{quote(mounted)} ]]; then",
            f'        program+=(-v "$(find_directory):{MOUNTED}" -w {MOUNTED})',
            "    fi",
        ]
    return [*lines, f"    program+=({' '.join(map(quote, [*before, program.image, *after]))})"]


ENGINE = Engine("-docker.sh", _TEXT, build_program, lambda program: "", lambda program: "", OF_CLIENT)


def render(request: Request) -> Rendering:
    """A script for each of `request.hosts`."""
    refuse_programs(request.programs)
    ranks = build_ranks(request, ENGINE)
    files = tuple(
        File(name_script(request, host, ENGINE.ending), build_script(request, host, ranks, ENGINE), True)
        for host in request.hosts
    )
    return Rendering(files, tuple(_list_steps(request)), tuple(list_notes(request)))


def refuse_programs(programs: Sequence[RankProgram]) -> None:
    """Raises `Unplaceable` for ranks without an image, and for paths that Docker cannot mount."""
    without = tuple(str(each.rank) for each in programs if not each.image)
    if without:
        raise Unplaceable(phrase("{ranks} have no image: write one in their container", ranks=Names(without)))
    paths = [path for each in programs for mount in list_mounts(each) for path in (mount.source, mount.target)]
    if colon := next((path for path in paths if ":" in path), ""):
        raise Unplaceable(
            phrase("{path} has a colon, at which Docker ends a path: mount another one", path=repr(colon))
        )


def _list_steps(request: Request) -> Iterator[Phrase | str]:
    name = name_script(request, request.hosts[0], ENGINE.ending)
    yield phrase("copy each script to its machine, beside the program if the image has none, and type there:")
    yield f"bash {name} start"
    yield phrase("{command} says which ranks run there, and {logs} shows what they write",
                 command=f"bash {name} status", logs=f"bash {name} logs -f")  # fmt: skip
    yield from tell_servers(request)


def list_notes(request: Request) -> Iterator[Phrase]:
    """What a machine must have, and what was not tried."""
    for mount in dict.fromkeys(mount for each in request.programs for mount in list_mounts(each) if mount.kind):
        yield phrase(
            "{path} is a {kind} on the cluster: here it is the directory {path} of each machine, which must have its "
            "files",
            path=mount.target, kind=mount.kind,
        )  # fmt: skip
    yield from tell_asked(request)
    yield phrase("no Docker was there to run it: options are those of Docker's pages")


PLACE = Platform(
    "docker", "Docker", Hosts.NAMED, render, "docker",
    has=frozenset({Ability.IMAGE, Ability.RESOURCES, Ability.DEVICES, Ability.VOLUMES}),
)  # fmt: skip
