"""Checks the probes, the hooks and the side-cars of a role's pods: what Kubernetes refuses, in Paddock's sentences.

The rules are in `kube.validation.probes`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from paddock.kube.nearness import Nearest
from paddock.kube.validation.field_errors import Code, FieldError
from paddock.kube.validation.probes import check_cares
from paddock.manifests.parts import Part
from paddock.words.phrases import Phrase, phrase
from paddock.words.problems import Problem
from paddock.words.sentences import either, format_path, told, wrong


def check_probes_and_hooks(part: Part, nearest: Nearest) -> Iterator[Problem]:
    """`nearest`: of the `Suggestions` of the whole manifest."""
    grace = part.spec.get("terminationGracePeriodSeconds")
    for section in ("initContainers", "containers"):
        for container in part.containers(section):
            for error in check_cares(container.value, (), init=section == "initContainers", grace=grace):
                yield _explain(error, format_path(error.path, container.path), nearest)


def _explain(error: FieldError, path: str, nearest: Nearest) -> Problem:
    if error.path[-1] == "restartPolicy":
        said = phrase(
            "Always, which makes a side-car of an init container, is what Kubernetes before 1.35 and a laptop allow "
            "here"
        )
        return told(path, said, error.value, severity="warning", code=error.code)
    about_key = _explain_key(error)
    if about_key is not None:
        return told(path, about_key, about_key=True, code=error.code)
    near = nearest(error.value, error.args["allowed"]) if error.code is Code.NOT_SUPPORTED else ""
    return wrong(path, error.value, _list_allowed(error), near, code=error.code)


def _explain_key(error: FieldError) -> Phrase | None:
    """The sentence where the field is wrong, and not its value."""
    match error.code:
        case Code.NO_HANDLER:
            return phrase("has nothing to do: {names} is wanted", names=either(error.args["known"]))
        case Code.SECOND_HANDLER:
            return phrase("{other} stands beside it: one of the two is allowed", other=error.args["first"])
        case Code.NOT_OF_INIT:
            return phrase(
                "is of containers that run on: an init container may have it with restartPolicy: Always alone, which "
                "makes a side-car of it"
            )
        case Code.NOT_OF_READINESS:
            return phrase("is of the other two probes: a readinessProbe ends nothing")
        case Code.REQUIRED:
            return phrase("is missing")
    return None


def _list_allowed(error: FieldError) -> Phrase | str:
    args: dict[str, Any] = dict(error.args)
    match error.code:
        case Code.NOT_SUPPORTED:
            return either(args["allowed"])
        case Code.OUT_OF_RANGE:
            return phrase("a whole number from {low} to {high}", **args)
        case Code.NOT_ONE:
            return "1"
        case Code.SLEEP_TOO_LONG:
            return phrase("at most the grace of the pod, {most} s,", most=args["most"])
        case Code.NOT_POSITIVE:
            return phrase("a whole number from {low}", low=1)
    return phrase("a whole number from {low}", low=0)
