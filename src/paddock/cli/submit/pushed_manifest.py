"""The changes of a job by which its containers run in an image that was pushed. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.cli.submit.directory_map import LOGS
from paddock.jobs.frameworks.registry import FRAMEWORKS, main_container
from paddock.jobs.model import Job
from paddock.kube.meta import Manifest
from paddock.submission.templates import change_templates
from paddock.words.phrases import Phrase, phrase

_ARCHITECTURE = "kubernetes.io/arch"
_SET_BY_IMAGE = ("PYTHONPATH", "PATH")


def find_images(job: Job) -> dict[str, str]:
    """The image of each container that trains, with the first word of its command; empty for none."""
    found: dict[str, str] = {}
    for role in job.roles:
        containers = role.template["spec"]["containers"]
        container = containers[main_container(job, containers)]
        words = [*(container.get("command") or ()), *(container.get("args") or ())]
        found.setdefault(str(container.get("image") or ""), str(words[0]) if words else "")
    return found


def find_architecture(job: Job) -> str:
    """That of the nodes which the job itself asks for; empty where it does not, or its roles differ."""
    asked = {str((role.template["spec"].get("nodeSelector") or {}).get(_ARCHITECTURE) or "") for role in job.roles}
    return asked.pop() if len(asked) == 1 else ""


def has_pull_secrets(job: Job) -> bool:
    """Whether each pod brings Secrets for registries."""
    return all(role.template["spec"].get("imagePullSecrets") for role in job.roles)


def explain_variables(job: Job) -> list[Phrase]:
    """The variables by which an image finds its packages and that a container sets itself."""
    said = []
    for role in job.roles:
        containers = role.template["spec"]["containers"]
        env = containers[main_container(job, containers)].get("env") or ()
        own = {str(entry.get("name")): str(entry.get("value") or "") for entry in env}
        said += [
            phrase(
                "{role}: the container sets {name} itself, so the packages of the image are found only where it has "
                "{path} too",
                role=role.name, name=name, path="/paddock/packages/bin" if name == "PATH" else "/paddock/packages",
            )
            for name in _SET_BY_IMAGE
            if name in own and "/paddock/packages" not in own[name]
        ]  # fmt: skip
    return said


def with_images(manifest: Mapping[str, Any], job: Job, images: Mapping[str, str], *, starts_in_code: bool) -> Manifest:
    """The manifest with another image for the containers that train. `images`: by the one that stands there;
    `starts_in_code`: the image has a directory with code, so the launcher's logs go elsewhere."""

    def change(template: Mapping[str, Any]) -> Manifest:
        spec = template["spec"]
        containers = list(spec["containers"])
        main = main_container(job, containers)
        container = dict(containers[main])
        container["image"] = images[str(container.get("image") or "")]
        if starts_in_code:
            env = list(container.get("env") or ())
            said = {entry["name"] for entry in env}
            added = FRAMEWORKS[job.framework].build_log_environment(LOGS)
            container["env"] = env + [entry for entry in added if entry["name"] not in said]
        containers[main] = container
        return {**template, "spec": {**spec, "containers": containers}}

    result: Manifest = change_templates(manifest, change)
    return result
