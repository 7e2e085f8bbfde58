"""The image of a job for a service of a cloud: a Dockerfile with the framework's wheel for the job's device. Pure.

Wheels and indexes are those of `environments.packages.devices`; versions are those that Paddock's own environments have
and that were run here, on CPUs. No image could be built: hadolint reads the file in the tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.environments.packages.devices import DEVICES, Device, find_asked
from paddock.kube.quantities import read_amounts
from paddock.places.rendering import MARK, Request
from paddock.places.shell import comment
from paddock.version import __version__

PADDLE, TORCH = "3.3.1", "2.13.0"
_OF_DEVICE = {"XPU": "3.3.0", "DCU": "3.3.0", "NPU": "3.2.0"}
"""The newest that were seen on PaddlePaddle's index (2026-11-20), where it is another."""
BASE = "ubuntu:22.04"
_USER = "useradd -m -u 1000 -g 100 train"


def find_job_device(request: Request) -> Device:
    """The device that the job's containers ask for; the CPU where they ask for none that is known."""
    for role in request.job.roles:
        for container in role.template["spec"]["containers"]:
            amounts = _read_amounts(container)
            found = find_asked(amounts)
            if found is not None:
                return found[0]
    return DEVICES[0]


def _read_amounts(container: Mapping[str, Any]) -> Any:
    resources = container.get("resources") or {}
    return read_amounts(resources.get("requests")) | read_amounts(resources.get("limits"))


def build_install(request: Request) -> str:
    """What pip installs: `paddlepaddle-gpu==3.3.1 -i …`; empty for a program that trains with no framework."""
    device = find_job_device(request)
    if request.job.is_plain:
        return ""
    if request.job.framework == "jax":
        return "jax" if device.name == "CPU" else "'jax[cuda12]'"
    if request.job.framework == "pytorch":
        extra = " --index-url https://download.pytorch.org/whl/cpu" if device.name == "CPU" else ""
        return f"torch=={TORCH}{extra}"
    packages = " ".join(f"{name}=={_OF_DEVICE.get(device.name, PADDLE)}" for name in device.packages)
    return packages if device.index is None else f"{packages} --extra-index-url {device.index}"


def build_dockerfile(request: Request, entry: str, *, source: str, run: str = _USER) -> str:
    """A Dockerfile beside the program: `entry` is the script's file. `run`: a command of root
    that makes the user 1000, as whom it runs."""
    device = find_job_device(request)
    images = sorted({str(c.get("image")) for role in request.job.roles for c in role.template["spec"]["containers"]})
    notes = {
        "GPU": "The wheel brings CUDA's libraries; the node brings the driver.",
        "NPU": "Start from an image of the vendor with CANN in place of this one, such as the service's Ascend images.",
        "XPU": "Start from an image of the vendor with the XPU runtime in place of this one.",
        "DCU": "Start from an image of the vendor with DTK in place of this one.",
    }
    said = " ".join((
        f"Dockerfile: {MARK} of Paddock {__version__}, from {request.file}, job {request.name}. {source}",
        f"In place of {', '.join(images)}.",
        notes.get(device.name, "") if not request.job.is_plain else "Add a RUN line with the program's packages.",
        "It copies the directory in which it lies: the program.",
    ))  # fmt: skip
    install = build_install(request)
    lines = [
        f"FROM {BASE}",
        "# hadolint ignore=DL3008",
        "RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-pip libgomp1 iproute2 \\",
        "    && ln -s /usr/bin/python3 /usr/local/bin/python && rm -rf /var/lib/apt/lists/* \\",
        f"    && {run}",
        *([f"RUN python3 -m pip install --no-cache-dir {install}"] if install else ()),
        "COPY --chown=1000:100 . /workspace/",
        "WORKDIR /workspace",
        "USER 1000:100",
        f'CMD ["bash", "/workspace/{entry}"]',
    ]
    return comment(said) + "\n".join(lines) + "\n"
