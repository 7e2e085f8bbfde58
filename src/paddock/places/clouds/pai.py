"""Alibaba Cloud's PAI-DLC: a PyTorchJob carries Collective jobs and torch, a TFJob carries parameter servers.

There is no type for PaddlePaddle. Sources: alibabacloud.com/help/en/pai, general-environment-variables (2026-04),
dlc-distributed-training (2026-09-01) and commands-used-to-submit-jobs.
"""

from __future__ import annotations

from paddock.jobs.model import Job
from paddock.places.clouds.entry import LOST_IMAGE, build_entry, explain_type, refuse_heter
from paddock.places.clouds.images import build_dockerfile
from paddock.places.clouds.platforms import PAI, PAI_SERVERS
from paddock.places.programs import with_fixed_size
from paddock.places.rendering import MARK, File, Hosts, Platform, Rendering, Request
from paddock.places.shell import comment, fold, quote
from paddock.version import __version__
from paddock.words.phrases import Phrase, phrase

_SOURCE = "https://www.alibabacloud.com/help/en/pai/user-guide/dlc-distributed-training of 2026-09-01"


def has_servers(job: Job) -> bool:
    return any(role.serves and role.replicas for role in with_fixed_size(job).roles)


def render(request: Request) -> Rendering:
    servers = has_servers(request.job)
    entry = build_entry(request, PAI_SERVERS if servers else PAI, "entry.sh")
    files = (
        File("entry.sh", entry, executable=True),
        File("Dockerfile", build_dockerfile(request, "entry.sh", source=f"For PAI-DLC: {_SOURCE}.")),
        File("submit.sh", build_submit(request, servers=servers), executable=True),
    )
    steps: tuple[Phrase | str, ...] = (
        phrase("copy entry.sh and Dockerfile into the directory of the program, build the image there, and push it"),
        phrase("write the image, the workspace and the kind of node into submit.sh, and type:"),
        "bash submit.sh",
    )
    return Rendering(files, steps, build_notes(servers=servers))


def build_notes(*, servers: bool) -> tuple[Phrase, ...]:
    notes = [explain_type("PAI-DLC", servers=servers)]
    if servers:
        notes.append(
            phrase("a TFJob ends when its workers have ended, and its servers are ended with it: read, not tried")
        )
    notes.append(phrase("entry.sh was run with the variables that the service's page names; no job was created"))
    return tuple(notes)


def build_submit(request: Request, *, servers: bool) -> str:
    """A shell script with one command; what is the user's own is a variable at its head."""
    job = with_fixed_size(request.job)
    words = ["pai", "dlc", "job", "submit", "--name", quote(request.name)]
    words += [
        "--job-type",
        "TFJob" if servers else "PyTorchJob",
        "--workspace-id",
        '"$workspace"',
        "--image",
        '"$image"',
    ]
    if servers:
        for role in job.roles:
            if role.replicas:
                name = "ps" if role.serves else "worker"
                words += ["--role", f'"{name}:count={role.replicas},spec=$node"']
    else:
        words += ["--worker-spec", '"$node"', "--worker-count", str(job.size)]
    words += ["--command", quote("bash /workspace/entry.sh")]
    said = (
        f"submit.sh: {MARK} of Paddock {__version__}, from {request.file}, job {request.name}. Options as {_SOURCE} "
        "has them; not tried: `pai dlc job submit --help` has the last word."
    )
    values = (
        "image=${IMAGE:?the name of the image that you pushed}\n"
        "workspace=${WORKSPACE_ID:?the number of your workspace}\n"
        "node=${NODE_SPEC:?the kind of node, such as ecs.gn7i-c8g1.2xlarge}\n"
    )
    return f"#!/usr/bin/env bash\n{comment(said)}set -euo pipefail\n{values}{fold(words)}\n"


def check(job: Job) -> tuple[Phrase, ...]:
    return refuse_heter(job, "PAI-DLC")


PLACE = Platform(
    "pai", "PAI-DLC", Hosts.GIVEN, render, "pai",
    check=check, said=LOST_IMAGE,
)  # fmt: skip
