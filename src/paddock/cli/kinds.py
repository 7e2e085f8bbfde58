"""Kinds of job on the command line: names of definitions, as `kubectl get crd` lists them, joined by commas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from paddock.jobs.apis.registry import KINDS
from paddock.jobs.text import nearest
from paddock.kube.meta import Resource

BY_NAME: Mapping[str, Resource] = {resource.qualified: resource for resource in KINDS}


class KindsOfJob(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5; 8.1 is enough
    """`paddlejobs.batch.paddlepaddle.org,paddlejobs.kubeflow.org` as their resources, each once."""

    name = "kinds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[Resource, ...]:
        if not isinstance(value, str):
            return tuple(value)
        found = []
        for name in value.split(","):
            if name not in BY_NAME:
                near = nearest(name, BY_NAME)
                hint = f"did you mean {near}?" if near else f"there are {' and '.join(BY_NAME)}"
                self.fail(f"{name!r} is no kind of job; {hint}", param, ctx)
            found.append(BY_NAME[name])
        return tuple(dict.fromkeys(found))
