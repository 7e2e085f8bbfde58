"""Names of kinds on the command line: those of `paddock get`, and for `--kinds` the names of the CRDs, joined by
commas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from paddock.cli.output.language import localized
from paddock.jobs.apis import registry
from paddock.jobs.apis.registry import KINDS
from paddock.kube.meta import DATASETS, ENVIRONMENTS, PODS, Resource
from paddock.kube.nearness import nearest
from paddock.words.phrases import Names, phrase

KINDS_BY_WORD: Mapping[str, tuple[Resource, ...]] = {
    **dict.fromkeys(("jobs", "job"), tuple(KINDS)),
    **registry.KINDS_BY_WORD,
    **dict.fromkeys(("pods", "pod", "po"), (PODS,)),
    **dict.fromkeys(("environments", "environment", "env", "envs"), (ENVIRONMENTS,)),
    **dict.fromkeys(("datasets", "dataset"), (DATASETS,)),
}
BY_NAME: Mapping[str, Resource] = {resource.qualified: resource for resource in KINDS}


def name_for_kubectl(resource: Resource) -> str:
    """`paddlejob`; `paddlejobs.kubeflow.org` where kubectl resolves the short form to another group (kubectl takes the
    first group by name)."""
    from paddock.preflight.kinds import KNOWN  # with all checks of manifests: `paddock get` needs none of them

    first = min((each for each in KNOWN if each.kind == resource.kind), key=lambda each: each.group, default=resource)
    return resource.kind.lower() if first.group == resource.group else resource.qualified


class KindsOfJob(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5; 8.1 is enough
    """`paddlejobs.batch.paddlepaddle.org,paddlejobs.kubeflow.org` as their resources, each once. A group stands for all
    its kinds."""

    name = "kinds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[Resource, ...]:
        if not isinstance(value, str):
            return tuple(value)
        found: list[Resource] = []
        for name in value.split(","):
            if of_group := [each for each in BY_NAME.values() if each.group == name]:
                found += of_group
                continue
            if name not in BY_NAME:
                near = nearest(name, BY_NAME)
                hint = phrase("there are {names}", names=Names(tuple(BY_NAME)))
                if near:
                    hint = phrase("did you mean {name}?", name=near)
                self.fail(localized(phrase("{name} is no kind of job; {hint}", name=repr(name), hint=hint)), param, ctx)
            found.append(BY_NAME[name])
        return tuple(dict.fromkeys(found))
