"""Baidu AI Cloud's AIHC (百舸): the body of CreateJob, a PyTorchJob, or a TFJob for parameter servers.

There is no type for PaddlePaddle. Sources: cloud.baidu.com/doc/AIHC, s/Hmayv96tj (CreateJob, 2026-01-27) and
s/mm346i20k (variables, 2026-01-14).
"""

from __future__ import annotations

import json
from typing import Any

from paddock.jobs.model import Job, Role
from paddock.places.clouds.entry import LOST_IMAGE, build_entry, build_node_programs, explain_type, refuse_heter
from paddock.places.clouds.images import build_dockerfile
from paddock.places.clouds.pai import has_servers
from paddock.places.clouds.platforms import AIHC, AIHC_SERVERS
from paddock.places.programs import with_fixed_size
from paddock.places.rendering import MARK, File, Hosts, Platform, Rendering, Request
from paddock.version import __version__
from paddock.words.phrases import Phrase, phrase

_SOURCE = "https://cloud.baidu.com/doc/AIHC/s/Hmayv96tj of 2026-01-27"


def render(request: Request) -> Rendering:
    servers = has_servers(request.job)
    entry = build_entry(request, AIHC_SERVERS if servers else AIHC, "entry.sh")
    body = json.dumps(build_body(request, servers=servers), indent=2, ensure_ascii=False) + "\n"
    files = (
        File("entry.sh", entry, executable=True),
        File("Dockerfile", build_dockerfile(request, "entry.sh", source=f"For AIHC: {_SOURCE}.")),
        File("job.json", body),
    )
    steps: tuple[Phrase | str, ...] = (
        phrase("copy entry.sh and Dockerfile into the directory of the program, build the image there, and push it"),
        phrase("write the queue and the image into job.json: it is the body of CreateJob, API version v2"),
    )
    return Rendering(files, steps, build_notes(servers=servers))


def build_notes(*, servers: bool) -> tuple[Phrase, ...]:
    notes = [explain_type("AIHC", servers=servers)]
    if servers:
        notes.append(
            phrase("how CreateJob names the nodes of a TFJob's roles was not found: split replicas by its page")
        )
    notes.append(phrase("entry.sh was run with the variables that the service's page names; no job was created"))
    return tuple(notes)


def build_body(request: Request, *, servers: bool) -> dict[str, Any]:
    """The body of CreateJob. JSON has no comments, so what made it stands in a variable of the nodes."""
    job = with_fixed_size(request.job)
    made = f"{MARK} {__version__} from {request.file}; fields as {_SOURCE}"
    asked = sorted({variable.name for each in build_node_programs(request) for variable in each.asked})
    return {
        "name": request.name,
        "queue": "QUEUE",
        "jobType": "TFJob" if servers else "PyTorchJob",
        "command": "bash /workspace/entry.sh",
        "jobSpec": {
            "envs": [{"name": "PADDOCK_NOTE", "value": made}, *({"name": name, "value": ""} for name in asked)],
            "image": "REGISTRY/IMAGE:TAG",
            "replicas": job.size,
            "resources": _list_resources(next(role for role in job.roles if not role.serves)),
        },
    }


def _list_resources(role: Role) -> list[dict[str, Any]]:
    found: dict[str, Any] = {}
    for container in role.template["spec"]["containers"]:
        found |= (container.get("resources") or {}).get("limits") or {}
    return [{"name": name, "quantity": amount} for name, amount in found.items() if "/" in name]


def check(job: Job) -> tuple[Phrase, ...]:
    return refuse_heter(job, "AIHC")


PLACE = Platform(
    "aihc", "AIHC", Hosts.GIVEN, render, "aihc",
    check=check, said=LOST_IMAGE,
)  # fmt: skip
