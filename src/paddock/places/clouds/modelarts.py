"""Huawei Cloud's ModelArts, a training job with a custom image: Dockerfile and run.sh.

Sources: support.huaweicloud.com, develop-modelarts-1416 (2026-05-30: custom images, user ma-user uid 1000 gid 100, the
start command runs in no shell) and ma_drawer_129 (2026-08-04: variables). The page of the documents (23_0087) is of the
module before it, with uid 1101.
"""

from __future__ import annotations

from paddock.jobs.model import Job
from paddock.places.clouds.entry import LOST_IMAGE, build_entry, refuse_heter, refuse_servers
from paddock.places.clouds.images import build_dockerfile
from paddock.places.clouds.platforms import MODELARTS
from paddock.places.programs import with_fixed_size
from paddock.places.rendering import File, Hosts, Platform, Rendering, Request
from paddock.words.phrases import Phrase, phrase

_USER = "groupmod -n ma-group users && useradd -m -d /home/ma-user -u 1000 -g 100 ma-user"
_SOURCE = (
    "ModelArts' rules for custom images: "
    "https://support.huaweicloud.com/develop-modelarts/develop-modelarts-1416.html of 2026-05-30."
)


def render(request: Request) -> Rendering:
    entry = build_entry(request, MODELARTS, "run.sh")
    dockerfile = build_dockerfile(request, "run.sh", source=_SOURCE, run=_USER)
    files = (File("Dockerfile", dockerfile), File("run.sh", entry, executable=True))
    image = f"swr.REGION.myhuaweicloud.com/ORGANIZATION/{request.name}:1"
    steps: tuple[Phrase | str, ...] = (
        phrase("copy both files into the directory of the program, and type there:"),
        f"docker build -t {image} .",
        f"docker push {image}",
        phrase(
            "create a training job with this custom image, the start command {command}, and {count} nodes",
            command="bash /workspace/run.sh",
            count=with_fixed_size(request.job).size,
        ),
    )
    return Rendering(files, steps, build_notes())


def build_notes() -> tuple[Phrase, ...]:
    return (
        phrase("run.sh was run with the variables that ModelArts' page names; no image was built, and no job created"),
    )


def check(job: Job) -> tuple[Phrase, ...]:
    return (*refuse_servers(job, "ModelArts"), *refuse_heter(job, "ModelArts"))


PLACE = Platform(
    "modelarts", "ModelArts", Hosts.GIVEN, render, "modelarts",
    check=check, said=LOST_IMAGE,
)  # fmt: skip
