"""The variables that the user's container sets itself, beside those that Paddock sets: which win, and what is told.

    set for a rank     Paddock's replace the user's: a worker's PADDLE_TRAINER_ID, POD_IP, PADDLE_MASTER of kubeflow.org
    set for all ranks  Paddock's replace the user's, as peers read the same endpoints: PADDLE_PORT, PADDLE_TRAINERS_NUM
    left out           the rank gets none, as it would fail with one: PADDLE_TRAINER_ID of a parameter server
    kept               the user's replaces ours where ranks need not agree, or may have another way to meet: PyTorch's,
                       but for the number of a rank (`frameworks.OwnVariables.kept`), and for values with which ranks
                       cannot meet (`replaced`)

The shared ones come from a ConfigMap by `envFrom`, and in Kubernetes `env` wins over `envFrom`, so a pod has the user's
entry only where it is to win (`objects.pods`). The user's own `envFrom` never wins: of two sources the last counts, and
that is Paddock's. Both the pod and the warning follow from the functions here. Of a value that is the same as Paddock's
nothing is told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from paddock.jobs.frameworks import EnvVar
from paddock.jobs.frameworks.registry import FRAMEWORKS, main_container
from paddock.jobs.model import Job, Rank, Role
from paddock.words.phrases import Phrase, phrase
from paddock.words.problems import Problem
from paddock.words.sentences import told

ATTEMPT = "PADDOCK_ATTEMPT"
OUTPUTS, CHECKPOINTS = "PADDOCK_OUTPUT_DIR", "PADDOCK_CHECKPOINT_DIR"
"""Set on a laptop, unless the container sets them itself; a cluster has volumes."""
UNBUFFERED = "PYTHONUNBUFFERED"
"""Of Python: what is printed is written at once."""
METRICS = "PADDOCK_METRICS"
"""The file of a rank's own into which its program writes metrics, a JSON object in each line. Like the two above."""


def merge_variables(job: Job, rank: Rank, theirs: Sequence[EnvVar], ours: Sequence[EnvVar]) -> list[EnvVar]:
    """The `env` of the container that trains. `theirs`: the template's; `ours`: what Paddock sets for the rank."""
    said = {entry["name"] for entry in theirs}
    corrected = FRAMEWORKS[job.framework].build_corrected(job, rank)
    own = FRAMEWORKS[job.framework].own_variables(job, rank.role)
    kept = (said & own.kept) - own.replaced.keys()
    ours = [entry for entry in ours if entry["name"] not in kept]
    ours += [entry for entry in corrected if entry["name"] in said]
    shared = said.intersection(_shared_names(job)) if said else set()
    replaced = {entry["name"] for entry in ours} | (shared - kept) | {*own.left_out}
    # Kubernetes expands `$(NAME)` from earlier entries alone, so the user's may refer to Paddock's.
    return [*ours, *(entry for entry in theirs if entry["name"] not in replaced)]


def read_variable_notices(job: Job, path_of: Callable[[Role], str]) -> Iterator[Problem]:
    """A warning for each variable of the user's that Paddock overwrites, or that does not do what it seems to."""
    named = {entry["name"] for role in job.roles for entry in _read_env(job, role)}
    # Once, as it has the endpoints of all ranks.
    shared = _shared(job) if named.intersection(_shared_names(job)) else {}
    for role in job.roles:
        index, entries = main_container(job, role.template["spec"]["containers"]), _read_env(job, role)
        ours = [_of_rank(job, rank) for rank in role.ends()] if entries else []
        for number, entry in enumerate(entries):
            said = _judge(job, role, entry, [each[entry["name"]] for each in ours if entry["name"] in each], shared)
            if said is not None:
                path = f"{path_of(role)}.template.spec.containers[{index}].env[{number}].name"
                yield told(path, said, entry["name"], severity="warning")


