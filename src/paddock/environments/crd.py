"""The kind Environment (paddock.dev/v1alpha1): which Python, which packages and which command an image stands for.

Cluster-scoped, like the images of a node. The schema has no defaults: the stored spec is what the user wrote, and
`environments.seeding` compares its digest.
"""

from __future__ import annotations

from typing import Any

from paddock.environments.pythons import SPECIFIER_PATTERN
from paddock.environments.pytorch.builds import BACKEND_PATTERN
from paddock.kube.meta import ENVIRONMENTS, Manifest

Schema = dict[str, Any]


def build_crd() -> Manifest:
    """The CustomResourceDefinition, apiextensions.k8s.io/v1."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{ENVIRONMENTS.plural}.{ENVIRONMENTS.group}"},
        "spec": {
            "group": ENVIRONMENTS.group,
            "scope": "Cluster",
            "names": {
                "kind": ENVIRONMENTS.kind,
                "listKind": f"{ENVIRONMENTS.kind}List",
                "plural": ENVIRONMENTS.plural,
                "singular": "environment",
                "shortNames": ["env"],
            },
            "versions": [
                {
                    "name": ENVIRONMENTS.version,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": _COLUMNS,
                    "schema": {"openAPIV3Schema": _object("What an image is without a container engine.",
                                                          spec=_SPEC, status=_STATUS)},
                }
            ],
        },
    }  # fmt: skip


def _object(description: str, /, required: tuple[str, ...] = (), **properties: Schema) -> Schema:
    schema: Schema = {"type": "object", "description": description, "properties": properties}
    return schema | {"required": list(required)} if required else schema


def _text(description: str, **limits: Any) -> Schema:
    return {"type": "string", "description": description, **limits}


def _texts(description: str, **limits: Any) -> Schema:
    return {"type": "array", "description": description, "items": {"type": "string", "minLength": 1}, **limits}


_URL = r"^(https?|file)://.+|^$"
_VARIABLE = _object(
    "One environment variable.",
    ("name",),
    name=_text("Name of the variable.", minLength=1),
    value=_text("Its value; empty if absent."),
)

_SPEC = _object(
    "Which images it stands for, and what to build. Without requirements and python: the programs of this machine.",
    images=_texts(
        "Patterns of images; * stands for any text. The most specific pattern of all Environments wins, and a pod's "
        "annotation paddock.dev/environment names one directly."
    ),
    python=_text(
        "Which Python, as in requires-python: >=3.9,<3.14. The one that runs Paddock is preferred, then another of "
        "this machine; uv fetches one where none suits. Absent: one that the packages have wheels for.",
        pattern=SPECIFIER_PATTERN,
    ),
    requirements=_texts("Packages as pip takes them: paddlepaddle==3.0.0, protobuf<7."),
    indexURL=_text("The package index, in place of what uv and pip are set to.", pattern=_URL),
    extraIndexURLs=_texts("Further indexes; the best version of any is taken, as pip does."),
    pipOptions=_texts("Further lines of requirements files: -f https://…, -c numpy<2, --no-binary NAME."),
    torchBackend=_text(
        "Which build of PyTorch, where one is installed: cpu; cu128, rocm6.4 or xpu of download.pytorch.org; auto; "
        "default, what the package index has. Absent: auto with a GPU, cpu without one.",
        pattern=BACKEND_PATTERN,
    ),
    env={
        "type": "array",
        "description": "The image's environment variables; the container's own win.",
        "items": _VARIABLE,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    },
    command=_texts("The image's entry point, for containers that name no command."),
    program=_text("A training program that comes with Paddock: the content of the image's working directory."),
    verify=_text("Python code that must run in the built environment: import paddle. Its last line is shown."),
)

_STATUS = _object(
    "What is built.",
    phase=_text("Pending (built when a pod needs it), Building, Ready or Failed.",
                enum=["Pending", "Building", "Ready", "Failed"]),
    progress={"type": "integer", "description": "Per cent of the build.", "minimum": 0, "maximum": 100},
    message=_text("One sentence: what is being done, what is there, or what failed and what to do."),
    fault=_text("Of a failure: definition (the same again until it changes), machine or network.",
                enum=["definition", "machine", "network"]),
    python=_text("The version of its Python."),
    torch=_text("Which build of PyTorch it has, and where from."),
    requested=_text("The last paddock.dev/build-requested that was heeded."),
    key=_text("Names the content, also while it is built; environments with equal content share a directory."),
    path=_text("The directory on this node."),
    sizeBytes={"type": "integer", "format": "int64", "description": "Of the directory."},
)  # fmt: skip

_COLUMNS = [
    {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
    {"name": "Progress", "type": "integer", "jsonPath": ".status.progress", "description": "Per cent of the build."},
    {"name": "Image", "type": "string", "jsonPath": ".spec.images[0]", "priority": 1},
    {"name": "Message", "type": "string", "jsonPath": ".status.message", "priority": 1},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
]
