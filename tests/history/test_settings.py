"""What a person changed between two runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from paddock.history.records import RunRecord
from paddock.history.settings import find_run_changes

RUN = RunRecord("batch.paddlepaddle.org/v1", "PaddleJob", "default", "demo", "u", 1, 100.0, spec={"worker": {}})


def of(policy: dict[str, Any] | None, restarts: int = 0) -> RunRecord:
    return replace(
        RUN, spec={"worker": {}} if policy is None else {"worker": {}, "runPolicy": policy}, restarts=restarts
    )


@pytest.mark.parametrize(
    ("before", "now", "changes"),
    [
        (of({"backoffLimit": 0}), of({"backoffLimit": 0, "suspend": True}), []),
        (of({"suspend": True}), of(None), []),
        (of({"suspend": True}), of({"suspend": False}), []),
        (of(None), of({"backoffLimit": 0}), []),
        (of(None), of({"backoffLimit": 2}, restarts=2), []),
        (of({"backoffLimit": 2}, restarts=2), of(None), []),
        (of({}), of({"backoffLimit": 2}), ["spec.runPolicy.backoffLimit: + 2"]),
        (of({"backoffLimit": 0}), of({"backoffLimit": 3}), ["spec.runPolicy.backoffLimit: 0 → 3"]),
        (of({"cleanPodPolicy": "None"}), of({"cleanPodPolicy": "All", "suspend": True}),
         ["spec.runPolicy.cleanPodPolicy: None → All"]),
        (of({"suspend": True}), replace(RUN, spec={}), []),
    ],
)  # fmt: skip
def test_what_paddock_set_is_no_change(before: RunRecord, now: RunRecord, changes: list[str]) -> None:
    assert find_run_changes(before, now) == changes


def of_volume(path: str, name: str = "demo-rehearsal") -> RunRecord:
    volumes = [{"name": "data", "hostPath": {"path": path, "type": "Directory"}}]
    return replace(RUN, name=name, spec={"worker": {"template": {"spec": {"volumes": volumes}}}})


PLACE = "volumes[data].hostPath.path"


@pytest.mark.parametrize(
    ("before", "now", "changes"),
    [
        (of_volume("/home/ada/.paddock/rehearsals/71-ab_cd12x/data"), of_volume("/x/rehearsals/9-zz/data"), []),
        (of_volume("/x/rehearsals/71-abcd12xy/data"), of_volume("/x/rehearsals/71-abcd12xy/small"),
         [f"{PLACE}: rehearsals/data → rehearsals/small"]),
        (of_volume("/nas/1"), of_volume("/nas/2"), [f"{PLACE}: /nas/1 → /nas/2"]),
        (of_volume("/x/rehearsals/day-1/data"), of_volume("/x/rehearsals/day-2/data"),
         [f"{PLACE}: /x/rehearsals/day-1/data → /x/rehearsals/day-2/data"]),
        (of_volume("/rehearsals/1-a/data", "demo"), of_volume("/rehearsals/2-b/data", "demo"),
         [f"{PLACE}: /rehearsals/1-a/data → /rehearsals/2-b/data"]),
    ],
)  # fmt: skip
def test_the_random_directory_of_a_rehearsal_is_no_change(
    before: RunRecord, now: RunRecord, changes: list[str]
) -> None:
    assert find_run_changes(before, now) == changes


def built(environment: str, /, **annotations: str) -> RunRecord:
    template = {"metadata": {"annotations": {"paddock.dev/environment": environment}}}
    ours = {f"paddock.dev/{name}": value for name, value in annotations.items()}
    return replace(RUN, spec={"worker": {"template": template}}, annotations=ours)


@pytest.mark.parametrize(
    ("before", "now", "changes"),
    [
        (built("a"), built("b"), ["environment: a → b"]),
        (built("a", environment="a"), built("b", environment="b"), ["environment: a → b"]),
        (built("a", requirements="r.txt"), built("a", requirements="gpu.txt"), ["requirements: r.txt → gpu.txt"]),
        (built("a"), built("a", environment="a"), ["environment: + a"]),
        (built("a", uid="1"), built("a", uid="2"), []),
    ],
)
def test_another_environment_is_a_change(before: RunRecord, now: RunRecord, changes: list[str]) -> None:
    assert find_run_changes(before, now) == changes


def of_files(annotation: str, **annotations: str) -> RunRecord:
    return built("a", requirements="requirements.txt", **{"requirements-digest": annotation}, **annotations)


FILE = '{"requirements.txt": "4f1c90ab12345678"}'
CHANGED = '{"requirements.txt": "9ab23d0000000000"}'


@pytest.mark.parametrize(
    ("before", "now", "changes"),
    [
        (of_files(FILE), of_files(FILE), []),
        (of_files(FILE), of_files(CHANGED), ["requirements.txt: 4f1c90 → 9ab23d"]),
        (of_files(FILE), of_files(FILE[:-1] + ', "--add": "six, tqdm"}'), ["--add: + six, tqdm"]),
        (of_files(FILE[:-1] + ', "--add": "six"}'), of_files(CHANGED[:-1] + ', "--add": "tqdm"}'),
         ["requirements.txt: 4f1c90 → 9ab23d", "--add: six → tqdm"]),
        (of_files(FILE), of_files('{"gpu.txt": "9ab23d"}'), []),  # the name of the file is told beside this
        (built("a", requirements="requirements.txt"), of_files(FILE), []),  # a run of an earlier version
        (of_files(FILE), of_files("no JSON"), []),
        (of_files("[1]"), of_files(CHANGED), []),
        (of_files('{"requirements.txt": 1}'), of_files(CHANGED), []),
    ],
)  # fmt: skip
def test_a_requirements_file_that_changed_under_its_path_is_a_change(
    before: RunRecord, now: RunRecord, changes: list[str]
) -> None:
    assert find_run_changes(before, now) == changes
