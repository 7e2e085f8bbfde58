"""A file that is no manifest: what it is, and the command that makes a job of it. Pure.

Asked only of a text in which no document has an apiVersion, and of a kustomization. What is pasted in place of a
manifest, and a template that is not filled in, are known to `manifests.pasted`.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from paddock.launches.reading import find_other_shell
from paddock.preflight import Document, read_bytes
from paddock.preflight.kinds import check_kind
from paddock.submission.configurations import explain_configuration
from paddock.words.phrases import Phrase, phrase
from paddock.words.problems import Problem
from paddock.words.sentences import told

if TYPE_CHECKING:
    from paddock.script.foreign.tools import Tool

KUSTOMIZATIONS = frozenset({"kustomization.yaml", "kustomization.yml", "Kustomization"})
_LOOKED_AT = 20_000
"""Characters from the beginning of a text: a limit for the time of a search."""
_OF_KUSTOMIZE = frozenset({
    "resources", "bases", "patches", "patchesStrategicMerge", "patchesJson6902", "namePrefix", "nameSuffix",
    "commonLabels", "labels", "commonAnnotations", "images", "configMapGenerator", "secretGenerator",
    "generatorOptions", "namespace", "components", "replicas", "replacements", "vars", "transformers",
    "generators", "helmCharts", "crds", "configurations", "openapi", "buildMetadata", "metadata", "sortOptions",
})  # fmt: skip
_JSONNET = re.compile(r"^[ \t]*(local[ \t]+\w+[ \t]*[=(]|\(?import(str)?\s+['\"]|std\.\w+\()", re.MULTILINE)
_INSTRUCTION = re.compile(r"^(RUN|COPY|ADD|CMD|ENTRYPOINT|WORKDIR|ENV|ARG|USER|EXPOSE|LABEL)\s", re.MULTILINE)
_FROM = re.compile(r"\A(?:[ \t]*(?:#.*)?\n|ARG .*\n)*FROM[ \t]+\S+")
_TARGET = re.compile(r"^([A-Za-z0-9][\w.-]*)[ \t]*:(?!=).*\n\t", re.MULTILINE)
_REPLICA_SPECS = {
    "pytorchReplicaSpecs": "PyTorchJob", "paddleReplicaSpecs": "PaddleJob", "jaxReplicaSpecs": "JAXJob",
    "tfReplicaSpecs": "TFJob", "mpiReplicaSpecs": "MPIJob", "xgbReplicaSpecs": "XGBoostJob",
}  # fmt: skip
_NAME = "metadata.name"
_SHELL = "shell"
"""The key of `script.foreign.tools.SHELL`."""


def explain_other_file(file: str, text: str, documents: Sequence[Document]) -> Problem | None:
    """What a file is that is no manifest; None for a manifest, and for a text that nobody knows. `file`: as it is
    printed, empty for a text without a name."""
    versions = [str(each.manifest["apiVersion"]) for each in documents if "apiVersion" in each.manifest]
    if not all(each.startswith("kustomize.config.k8s.io/") for each in versions):
        return None
    first = next((each for each in documents if each.manifest), Document())
    named = "FILE" if not file else "-" if file == "stdin" else shlex.quote(file)
    for explain in _KINDS:
        if said := explain(named, text[:_LOOKED_AT], first.manifest):
            return told("", said, line=1, column=1)
    from paddock.script.foreign.tools import find_tool  # late: the readers of scripts, of which a manifest needs none

    tool = find_tool(file, text, documents)
    return told("", explain_tool(tool, named), line=1, column=1) if tool is not None else None


def explain_no_script(file: str, text: str) -> Phrase | None:
    """What a file is that is neither a script nor one of another tool, where that is known by itself: a manifest, a
    program of Python, a Dockerfile. `file`: as typed, `-` for standard input."""
    if file.endswith(".py"):
        return phrase(
            "this is a Python program: `paddock init -- python3 {file}` writes its job, and "
            "`paddock run -- python3 {file}` trains it",
            file=shlex.quote(file),
        )
    documents = read_bytes(text.encode())
    if problem := explain_other_file("stdin" if file == "-" else file, text, documents):
        return problem.said
    manifest = next((each.manifest for each in documents if {"apiVersion", "kind"} <= each.manifest.keys()), None)
    if manifest is None:
        return None
    return next((each.said for each in check_kind(manifest)), None) or phrase(
        "this is a manifest: `paddock run {file}` runs it, and `paddock validate {file}` checks it",
        file=shlex.quote(file),
    )


def find_batch(file: str, text: str) -> Phrase | None:
    """What a shell script is, beside a list of commands: a batch script of Slurm, a command of arena."""
    from paddock.script.foreign.tools import find_tool  # late, as above

    tool = find_tool(file, text)
    return explain_tool(tool, shlex.quote(file)) if tool is not None and tool.key != _SHELL else None


def explain_tool(tool: Tool, file: str) -> Phrase:
    """What makes a job of a file of another tool. `file`: quoted for a shell."""
    if tool.key == _SHELL:
        return phrase(
            "this is a shell script: `paddock run -- bash {file}` runs it, and `paddock init --from {file}` makes a "
            "job of the program in it",
            file=file,
        )
    if not tool.trains:
        return phrase(
            "this is {what} that starts no training: `paddock init -- python train.py` writes the job of a program",
            what=tool.title,
        )
    return phrase(
        "this is {what}: `paddock init --from {file}` writes the job of it, and lists what it does not carry",
        what=tool.title, file=file,
    )  # fmt: skip


def explain_other_shell(shell: str) -> Phrase:
    return phrase(
        "this is a script of {shell}, and only those of sh and bash are read: `paddock init -- python train.py` writes "
        "the job of the program that it starts",
        shell=shell,
    )


def _other_shell(file: str, text: str, manifest: Mapping[str, Any]) -> Phrase | None:
    shell = find_other_shell(file, text)
    return explain_other_shell(shell) if shell else None


def _kustomization(file: str, text: str, manifest: Mapping[str, Any]) -> Phrase | None:
    is_one = manifest.get("kind") in ("Kustomization", "Component") or posixpath.basename(file) in KUSTOMIZATIONS
    own = _OF_KUSTOMIZE & manifest.keys()
    if not is_one and not (own >= {"resources"} and manifest.keys() <= _OF_KUSTOMIZE and _lists_files(manifest)):
        return None
    if posixpath.basename(file) not in KUSTOMIZATIONS:
        return phrase(
            "this is a kustomization: name it kustomization.yaml in a directory, and "
            "`kubectl kustomize DIRECTORY | paddock run -` makes manifests of it and runs them"
        )
    return explain_kustomization(posixpath.dirname(file) or ".")


def explain_kustomization(directory: str) -> Phrase:
    return phrase(
        "this is a kustomization, which kubectl makes manifests of: `kubectl kustomize {directory} | paddock run -`",
        directory=directory,
    )


def _lists_files(manifest: Mapping[str, Any]) -> bool:
    listed = manifest.get("resources")
    return isinstance(listed, list) and bool(listed) and all(isinstance(each, str) for each in listed)


def _jsonnet(file: str, text: str, manifest: Mapping[str, Any]) -> Phrase | None:
    if not file.endswith((".jsonnet", ".libsonnet")) and (manifest or not _JSONNET.search(text)):
        return None
    return phrase(
        "this is a program of Jsonnet, which prints manifests: `jsonnet {file} | paddock run -` (-y for a list)",
        file=file,
    )


def _dockerfile(file: str, text: str, manifest: Mapping[str, Any]) -> Phrase | None:
    name = posixpath.basename(file)
    is_named = re.match(r"(Dockerfile|Containerfile)(\.|$)", name) or name.endswith(".dockerfile")
    if manifest or not (is_named or (_FROM.match(text) and _INSTRUCTION.search(text))):
        return None
    return phrase(
        "this is a Dockerfile: `docker build -t IMAGE -f {file} .` makes an image, and "
        "`paddock init --image IMAGE -- python train.py` writes a job that names it",
        file=file,
    )


def _makefile(file: str, text: str, manifest: Mapping[str, Any]) -> Phrase | None:
    name = posixpath.basename(file)
    targets = [each for each in _TARGET.findall(text) if not each.startswith(".")]
    if not targets or not (name in ("Makefile", "makefile", "GNUmakefile") or name.endswith(".mk") or len(targets) > 1):
        return None
    target = next((each for each in targets if "train" in each), targets[0])
    option = "" if name in ("Makefile", "makefile", "GNUmakefile") and name == file else f" -f {file}"
    return phrase(
        "this is a Makefile: `paddock run -- make{option} {target}` runs a target", option=option, target=target
    )


def _notebook(file: str, text: str, manifest: Mapping[str, Any]) -> Phrase | None:
    if "nbformat" not in manifest and not file.endswith(".ipynb"):
        return None
    return phrase(
        "this is a notebook: `jupyter nbconvert --to script {file}` makes a program of it, and "
        "`paddock run -- python PROGRAM.py` runs that",
        file=file,
    )


def _requirements(file: str, text: str, manifest: Mapping[str, Any]) -> Phrase | None:
    if not re.fullmatch(r"requirements[\w.-]*\.(txt|in)", posixpath.basename(file)):
        return None
    return phrase("these are packages: `paddock run -r {file} -- python train.py` trains with them", file=file)


def _fragment(file: str, text: str, manifest: Mapping[str, Any]) -> Phrase | None:
    """A part of a manifest, by the fields at its top."""
    named = any(str(key).lower() in ("apiversion", "kind") for key in manifest)
    missing = () if named else _find_missing(manifest)
    if not missing:
        return None
    return phrase(
        "this is a part of a manifest, and the fields above it are missing: {fields}; "
        "`paddock init -- python train.py` writes a whole one",
        fields=", ".join(missing),
    )


def _find_missing(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    keys = manifest.keys()
    spec = manifest.get("spec")
    inner = spec if isinstance(spec, Mapping) else {}
    if field := next((each for each in _REPLICA_SPECS if each in keys), ""):
        return (*_identity(_REPLICA_SPECS[field]), _NAME, "spec")
    if field := next((each for each in _REPLICA_SPECS if each in inner), ""):
        return _identity(_REPLICA_SPECS[field]) if "metadata" in keys else (*_identity(_REPLICA_SPECS[field]), _NAME)
    if _are_roles(manifest, ("worker", "ps", "heter")):
        return (*_identity("PaddleJob", "batch.paddlepaddle.org/v1"), _NAME, "spec")
    if _are_roles(inner, ("worker", "ps", "heter")):
        missing = _identity("PaddleJob", "batch.paddlepaddle.org/v1")
        return missing if "metadata" in keys else (*missing, _NAME)
    if _are_roles(manifest, ("Master", "Worker")):
        kind = "PyTorchJob" if "Master" in keys else "PaddleJob"
        field = next(name for name, each in _REPLICA_SPECS.items() if each == kind)
        return (*_identity(kind), _NAME, f"spec.{field}")
    if "template" in keys and keys <= {"replicas", "template", "restartPolicy"}:
        return (*_identity("PyTorchJob"), _NAME, "spec.pytorchReplicaSpecs.Worker")
    if "containers" in keys:
        return (*_identity("PyTorchJob"), _NAME, "spec.pytorchReplicaSpecs.Worker.template.spec")
    return ()


def _are_roles(manifest: Mapping[str, Any], names: tuple[str, ...]) -> bool:
    roles = [manifest[name] for name in names if name in manifest]
    return bool(roles) and all(isinstance(each, Mapping) and {"template", "replicas"} & each.keys() for each in roles)


def _identity(kind: str, version: str = "kubeflow.org/v1") -> tuple[str, str]:
    return f"apiVersion: {version}", f"kind: {kind}"


_KINDS: tuple[Callable[[str, str, Mapping[str, Any]], Phrase | None], ...] = (
    _other_shell, _kustomization, _jsonnet, _dockerfile, _makefile, _notebook, _requirements,
    explain_configuration, _fragment,
)  # fmt: skip
