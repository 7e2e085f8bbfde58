"""An Environment object as a value, and the key of the directory that is built from it. Pure.

The key covers all that decides the built files: packages, the object's own index, options and build of torch, Python
and platform. Name, program, command and variables are not covered, so two Environments with equal requirements share
one directory. Neither are the machine's settings of pip and uv, as a mirror serves the same packages; but
UV_TORCH_BACKEND, where it chooses another build of torch.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from paddock.environments.packages import torch as torch_packages
from paddock.environments.packages.paddle import add_companions, find_paddle
from paddock.environments.requirements import explain_requirement, normalise_requirement
from paddock.kube.meta import name_of

PROGRAMS = Path(__file__).parent / "programs"
"""The training programs of the documents' images; each directory is the WORKDIR of an image."""

BUILD_REQUESTED = "paddock.dev/build-requested"
"""Annotation on an Environment: build it now, even if no pod waits for it and even after a failure. Each new value is a
new request; `status.requested` is the last value that was handled."""

FORMAT = 1
"""Version of the built directory's format. Increase it when builds change: every environment gets a new key."""

TORCH_FORMAT = 4
"""The same for directories with torch alone: the hook that they have (`environments.pytorch.hook`). 2: torchrun is told
the exceptions of its processes. 3: a process waits for gloo's threads at its end. 4: torchrun is told the texts of
exits, and a process can be asked where it is (`environments.stacks`)."""

PADDLE_FORMAT = 1
"""The same for directories with PaddlePaddle; those of before have none. 1: a process can be asked where it is. What
has neither framework is built with that too, and its directories of before stay."""


@dataclass(frozen=True, slots=True)
class Definition:
    """`spec` of an Environment (paddock.dev/v1alpha1); the fields are described in `environments.crd`."""

    name: str
    images: tuple[str, ...] = ()
    python: str = ""
    requirements: tuple[str, ...] = ()
    # Index URLs may contain passwords, so they are never printed.
    index_url: str = field(default="", repr=False)
    extra_index_urls: tuple[str, ...] = field(default=(), repr=False)
    options: tuple[str, ...] = field(default=(), repr=False)
    environment: tuple[tuple[str, str], ...] = ()
    command: tuple[str, ...] = ()
    program: str = ""
    verify: str = ""
    torch_backend: str = ""

    @property
    def on_host(self) -> bool:
        """Whether the environment is the machine's own programs, with nothing to build."""
        return not self.requirements and not self.python

    @property
    def packages(self) -> tuple[str, ...]:
        """What is installed: the requirements, and what PaddlePaddle and PyTorch need beside them."""
        return torch_packages.add_companions(add_companions(self.requirements))

    @property
    def subject(self) -> str:
        """The name in messages: `paddlepaddle 3.0.0`, from the first requirement; without requirements, `name`."""
        return explain_requirement(self.requirements[0]) if self.requirements else self.name


def read_definition(manifest: Mapping[str, Any]) -> Definition:
    """The definition of a stored Environment, which the API validated against the schema."""
    spec: Mapping[str, Any] = manifest.get("spec") or {}
    return Definition(
        name=name_of(manifest),
        images=tuple(spec.get("images") or ()),
        python=str(spec.get("python") or ""),
        requirements=tuple(spec.get("requirements") or ()),
        index_url=str(spec.get("indexURL") or ""),
        extra_index_urls=tuple(spec.get("extraIndexURLs") or ()),
        options=tuple(spec.get("pipOptions") or ()),
        environment=tuple((str(each["name"]), str(each.get("value") or "")) for each in spec.get("env") or ()),
        command=tuple(spec.get("command") or ()),
        program=str(spec.get("program") or ""),
        verify=str(spec.get("verify") or ""),
        torch_backend=str(spec.get("torchBackend") or ""),
    )


def build_key(
    definition: Definition, python: tuple[int, ...], platform: str, *, gpu: bool = False, backend: str = ""
) -> str:
    """The name of the built directory: a hash of 20 hexadecimal digits. URLs are hashed with the rest. `gpu` and
    `backend`: of this machine, which decide about torch alone (`environments.pytorch.builds.read_variable`)."""
    content = [
        FORMAT,
        sorted(normalise_requirement(each) for each in definition.packages),
        definition.index_url,
        list(definition.extra_index_urls),
        # Wheels fit a minor version, whatever the patch release.
        list(python[:2]),
        platform,
    ]
    if torch_packages.find_torch(definition.requirements) or definition.torch_backend:
        # Machines with and without a GPU may share a home.
        content.append([TORCH_FORMAT, definition.torch_backend or backend, *(["gpu"] if gpu else [])])
    elif backend:  # another package may require torch
        content.append(["torch", backend])
    if find_paddle(definition.requirements):
        content.append(["paddle", PADDLE_FORMAT])
    if definition.options:
        content.append(["options", *definition.options])
    return _digest(content)[:20]


def build_check_key(definition: Definition) -> str:
    """Identifies one check of a built directory: the snippet and its environment variables."""
    return _digest([definition.verify, sorted(definition.environment)])[:12]


def build_spec_digest(manifest: Mapping[str, Any]) -> str:
    """A hash of the spec's meaning: equal also if an empty field stands for an absent one."""
    spec = {**asdict(read_definition(manifest)), "name": ""}
    # Objects that an earlier version seeded have a digest without these fields.
    spec = {key: value for key, value in spec.items() if value or key not in ("torch_backend", "options")}
    return _digest(spec)[:16]


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
