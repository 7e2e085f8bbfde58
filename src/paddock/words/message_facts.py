"""Parses the messages of pods and Environments for facts that no other field has. Pure.

A scheduler and a kubelet record a reason and one sentence, and Kubernetes has no field for what is missing. Only this
module parses these sentences; each function names the writer of its sentence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_ENVIRONMENT = re.compile(r"environment (\S+):")
_NO_ENVIRONMENT = re.compile(r'image "([^"]+)" stands for no environment')
_NO_NAME = re.compile(r'no Environment "([^"]+)" exists')
_LACKS = re.compile(r"Insufficient ([\w.-]+/[\w.-]*\w)")
_LABELS = re.compile(r"affinity/selector \((?:on [^:]+: )?([\w./-]+=[\w.-]+(?:, [\w./-]+=[\w.-]+)*); node has")
_INSTALL = re.compile(r"(?:is missing[:;]|has no compiler:) run `([^`]+)` \(")
_LISTS = re.compile(r"; `([^`]+)` lists those that exist")
_NO_PACKAGE = re.compile(r"(?:no package index here has|spec\.indexURL does not have) (\S+): check the name")
_NO_SPACE = re.compile(r"the disk is full: | on the disk, and ")
_PERCENT = re.compile(r",? *\d+ *%(?:, (?P<pace>.*))?$")
_STAGE = re.compile(r"try \d+ of \d+|^fetching")


@dataclass(frozen=True, slots=True)
class Shortage:
    """What all nodes lack."""

    labels: tuple[str, ...] = ()  # `gpu=a100`
    devices: tuple[str, ...] = ()  # extended resources, `nvidia.com/gpu`


def read_shortage(message: str) -> Shortage:
    """From the message of the condition PodScheduled. `Insufficient NAME` is kube-scheduler's (the plugin
    NodeResourcesFit); the labels in brackets are added by `node.scheduler.placement`."""
    labels = _LABELS.search(message)
    return Shortage(
        tuple(labels[1].split(", ")) if labels else (),
        tuple(dict.fromkeys(_LACKS.findall(message))),
    )


def read_environment(message: str) -> str:
    """The Environment that a pod waits for; empty if the message names none (written by `environments.states`)."""
    named = _ENVIRONMENT.match(message)
    return named[1] if named else ""


def read_unknown_image(message: str) -> str:
    """The image without an Environment; empty if that is not the reason (written by `environments.images`)."""
    found = _NO_ENVIRONMENT.search(message)
    return found[1] if found else ""


def read_unknown_environment(message: str) -> str:
    """The Environment that a pod names and that does not exist; empty if that is not the reason (written by
    `environments.images`)."""
    found = _NO_NAME.search(message)
    return found[1] if found else ""


def read_command(message: str) -> str:
    """The command that a build's failure asks for, in a shell: the one that installs what the machine lacks, or that
    lists the versions of a package; empty if it asks for none (written by `environments.failures`)."""
    found = _INSTALL.search(message) or _LISTS.search(message)
    return found[1] if found else ""


def read_missing_package(message: str) -> str:
    """The name that no package index has; empty if that is not the reason (written by `environments.failures`)."""
    found = _NO_PACKAGE.search(message)
    return found[1] if found else ""


def lacks_space(message: str) -> bool:
    """Whether a build failed as the disk has too little space (written by `environments.failures` and `.disk`)."""
    return _NO_SPACE.search(message) is not None


def wants_another_version(message: str) -> bool:
    """Whether another version of a package would help, though the machine may be changed instead (written by
    `environments.failures`)."""
    return "choose a version that has a wheel" in message


def split_progress(message: str) -> tuple[str, str]:
    """`building (paddle)` and `12 MB/s, 9 s left`, of `building (paddle), 61 %, 12 MB/s, 9 s left` (written by
    `environments.progress`); the percentage is a field of the status."""
    found = _PERCENT.search(message)
    return _PERCENT.sub("", message), (found["pace"] or "") if found else ""


def read_stage(message: str) -> str:
    """What the percentage belongs to, if not to the Environment itself: `fetching` an interpreter, or another try."""
    found = _STAGE.search(message)
    return found[0] if found else ""
