"""What `--to compose` is: a Compose file for one machine, a service for each rank.

Services share the machine's network: ranks have blocks of ports of their own, and the address of all is 127.0.0.1, so
nothing is resolved. The format is compose-spec's (docs.docker.com/reference/compose-file); `$` is written `$$`, as
Compose replaces variables in every text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from paddock.manifests.yaml_texts import write_yaml
from paddock.places.docker.options import (
    MOUNTED,
    find_cards,
    find_mounted,
    list_limits,
    list_memory_options,
    list_mount_options,
    list_user_options,
    name_container,
)
from paddock.places.docker.place import list_notes, refuse_programs
from paddock.places.hosts import replace_marks
from paddock.places.programs import RankProgram
from paddock.places.rendering import MARK, Ability, File, Hosts, Platform, Rendering, Request, Unplaceable
from paddock.places.shell import comment, is_name
from paddock.version import __version__
from paddock.words.phrases import Phrase, phrase

_HERE = "127.0.0.1"
_LOOPBACK = {"POD_IP": _HERE, "GLOO_SOCKET_IFNAME": "lo", "PYTHONUNBUFFERED": "1"}


def render(request: Request) -> Rendering:
    refuse_programs(request.programs)
    head = comment(
        f"compose.yaml: {MARK} of Paddock {__version__}, from {request.file}, job {request.name}: all ranks on one "
        "machine. Where a program lies beside this file, it is mounted; take the lines of /paddle out where the image "
        "has it."
    )
    services = {str(each.rank): build_service(each, request) for each in request.programs}
    content = {"name": request.name.replace(".", "-"), "services": services}
    text = write_yaml([content])
    return Rendering((File("compose.yaml", head + text),), tuple(_list_steps(request)), tuple(list_notes(request)))


def build_service(program: RankProgram, request: Request) -> dict[str, Any]:
    service: dict[str, Any] = {
        "image": _text(program.image),
        "container_name": name_container(request.name, program),
        "network_mode": "host",
        "init": True,
        "stop_grace_period": "10s",
        "ulimits": {"memlock": {"soft": -1, "hard": -1}, "stack": 67108864},
        "environment": _build_environment(program),
    }
    words = [_text(word) for word in program.words]
    if program.container.get("command") and words:
        service["entrypoint"], words = words[:1], words[1:]
    if words:
        service["command"] = words
    service |= _read_options([*list_memory_options(program), *list_limits(program), *list_user_options(program)])
    volumes = [_text(word) for word in list_mount_options(program) if word != "-v"]
    directory = program.directory
    if find_mounted(program):
        volumes, directory = [*volumes, f".:{MOUNTED}"], MOUNTED
    if directory:
        service["working_dir"] = _text(directory)
    if volumes:
        service["volumes"] = volumes
    serving = [str(each.rank) for each in request.programs if each.serves]
    if serving and not program.serves:
        service["depends_on"] = serving
    return service | _build_devices(program, request)


def _build_environment(program: RankProgram) -> dict[str, str]:
    found = dict(_LOOPBACK)
    for each in program.variables:
        if each.value is None and not is_name(each.name):
            said = phrase(
                "{name} comes from {source}, and no shell can have a variable of this name for Compose to read: take "
                "--to docker --hosts {host}",
                name=each.name, source=each.source, host=_HERE,
            )  # fmt: skip
            raise Unplaceable(said)
        asked = f"${{{each.name}:?{each.source} of the cluster}}"
        found[each.name] = asked if each.value is None else _text(each.value)
    return found


def _read_options(options: list[str]) -> dict[str, Any]:
    """Options of `docker run` in Compose's words."""
    found: dict[str, Any] = {}
    rest = iter(options)
    for option in rest:
        if option == "--ipc=host":
            found["ipc"] = "host"
            continue
        value = next(rest)
        key = {"--shm-size": "shm_size", "--cpus": "cpus", "--memory": "mem_limit", "--user": "user"}[option]
        found[key] = float(value) if key == "cpus" else value
    return found


def _build_devices(program: RankProgram, request: Request) -> dict[str, Any]:
    found = find_cards(program, request.programs)
    if found is None:
        return {}
    device, cards = found
    if device.name != "GPU":
        said = phrase(
            "{device} has options of `docker run` alone here: take --to docker --hosts {host}",
            device=device.name, host=_HERE,
        )  # fmt: skip
        raise Unplaceable(said)
    wanted = {"driver": "nvidia", "device_ids": [str(card) for card in cards], "capabilities": ["gpu"]}
    return {"deploy": {"resources": {"reservations": {"devices": [wanted]}}}}


def _text(text: str) -> str:
    """A text of the job: with the machine's address, and no variable for Compose to replace."""
    return replace_marks(text, lambda index: _HERE).replace("$", "$$")


def _list_steps(request: Request) -> Iterator[Phrase | str]:
    trainers = [str(each.rank) for each in request.programs if not each.serves]
    has_servers = len(trainers) < len(request.programs)
    yield phrase("in the directory of compose.yaml, beside the program if the image has none, type:")
    yield " ".join(["docker compose up --abort-on-container-failure", *(trainers if has_servers else ())])
    if has_servers:
        yield phrase("it ends when the workers have ended; then end the parameter servers:")
        yield "docker compose down"
    yield phrase("the option is of Compose 2.27 and later")


PLACE = Platform(
    "compose", "Docker Compose", Hosts.ONE, render, "docker",
    has=frozenset({Ability.IMAGE, Ability.RESOURCES, Ability.DEVICES, Ability.VOLUMES}),
)  # fmt: skip
