"""A document that is no object of Kubernetes: another tool's task, or a part of a job. What it is, what to do. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from paddock.words.phrases import Phrase, phrase
from paddock.words.problems import Problem
from paddock.words.sentences import told

SKYPILOT, DSTACK = "SkyPilot", "dstack"
_OF_SKYPILOT = frozenset({"setup", "num_nodes", "resources", "envs", "file_mounts", "workdir", "service", "secrets"})
_OF_DSTACK = frozenset({"task", "dev-environment", "service", "fleet", "volume"})
_PARTS: Mapping[str, tuple[str, str]] = {
    "pytorchReplicaSpecs": ("kubeflow.org/v1", "PyTorchJob"),
    "paddleReplicaSpecs": ("kubeflow.org/v1", "PaddleJob"),
    "jaxReplicaSpecs": ("kubeflow.org/v1", "JAXJob"),
}


def find_tool(manifest: Mapping[str, Any]) -> str:
    """The tool of which a document in YAML is a task; empty for another one. Sources: SkyPilot 0.11, "Task YAML";
    dstack 0.19, ".dstack.yml"."""
    if "apiVersion" in manifest or "kind" in manifest:
        return ""
    if str(manifest.get("type")) in _OF_DSTACK and {"commands", "nodes", "image"} & {*map(str, manifest)}:
        return DSTACK
    return SKYPILOT if "run" in manifest and _OF_SKYPILOT.intersection(map(str, manifest)) else ""


def check_tools(manifest: Mapping[str, Any]) -> Iterator[Problem]:
    """One problem, in place of a missing apiVersion; none of what may be an object."""
    if "apiVersion" in manifest or "kind" in manifest:
        return
    if tool := find_tool(manifest):
        yield told("", _explain_task(tool))
        return
    spec = manifest.get("spec")
    for place in (manifest, spec if isinstance(spec, Mapping) else {}):
        for key in _PARTS.keys() & {*map(str, place)}:
            version, kind = _PARTS[key]
            said = phrase(
                "{key} is a part of a {kind}, without what stands above it: apiVersion: {version}, kind: {kind}, "
                "metadata: {{name: NAME}} and spec:, below which it is indented",
                key=key, kind=kind, version=version,
            )  # fmt: skip
            yield told("", said)
            return


def _explain_task(tool: str) -> Phrase:
    return phrase(
        "this is a task of {tool}, and no object of Kubernetes: `paddock init --from FILE` makes a job of it", tool=tool
    )
