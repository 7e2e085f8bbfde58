"""Baidu's BML: the body of remotetrain/create, a job of a custom image from CCR.

Source: cloud.baidu.com/doc/BML/s/flq6ebj98 (2025-01-10). How its nodes find each other is on none of its pages.
"""

from __future__ import annotations

import json
from typing import Any

from paddock.jobs.model import Job
from paddock.places.clouds.entry import LOST_IMAGE, build_entry, refuse_heter, refuse_servers
from paddock.places.clouds.images import build_dockerfile, find_job_device
from paddock.places.clouds.platforms import BML
from paddock.places.programs import with_fixed_size
from paddock.places.rendering import MARK, File, Hosts, Platform, Rendering, Request
from paddock.version import __version__
from paddock.words.phrases import Phrase, phrase

_SOURCE = "https://cloud.baidu.com/doc/BML/s/flq6ebj98 of 2025-01-10"


def render(request: Request) -> Rendering:
    body = json.dumps(build_body(request), indent=2, ensure_ascii=False) + "\n"
    files = (
        File("entry.sh", build_entry(request, BML, "entry.sh"), executable=True),
        File("Dockerfile", build_dockerfile(request, "entry.sh", source=f"For BML: {_SOURCE}.")),
        File("create.json", body),
    )
    steps: tuple[Phrase | str, ...] = (
        phrase("copy entry.sh and Dockerfile into the directory of the program, build the image there, and push it"),
        phrase("write the image, the repository and the paths in BOS into create.json: it is the body of {call}",
               call="remotetrain/create"),
    )  # fmt: skip
    return Rendering(files, steps, build_notes())


def build_notes() -> tuple[Phrase, ...]:
    return (
        phrase(
            "BML's pages do not say what a node is told of the others: entry.sh tries the variables of its strategy"
        ),
        phrase("entry.sh was run with variables as PaddleFleet and PytorchDDP set them; no job was created"),
    )


def build_body(request: Request) -> dict[str, Any]:
    job = with_fixed_size(request.job)
    pool = "CPU_4C_16G" if find_job_device(request).name == "CPU" else "GPU_V100"
    return {
        "name": request.name[:50],
        "description": f"{MARK} {__version__} from {request.file}; fields as {_SOURCE}"[:500],
        "train_config": {
            "env_type": "CCR",
            "image": "/NAMESPACE/IMAGE",
            "tag": "TAG",
            "repository_id": "REPOSITORY",
            "start_cmd": "bash /workspace/entry.sh",
            "distribute_strategy": "PytorchDDP" if job.framework == "pytorch" else "PaddleFleet",
            "output_UrlSource": "BOS",
            "output_path": "bos:/BUCKET/OUTPUT/",
            "code_UrlSource": "BOS",
        },
        "dataset_config": {},
        "resource_config": {"resource_type": "PUBLIC", "resource_name": pool, "node_count": job.size},
    }


def check(job: Job) -> tuple[Phrase, ...]:
    found = [*refuse_servers(job, "BML"), *refuse_heter(job, "BML")]
    if job.size > _MOST:
        found.append(phrase("BML's public pool has at most {most} nodes, and the job has {count} ranks", most=_MOST,
                            count=job.size))  # fmt: skip
    return tuple(found)


_MOST = 4

PLACE = Platform(
    "bml", "BML", Hosts.GIVEN, render, "bml",
    check=check, said=LOST_IMAGE,
)  # fmt: skip