def _judge(
    job: Job, role: Role, entry: Mapping[str, Any], ours: Sequence[EnvVar], shared: Mapping[str, str]
) -> Phrase | None:
    """`ours`: the entries of this name that ranks get; `shared`: what all ranks share."""
    name, own = entry["name"], FRAMEWORKS[job.framework].own_variables(job, role.name)
    if ours and _is_corrected(job, name):
        said = phrase("is overwritten: each rank gets a {name} of its own, its index", name=name)
        return None if _is_index(entry) or all(_same(entry, each) for each in ours) else said
    if ours:
        said = phrase("is overwritten: Paddock sets {name} for each rank; remove the entry", name=name)
        if all(_same(entry, each) for each in ours):
            return None
        return own.replaced.get(name) or (_keep(job, name) if name in own.kept else said)
    if told_apart := own.left_out.get(name) or own.beside.get(name):
        return told_apart
    if name not in shared or entry.get("value") == shared[name]:
        return None
    if name in own.kept:
        return _keep(job, name)
    return phrase(
        "is overwritten: Paddock sets {name} for all ranks, as it must agree with the endpoints of the job; remove the "
        "entry",
        name=name,
    )


def _keep(job: Job, name: str) -> Phrase:
    """What becomes of a variable of the template's that wins; advice where roles differ in it."""
    said = phrase("is kept: it takes the place of the {name} that Paddock sets for all ranks", name=name)
    given = [[each for each in _read_env(job, role) if each["name"] == name] for role in job.roles if role.replicas]
    if all(each == given[0] for each in given):
        return said
    return phrase("{said}; give every role the same", said=said)


def _read_env(job: Job, role: Role) -> Sequence[Mapping[str, Any]]:
    """The variables of the container that trains."""
    containers = role.template["spec"]["containers"]
    return containers[main_container(job, containers)].get("env") or ()


def _of_rank(job: Job, rank: Rank) -> dict[str, EnvVar]:
    framework = FRAMEWORKS[job.framework]
    entries = [*framework.build_environment(job, rank, None), *framework.build_corrected(job, rank)]
    names = (*framework.build_references(job, rank), ATTEMPT)
    return {name: {"name": name} for name in names} | {entry["name"]: entry for entry in entries}


def _is_corrected(job: Job, name: str) -> bool:
    first = next(rank for role in job.roles for rank in role.ends())
    return any(entry["name"] == name for entry in FRAMEWORKS[job.framework].build_corrected(job, first))


def _is_index(entry: Mapping[str, Any]) -> bool:
    """Whether the entry is the rank's index, from the label that Kubeflow's operator and ours set."""
    return re.fullmatch(r"metadata\.labels\['.*/replica-index'\]", str(_field(entry))) is not None


def _same(entry: Mapping[str, Any], ours: EnvVar) -> bool:
    return (entry.get("value"), _field(entry)) == (ours.get("value"), _field(ours))


def _field(entry: Mapping[str, Any]) -> Any:
    """The path of a fieldRef; anything else that is not a plain value as it is."""
    source = entry.get("valueFrom")
    reference = source.get("fieldRef") if isinstance(source, Mapping) else None
    return reference.get("fieldPath") if isinstance(reference, Mapping) else source


def _shared_names(job: Job) -> Collection[str]:
    """The keys of the ConfigMap. They do not depend on the number of ranks, and a pod of thousands asks for them."""
    return _shared(replace(job, roles=tuple(replace(role, replicas=min(1, role.replicas)) for role in job.roles)))


def _shared(job: Job) -> dict[str, str]:
    """The data of the ConfigMap, with a rank's name for its address."""
    framework = FRAMEWORKS[job.framework]
    if not framework.needs_addresses(job):
        return {}
    return framework.build_endpoints(job, {rank: str(rank) for rank in job.ranks()}, framework.default_port)


def read_own_directory(spec: object) -> str:
    """The absolute path that a job's containers set PADDOCK_OUTPUT_DIR to themselves, if they agree; else empty.

    `spec`: of a job of any kind. A value that refers to another variable (`$(NAME)`) is none.
    """
    found = set(_values_of(OUTPUTS, spec))
    path = found.pop() if len(found) == 1 else ""
    return path if path.startswith("/") and "$(" not in path else ""


def _values_of(name: str, value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        if value.get("name") == name and "value" in value:
            yield str(value["value"])
        for each in value.values():
            yield from _values_of(name, each)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for each in value:
            yield from _values_of(name, each)
