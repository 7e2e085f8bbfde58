"""What the check of one text costs, whatever stands in it: each kind has 64 KiB, and a bound in milliseconds.

Two numbers of a text must not be multiplied: its mounts by its volumes (53 s once), its unknown fields by the fields of
the schema (3 s). A bound is about what a quiet machine takes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest

from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.jobs.datasets import plan_gate
from paddock.jobs.model import Datasets
from paddock.kube.nearness import MOST_ASKED, Suggestions
from paddock.launches.budget import LARGEST_COMMAND
from paddock.launches.reading import read_container
from paddock.manifests.yaml_nodes import Document, Position
from paddock.preflight import check, read_documents
from support.tiers import keep_light

SIZE = 64 * 1024
BUSY = 4
"""Times that a machine is slower on which other tests run."""

Manifest = Mapping[str, Any]


def job(containers: list[Any] | None = None, **pod: Any) -> dict[str, Any]:
    template = {"spec": {"containers": containers or [trainer()], **pod}}
    return {
        "apiVersion": PADDLEPADDLE.resource.api_version,
        "kind": "PaddleJob",
        "metadata": {"name": "job", "namespace": "team"},
        "spec": {"worker": {"replicas": 1, "template": template}},
    }


def trainer(**fields: Any) -> dict[str, Any]:
    return {"name": "paddle", "image": "x", "command": ["python", "train.py"], **fields}


def mounts(count: int, length: int = 60) -> dict[str, Any]:
    volumes = [{"name": f"{number:0{length}d}".replace("0", "a"), "emptyDir": {}} for number in range(count)]
    wrong = [
        {"name": f"{number + 10**5:0{length}d}".replace("0", "a"), "mountPath": f"/m{number}"}
        for number in range(count)
    ]
    return job([trainer(volumeMounts=wrong)], volumes=volumes)


def of_job(**metadata: Any) -> dict[str, Any]:
    return {**job(), "metadata": {"name": "job", **metadata}}


def deep(count: int) -> dict[str, Any]:
    value: Any = "x"
    for _ in range(60):
        value = {"a": value}
    return job(affinity={f"a{number}": value for number in range(count)})


KINDS: dict[str, tuple[Callable[[int], Manifest], int]] = {
    "variables, all of them right": (
        lambda count: job([trainer(env=[{"name": f"A_{each}", "value": "x"} for each in range(count)])]),
        200,
    ),
    "mounts of long names that no volume has": (mounts, 220),
    "mounts of short names that no volume has": (lambda count: mounts(count, 8), 250),
    "variables with a misspelt field": (
        lambda count: job([trainer(env=[{"name": f"A{each:028d}", "vaIue": "x"} for each in range(count)])]),
        450,
    ),
    "one variable again and again": (lambda count: job([trainer(env=[{"name": "A", "value": "x"}] * count)]), 300),
    "variables with unknown fields": (
        lambda count: job([trainer(env=[{"name": "A", f"k{each}": 1} for each in range(count)])]),
        300,
    ),
    "unknown fields like a known one": (lambda count: job(**{f"conta{each}ners": [1] for each in range(count)}), 250),
    "unknown fields like none": (lambda count: job(**{f"replic{each}": 1 for each in range(count)}), 300),
    "fields at the wrong level": (lambda count: job([trainer(replicas=1)] * count), 500),
    "roles that are none": (
        lambda count: {**job(), "spec": {f"worker{each}": job()["spec"]["worker"] for each in range(count)}},
        250,
    ),
    "claims": (
        lambda count: job(
            volumes=[
                {"name": f"v{each}", "persistentVolumeClaim": {"claimName": f"dataset-{each:040d}"}}
                for each in range(count)
            ]
        ),
        150,
    ),
    "wrong choices": (lambda count: job([trainer(imagePullPolicy="alway")] * count), 400),
    "resources that are none": (
        lambda count: job([trainer(resources={"limits": {f"memor{each}": "1" for each in range(count)}})]),
        500,
    ),
    "wrong labels": (lambda count: of_job(labels={f"-a{each}": "b c" for each in range(count)}), 600),
    "ports that are taken": (
        lambda count: job([trainer(ports=[{"containerPort": 1, "hostPort": 2}] * count)]),
        300,
    ),
    "mounted datasets": (
        lambda count: of_job(
            annotations={"paddock.dev/datasets": ",".join(f"a{each}:/data/{each}" for each in range(count))}
        ),
        12,
    ),
    "values of the wrong type": (lambda count: job([trainer(env=[{"name": 1, "value": 2}] * count)]), 500),
    "deep and wide": (deep, 250),
}


def of_shell(text: str) -> dict[str, Any]:
    return job([trainer(command=["bash", "-c", text])])


SCRIPTS: dict[str, tuple[Callable[[int], str], int]] = {
    "a script": (lambda count: "\n".join(f"python a{n}.py $A" for n in range(count)), 900),
    "launchers": (lambda count: "torchrun -t 3 a.py\n" * count, 900),
    "substitutions within each other": (lambda count: "x; $(" * count, 900),
    "defaults within defaults": (lambda count: "x; y " + "${a:-" * count + "}" * count, 300),
    "a launcher within itself": (lambda count: "mpirun " * count, 900),
    "a number of many digits": (lambda count: f"torchrun --nnodes {'9' * count} t.py", 100),
}
"""Texts of a shell, of which more than LARGEST_COMMAND is not read at all."""


def fill(make: Callable[[int], Manifest]) -> str:
    """The text of the kind with so many parts that it has about 64 KiB."""
    count = 64
    for _ in range(4):
        count = max(1, count * SIZE // len(json.dumps(make(count))))
    return json.dumps(make(count))


def is_cheap(work: Callable[[], object], milliseconds: float) -> bool:
    """Whether one of three tries takes so much of the CPU at most."""
    for _ in range(3):
        begun = time.thread_time()
        work()
        if (time.thread_time() - begun) * 1000 < milliseconds * BUSY:
            return True
    return False


@pytest.mark.parametrize(
    "kind",
    keep_light(KINDS, ["mounts of long names that no volume has", "unknown fields like a known one", "deep and wide"]),
)
@pytest.mark.slow
def test_a_text_of_64_kib_costs_what_its_length_costs(kind: str) -> None:
    make, bound = KINDS[kind]
    text = fill(make)
    assert SIZE * 0.7 < len(text) < SIZE * 1.3
    assert is_cheap(lambda: [problem for document in read_documents(text) for problem in check(document)], bound)


@pytest.mark.parametrize("kind", keep_light(SCRIPTS, ["a script", "a number of many digits"]))
def test_the_largest_text_of_a_shell_that_is_read_costs_what_its_length_costs(kind: str) -> None:
    make, bound = SCRIPTS[kind]
    count = LARGEST_COMMAND // len(make(1))
    while len(make(count)) > LARGEST_COMMAND:
        count -= 1 + count // 100
    while len(make(count + 1)) <= LARGEST_COMMAND:
        count += 1
    text = make(count)
    assert LARGEST_COMMAND * 0.99 < len(text) <= LARGEST_COMMAND
    assert read_container(of_shell(text)["spec"]["worker"]["template"]["spec"]["containers"][0]).launches
    document = Document(of_shell(text))
    assert is_cheap(lambda: list(check(document)), bound)


@pytest.mark.parametrize("count", [20, 250])
def test_mounts_times_volumes_cost_as_a_sum(count: int) -> None:
    """A job of 7.6 KiB cost 11 s, one of 45 KiB more than a minute."""
    document = Document(mounts(count))
    found = check(document)
    assert len(found) == count
    assert sum(1 for each in found if each.suggestion) == min(count, MOST_ASKED)
    assert max(len(each.message) for each in found) < 2_000
    assert is_cheap(lambda: check(document), 100)


def test_a_question_that_was_answered_is_answered_again() -> None:
    suggestions = Suggestions()
    names = [f"worker-{number}" for number in range(100)]
    answers = [suggestions.nearest(f"worke-{number}", names) for number in range(100)]
    assert sum(1 for each in answers if each) == MOST_ASKED
    assert suggestions.nearest("worke-1", names) == "worker-1"
    assert suggestions.nearest("worke-99", names) == ""


def test_a_job_that_waits_for_one_of_many_datasets_is_planned_at_once() -> None:
    """The operator looks for the nearest of all datasets of a namespace, on the loop that serves all tenants."""
    known = tuple(f"{'a' * 235}{number:05d}" for number in range(5_000))
    mounted = of_job(uid="u", annotations={"paddock.dev/datasets": f"{'a' * 230}bcd:/data"})
    waiting = PADDLEPADDLE.read_job(mounted)
    assert is_cheap(lambda: plan_gate(waiting, Datasets({}, known)), 12)


def test_the_line_of_a_field_is_found_however_long_its_name_is() -> None:
    """As of a name that `<<` merges: nothing in the text has its path."""
    document = Document({}, {"metadata.labels": Position(3, 1, 1)})
    for name in ("a." * 100_000, f"{'a' * 100_000}]b", "a]" * 100_000):
        path = f"metadata.labels[{name}]"
        assert document.line_of(path) == 3
        assert is_cheap(partial(document.line_of, path), 10)
