"""Any Kubernetes: the job's kind, the operator for its namespace, and the job as it is written.

The files are those of `paddock manifests` (`install`); nothing of a job is lost there.
"""

from __future__ import annotations

from collections.abc import Sequence

from paddock.install.crd import build_crd
from paddock.install.deployment import EXAMPLE_IMAGE, Installation, build_operator
from paddock.jobs.apis.registry import KINDS
from paddock.kube.datasets import MOUNTS_ANNOTATION
from paddock.kube.meta import Manifest, annotations_of
from paddock.manifests.yaml_texts import write_yaml
from paddock.places.rendering import MARK, Ability, File, Hosts, Platform, Rendering, Request
from paddock.places.shell import comment
from paddock.version import __version__
from paddock.words.phrases import Phrase, phrase


def render(request: Request) -> Rendering:
    job = request.job
    namespace = job.key.namespace or "default"
    mounts = bool(annotations_of(request.manifest).get(MOUNTS_ANNOTATION))
    installation = Installation(namespace=namespace, watched=(namespace,), kinds=(job.resource,), datasets=mounts)
    files = (
        File("crd.yaml", _write(request, "the kind of the job", [build_crd(KINDS[job.resource])])),
        File(
            "operator.yaml", _write(request, f"the operator of the namespace {namespace}", build_operator(installation))
        ),
        File(
            f"{request.name}.yaml",
            _write(request, "the job and what is beside it in the file", [*request.others, request.manifest]),
        ),
    )
    steps: tuple[Phrase | str, ...] = (
        phrase("look whether the cluster has an operator of this kind already; where it has, the job alone is wanted:"),
        f"kubectl get crd {job.resource.qualified}",
        phrase(
            "write the name of an image that you have built and pushed in place of {image} in operator.yaml: "
            "docs/kubernetes.md says how",
            image=EXAMPLE_IMAGE,
        ),
        "kubectl apply -f crd.yaml -f operator.yaml",
        *([_DATASETS] if mounts else ()),
        f"kubectl create -f {request.name}.yaml",
    )
    return Rendering(files, steps)


_DATASETS = phrase(
    "the job mounts datasets: `{command}` makes the kind, and `paddock dataset create` what the job names",
    command="paddock manifests crd --datasets | kubectl apply -f -",
)


def _write(request: Request, what: str, manifests: Sequence[Manifest]) -> str:
    head = comment(f"{what}: {MARK} of Paddock {__version__}, from {request.file}, job {request.name}")
    return head + write_yaml(manifests)


PLACE = Platform(
    "kubernetes", "Kubernetes", Hosts.GIVEN, render, "README", has=frozenset(Ability),
)  # fmt: skip
