"""Operators of training jobs that are not Paddock: how their Deployments are recognised, what they run. PURE.

Two operators that run one kind both act on each of its jobs, so who installs looks for them first: the Helm chart
(deploy/chart/paddock) by this table, which tests/chart writes into its files, and `paddock status --context` by the
functions below. Patterns are read by Go's regexp as well as Python's: no look-around.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from paddock.install.deployment import OURS
from paddock.jobs.apis.registry import KINDS, PADDLEPADDLE
from paddock.kube.meta import Manifest, Resource, labels_of, name_of, namespace_of
from paddock.words.phrases import Names, Phrase, phrase

OWN_IMAGE = r"(^|/)paddock([:@]|$)"
"""Images of Paddock, by the last part of their name. A Deployment with our label is ours whatever its image is."""

OWN_FIELD = "cause"
"""A field of the status that only Paddock's definitions have."""

SCHEMES = "--enable-scheme="
"""The argument by which training-operator is restricted to some kinds, `--enable-scheme=tfjob`; repeated."""

_LABEL = "app.kubernetes.io/name"


@dataclass(frozen=True, slots=True)
class ForeignOperator:
    """An operator of somebody else. Its name or its image matches."""

    title: Phrase | str
    name: str  # a pattern
    image: str  # a pattern
    kinds: tuple[Resource, ...]  # what it runs


@dataclass(frozen=True, slots=True)
class Found:
    """A Deployment that seems to be an operator of somebody else. `kinds`: what it may run, never empty."""

    operator: ForeignOperator
    namespace: str
    name: str
    images: tuple[str, ...]
    kinds: tuple[Resource, ...]


def _of_kubeflow(*names: str) -> tuple[Resource, ...]:
    return tuple(each for each in KINDS if each.group == "kubeflow.org" and (not names or each.kind in names))


KNOWN = (
    ForeignOperator(
        "paddle-operator",
        r"^paddle-controller-manager$",
        r"(^|/)(paddle-operator|paddlecloud/controller)([:@/]|$)",
        (PADDLEPADDLE.resource,),
    ),
    ForeignOperator(
        phrase("Kubeflow's training-operator"),
        r"^training-operator$",
        r"(^|/)training-operator([:@/]|$)",
        _of_kubeflow(),
    ),
    ForeignOperator(
        phrase("Kubeflow's pytorch-operator"),
        r"^pytorch-operator$",
        r"(^|/)pytorch-operator([:@/]|$)",
        _of_kubeflow("PyTorchJob"),
    ),
    # Baidu CCE has the add-on "CCE Deep Learning Frameworks Operator" for PaddleJobs and PyTorchJobs. How its objects
    # are called is not documented, so any operator is meant whose name says as much.
    ForeignOperator(
        phrase("an operator of training jobs, by its name (Baidu CCE installs one)"),
        r"(paddle|pytorch|training|deep-?learning|dl-?framework)[a-z-]*(operator|controller)",
        r"/[^/]*(paddle|pytorch|training|deep-?learning|dl-?framework)[a-z-]*(operator|controller)[^/]*$",
        tuple(KINDS),
    ),
)
"""In the order in which they are asked; the first that matches says whose a Deployment is."""


def build_table() -> Mapping[str, Any]:
    """What the chart reads: the file files/foreign.json of it."""
    return {
        "ours": OWN_IMAGE,
        "ownField": OWN_FIELD,
        "schemes": SCHEMES,
        "known": [
            {
                "title": str(each.title),
                "name": each.name,
                "image": each.image,
                "kinds": [kind.qualified for kind in each.kinds],
            }
            for each in KNOWN
        ],
    }


def match_deployments(deployments: Iterable[Manifest]) -> Iterator[Found]:
    """The Deployments that seem to be somebody else's operators, run some of our kinds and are not scaled to 0."""
    for deployment in deployments:
        if found := _match(deployment):
            yield found


def _match(deployment: Manifest) -> Found | None:
    containers = _read_containers(deployment)
    images = tuple(str(each.get("image", "")) for each in containers)
    is_ours = labels_of(deployment).get(_LABEL) == OURS[_LABEL] or any(re.search(OWN_IMAGE, each) for each in images)
    if is_ours or (deployment.get("spec") or {}).get("replicas") == 0:
        return None
    name = name_of(deployment)
    for known in KNOWN:
        if re.search(known.name, name) or any(re.search(known.image, image) for image in images):
            schemes = _read_schemes(containers)
            kinds = tuple(kind for kind in known.kinds if not schemes or kind.kind.lower() in schemes)
            return Found(known, namespace_of(deployment), name, images, kinds) if kinds else None
    return None


def _read_containers(deployment: Manifest) -> list[Manifest]:
    template = (deployment.get("spec") or {}).get("template") or {}
    return list((template.get("spec") or {}).get("containers") or ())


def _read_schemes(containers: Iterable[Manifest]) -> set[str]:
    """The kinds in small letters that training-operator was restricted to; empty for all."""
    arguments = (str(word) for each in containers for word in each.get("args") or ())
    return {word.removeprefix(SCHEMES).lower() for word in arguments if word.startswith(SCHEMES)}


def is_ours(definition: Manifest) -> bool:
    """Whether a CustomResourceDefinition of one of our kinds is Paddock's."""
    return any(_has_own_field(version) for version in (definition.get("spec") or {}).get("versions") or ())


def _has_own_field(version: Manifest) -> bool:
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    status = (schema.get("properties") or {}).get("status") or {}
    return OWN_FIELD in (status.get("properties") or {})


def explain_deployment(found: Found, kubectl: str) -> Phrase:
    """`kubectl`: how it is called for this cluster."""
    return phrase(
        "Deployment {name} in namespace {namespace} (image {images}) seems to be {whose}; it may run {kinds}. "
        "To stop it: {kubectl} -n {namespace} scale deployment {name} --replicas=0",
        name=found.name,
        namespace=found.namespace,
        images=", ".join(found.images),
        whose=found.operator.title,
        kinds=Names(tuple(kind.qualified for kind in found.kinds), most=0),
        kubectl=kubectl,
    )


def explain_definition(name: str) -> Phrase:
    """`name`: of a CustomResourceDefinition that is not Paddock's."""
    return phrase(
        "CustomResourceDefinition {name} is not Paddock's: whoever put it there may run these jobs, also from outside "
        "the cluster, as Baidu CCE's Deep Learning Frameworks Operator may",
        name=name,
    )
