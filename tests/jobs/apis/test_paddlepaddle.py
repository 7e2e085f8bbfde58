"""batch.paddlepaddle.org/v1: one good base and one change per row; the status there and back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jobs.anything import ARGS, COUNTS, FULL, JSON, MOMENTS, merged
from jobs.samples import JOBS, read_manifest, read_sample, with_value
from paddock.jobs.apis.registry import KINDS, PADDLEPADDLE
from paddock.jobs.model import (
    CauseRecord,
    CleanPods,
    Counts,
    Intranet,
    Phase,
    PodRef,
    Policies,
    RestartPolicy,
    Scheduling,
    Status,
    Successes,
)
from paddock.kube.meta import Manifest
from paddock.words.problems import InvalidJob

WORKER = ("spec", "worker")
TEMPLATE = (*WORKER, "template", "spec")
CONTAINER = (*TEMPLATE, "containers", 0)


def refused(manifest: Manifest) -> dict[str, str]:
    with pytest.raises(InvalidJob) as caught:
        PADDLEPADDLE.read_job(manifest)
    return {problem.path: problem.message for problem in caught.value.problems if problem.severity == "error"}


@pytest.mark.parametrize("name", JOBS)
def test_the_documents_jobs_are_read(name: str) -> None:
    job = read_sample(name)
    assert [role.name for role in job.roles] in (["ps", "worker"], ["worker"])
    assert [role.decides for role in job.roles if role.name == "ps"] in ([], [False])
    assert job.role("worker") and job.mode in ("PS", "Collective")


MODES = [
    ("wide_and_deep", {}, "PS"),
    ("resnet", {}, "Collective"),
    ("resnet", {"replicas": 1}, "Single"),
    ("wide_and_deep", {"replicas": 1}, "PS"),
]


@pytest.mark.parametrize(("name", "change", "mode"), MODES)
def test_the_mode_follows_from_the_roles(name: str, change: dict[str, Any], mode: str) -> None:
    manifest = read_manifest(name)
    manifest["spec"]["worker"] |= change
    assert PADDLEPADDLE.read_job(manifest).mode == mode


READ = [
    ("cleanPodPolicy", ..., "policies.clean_pods", CleanPods.ON_COMPLETION),
    ("cleanPodPolicy", "", "policies.clean_pods", CleanPods.ON_COMPLETION),
    ("cleanPodPolicy", "OnFailure", "policies.clean_pods", CleanPods.ON_FAILURE),
    ("intranet", ..., "network.intranet", Intranet.POD_IP),
    ("intranet", "Host", "network.intranet", Intranet.HOST),
    ("withGloo", ..., "network.gloo", 0),
    ("withGloo", 2, "network.gloo", 2),
    (
        "schedulingPolicy",
        {"minAvailable": 3, "queue": "q", "priorityClass": "p"},
        "scheduling",
        Scheduling(3, "q", "p"),
    ),
    (
        "runPolicy",
        {"backoffLimit": 3, "activeDeadlineSeconds": 60, "ttlSecondsAfterFinished": 0, "suspend": True},
        "policies",
        Policies(3, 60.0, 0.0, True, CleanPods.NEVER),
    ),
]


@pytest.mark.parametrize(("field", "value", "attribute", "expected"), READ)
def test_a_field_of_the_spec_is_read(field: str, value: Any, attribute: str, expected: Any) -> None:
    manifest = read_manifest("wide_and_deep")
    manifest["spec"].pop(field, None)
    if value is not ...:
        manifest["spec"][field] = value
    found: Any = PADDLEPADDLE.read_job(manifest)
    for part in attribute.split("."):
        found = getattr(found, part)
    assert found == expected


def test_the_run_policy_cleans_where_the_spec_says_nothing() -> None:
    manifest = with_value(read_manifest("resnet"), ("spec", "cleanPodPolicy"), ...)
    manifest["spec"]["runPolicy"] = {"cleanPodPolicy": "All"}
    assert PADDLEPADDLE.read_job(manifest).policies.clean_pods is CleanPods.ALWAYS


def test_the_other_spelling_of_the_clean_up_policy_is_honoured_with_a_warning() -> None:
    job = read_sample("paddlejob_demo_1", cleanPolicy="Always")
    assert job.policies.clean_pods is CleanPods.ALWAYS
    assert [(warning.path, warning.severity) for warning in job.warnings] == [("spec.cleanPolicy", "warning")]


def test_the_right_spelling_of_the_clean_up_policy_wins_over_the_other() -> None:
    job = read_sample("paddlejob_demo_1", cleanPolicy="Always", cleanPodPolicy="Never")
    assert job.policies.clean_pods is CleanPods.NEVER


RESTARTS = [
    ({}, {}, RestartPolicy.NEVER, RestartPolicy.NEVER),
    ({"intranet": "Service"}, {}, RestartPolicy.ON_FAILURE, RestartPolicy.NEVER),
    ({"intranet": "Service"}, {"restartPolicy": "Never"}, RestartPolicy.NEVER, RestartPolicy.NEVER),
    ({}, {"restartPolicy": "OnFailure"}, RestartPolicy.ON_FAILURE, RestartPolicy.NEVER),
    ({"elastic": 1}, {"restartPolicy": "Never"}, RestartPolicy.ON_FAILURE, RestartPolicy.ON_FAILURE),
    ({"elastic": 0}, {"restartPolicy": "Never"}, RestartPolicy.ON_FAILURE, RestartPolicy.ON_FAILURE),
]


@pytest.mark.parametrize(("spec", "template", "worker", "ps"), RESTARTS)
def test_a_role_restarts_as_with_paddle_operator(
    spec: dict[str, Any], template: dict[str, Any], worker: RestartPolicy, ps: RestartPolicy
) -> None:
    manifest = read_manifest("wide_and_deep")
    manifest["spec"] |= spec
    manifest["spec"]["worker"]["template"]["spec"] |= template
    roles = {role.name: role.restart for role in PADDLEPADDLE.read_job(manifest).roles}
    assert roles == {"ps": ps, "worker": worker}


REPLICAS = "a whole number from 1 to 10000"
REFUSED: list[tuple[tuple[str | int, ...], Any, str, str]] = [
    ((*WORKER, "replicas"), 0, "spec.worker.replicas", f"found 0, {REPLICAS} is allowed"),
    ((*WORKER, "replicas"), -1, "spec.worker.replicas", f"found -1, {REPLICAS} is allowed"),
    ((*WORKER, "replicas"), "two", "spec.worker.replicas", f'found "two", {REPLICAS} is allowed'),
    ((*WORKER, "replicas"), 10**9, "spec.worker.replicas", f"found 1000000000, {REPLICAS} is allowed"),
    ((*WORKER, "replicas"), True, "spec.worker.replicas", f"found true, {REPLICAS} is allowed"),
    ((*WORKER, "replicas"), 1.5, "spec.worker.replicas", f"found 1.5, {REPLICAS} is allowed"),
    ((*WORKER, "replicas"), ..., "spec.worker.replicas", f"is missing: {REPLICAS} is needed"),
    (
        (*WORKER, "replicas"),
        9_999,
        "spec",
        "found 10001, a job of at most 10000 pods in all is allowed",
    ),
    (
        (*WORKER, "template"),
        ...,
        "spec.worker.template",
        "is missing: a pod template with at least one container is needed",
    ),
    (
        (*TEMPLATE, "containers"),
        [],
        "spec.worker.template.spec.containers",
        "found an empty list, a list with at least one container is allowed",
    ),
    (
        (*TEMPLATE, "containers"),
        ...,
        "spec.worker.template.spec.containers",
        "is missing: a list with at least one container is needed",
    ),
    (TEMPLATE, 7, "spec.worker.template.spec", "found 7, a mapping is allowed"),
    (WORKER, ..., "spec.worker", "is missing: every job trains in its workers, with parameter servers too"),
    (("spec",), ..., "spec.worker", "is missing: every job trains in its workers, with parameter servers too"),
    (
        ("spec", "cleanPodPolicy"),
        7,
        "spec.cleanPodPolicy",
        "found 7, Always, Never, OnFailure or OnCompletion is allowed",
    ),
    (
        ("spec", "intranet"),
        "service",
        "spec.intranet",
        'found "service", PodIP, Service or Host is allowed; did you mean "Service"?',
    ),
    (("spec", "withGloo"), 3, "spec.withGloo", "found 3, a whole number from 0 to 2 is allowed"),
    (("spec", "runPolicy"), [], "spec.runPolicy", "found an empty list, a mapping is allowed"),
    (
        ("spec", "runPolicy", "suspend"),
        "yes",
        "spec.runPolicy.suspend",
        'found "yes", true or false is allowed',
    ),
    (
        (*TEMPLATE, "restartPolicy"),
        "Always",
        "spec.worker.template.spec.restartPolicy",
        'found "Always", Never or OnFailure (a rank that has ended well must not start again) is allowed',
    ),
    (
        (*TEMPLATE, "restartPolicy"),
        "OnFailur",
        "spec.worker.template.spec.restartPolicy",
        'found "OnFailur", Never or OnFailure is allowed; did you mean "OnFailure"?',
    ),
    (
        (*CONTAINER, "env"),
        [{"name": "A", "value": 1}],
        "spec.worker.template.spec.containers[0].env[0].value",
        'found 1, text is allowed; write "1"',
    ),
    (
        (*CONTAINER, "args"),
        [1],
        "spec.worker.template.spec.containers[0].args[0]",
        'found 1, text is allowed; write "1"',
    ),
    (
        (*CONTAINER, "image"),
        ...,
        "spec.worker.template.spec.containers[0].image",
        "is missing: the name of an image is needed",
    ),
    (
        (*CONTAINER, "resources"),
        {"limits": {"nvidia.com/gpu": "one"}},
        "spec.worker.template.spec.containers[0].resources.limits[nvidia.com/gpu]",
        'found "one", an amount like 2, "500m" or "1Gi" is allowed',
    ),
    (
        ("metadata", "name"),
        "a" * 245,
        "metadata.name",
        f'found "{"a" * 60}…" (245 characters), a name of at most 244 characters is allowed: '
        'with "-worker-1" it names a pod, in at most 253',
    ),
    (
        ("metadata", "name"),
        "Wide",
        "metadata.name",
        'found "Wide", a name of a-z 0-9 - ., beginning and ending with a letter or digit, around dots too, '
        'is allowed; did you mean "wide"?',
    ),
]


@pytest.mark.parametrize(("path", "value", "at", "message"), REFUSED)
def test_a_wrong_value_is_refused_with_where_what_and_what_is_allowed(
    path: tuple[str | int, ...], value: Any, at: str, message: str
) -> None:
    assert refused(with_value(read_manifest("wide_and_deep"), path, value)) == {at: message}


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("spec", "worker", "requests"), 1, "is not read, and no version of paddle-operator read it"),
        (("spec", "ps", "limits"), 4, "is not read, and no version of paddle-operator read it"),
        (
            ("spec", "heter"),
            {"replicas": 1, "template": FULL},
            "heterogeneous parameter servers are in PaddlePaddle 2.3 to 3.0 alone",
        ),
    ],
)
def test_what_is_declared_and_does_nothing_is_told(path: tuple[str, ...], value: Any, said: str) -> None:
    warnings = PADDLEPADDLE.read_job(with_value(read_manifest("wide_and_deep"), path, value)).warnings
    assert [(each.path, said in str(each.message)) for each in warnings if each.path == ".".join(path)] == [
        (".".join(path), True)
    ]


def test_the_longest_name_that_fits_is_taken() -> None:
    manifest = with_value(read_manifest("wide_and_deep"), ("metadata", "name"), "a" * 244)
    assert PADDLEPADDLE.read_job(manifest).key.name == "a" * 244
    manifest["spec"]["worker"]["replicas"] = 11
    assert "metadata.name" in refused(manifest)


@pytest.mark.parametrize("name", ["1st", "wide.and.deep", "2026.03-run", "x" * 100])
def test_every_name_of_a_custom_resource_is_one_of_a_job(name: str) -> None:
    assert PADDLEPADDLE.read_job(with_value(read_manifest("wide_and_deep"), ("metadata", "name"), name)).warnings == ()


@pytest.mark.parametrize("name", ["a..b", "a.-b", "a-", ".a", "a_b"])
def test_what_is_no_name_of_a_custom_resource_is_refused(name: str) -> None:
    assert set(refused(with_value(read_manifest("wide_and_deep"), ("metadata", "name"), name))) == {"metadata.name"}


@pytest.mark.parametrize(("length", "warned"), [(201, False), (202, True)])
def test_a_name_of_which_no_kubelet_starts_a_pod_is_taken_with_a_warning(length: int, warned: bool) -> None:
    """217 for namespace and pod: `default` has 7 of them, `-worker-1` 9."""
    job = PADDLEPADDLE.read_job(with_value(read_manifest("wide_and_deep"), ("metadata", "name"), "a" * length))
    assert ["there is room for 201 characters of this name" in str(each.message) for each in job.warnings] == (
        [True] if warned else []
    )


@pytest.mark.parametrize(("prefix", "fits"), [("a" * 238 + "-", True), ("a" * 239 + "-", False), ("A-", False)])
def test_a_generated_name_must_fit_with_what_the_server_appends(prefix: str, fits: bool) -> None:
    manifest = read_manifest("wide_and_deep")
    manifest["metadata"] = {"generateName": prefix}
    if fits:
        PADDLEPADDLE.read_job(manifest)
    else:
        assert set(refused(manifest)) == {"metadata.generateName"}


def test_every_problem_is_told_at_once() -> None:
    manifest = with_value(read_manifest("wide_and_deep"), (*WORKER, "replicas"), 0)
    manifest = with_value(manifest, ("spec", "ps", "replicas"), "two")
    manifest = with_value(manifest, ("spec", "intranet"), "Hostnetwork")
    assert set(refused(manifest)) == {"spec.worker.replicas", "spec.ps.replicas", "spec.intranet"}


REFS = st.lists(st.builds(PodRef, *[st.text(max_size=5)] * 3), min_size=1, max_size=3).map(tuple)


def read_back(status: Status) -> Status:
    """Refs stand beside counts: of a role without counts there are none."""
    return replace(status, refs={role: refs for role, refs in status.refs.items() if role in status.roles})


SUCCESSES = st.builds(Successes, st.frozensets(st.integers(0, 9_999), min_size=1, max_size=9), MOMENTS)
STATUSES = st.builds(
    Status,
    phase=st.sampled_from(Phase),
    mode=st.sampled_from(["", "PS", "Collective", "Single"]),
    attempt=st.integers(0, 1000),
    restarts=st.integers(0, 1000),
    roles=st.dictionaries(st.sampled_from(["ps", "worker", "heter"]), COUNTS),
    cause=st.none() | st.builds(CauseRecord, st.text(min_size=1, max_size=9), ARGS, MOMENTS),
    refs=st.dictionaries(st.sampled_from(["ps", "worker", "heter"]), REFS),
    started=MOMENTS,
    finished=MOMENTS,
    succeeded=st.dictionaries(st.sampled_from(["ps", "worker", "heter"]), SUCCESSES),
    observed_generation=st.integers(0, 1000),
).map(lambda status: status if status.phase.terminal else replace(status, finished=None))
"""An end has a time, and nothing else has it."""


@given(STATUSES, STATUSES)
def test_a_status_that_was_written_over_another_reads_back(before: Status, after: Status) -> None:
    assume(not before.phase.terminal or after.phase is before.phase)
    first = merged({}, PADDLEPADDLE.write_status({}, before, 0.0))
    assert PADDLEPADDLE.read_status({"status": first}) == read_back(before)
    foreign = first | {"conditions": [{"type": "Theirs"}], "elastic": "NONE"}
    second = merged(foreign, PADDLEPADDLE.write_status(foreign, after, 0.0))
    assert PADDLEPADDLE.read_status({"status": second}) == read_back(after)
    assert (second["conditions"][0], second["elastic"]) == ({"type": "Theirs"}, "NONE")
    assert merged(second, PADDLEPADDLE.write_status(second, after, 1.0)) == second


@given(JSON)
def test_any_status_can_be_read_and_written_over(raw: Any) -> None:
    manifest = {"status": raw, "spec": raw}
    status = PADDLEPADDLE.read_status(manifest)
    previous = raw if isinstance(raw, dict) else {}
    written = merged(previous, PADDLEPADDLE.write_status(previous, status, 0.0))
    assert PADDLEPADDLE.read_status({"status": written}) == status


def test_the_status_has_paddle_operators_shape() -> None:
    status = Status(
        phase=Phase.RUNNING,
        mode="PS",
        roles={"ps": Counts(2, running=2), "worker": Counts(2, running=1, starting=1)},
        refs={"worker": (PodRef("team", "demo-worker-0", "u"),)},
        started=0.0,
    )
    ref = {"apiVersion": "v1", "kind": "Pod", "namespace": "team", "name": "demo-worker-0", "uid": "u"}
    running = {"type": "Running", "status": "True", "reason": "Running", "message": "all ranks run"}
    assert PADDLEPADDLE.write_status({}, status, 0.0) == {
        "phase": "Running",
        "mode": "PS",
        "attempt": 0,
        "restarts": 0,
        "startTime": "1970-01-01T00:00:00Z",
        "ps": {"ready": "2/2", "running": 2},
        "worker": {"ready": "1/2", "running": 1, "starting": 1, "refs": [ref]},
        "conditions": [running | {"lastTransitionTime": "1970-01-01T00:00:00Z"}],
    }


def test_a_status_of_paddle_operator_is_read() -> None:
    raw = {"phase": "Completed", "mode": "PS", "ps": {"running": 2}, "worker": {"succeeded": 2, "refs": []}}
    manifest = {"spec": {"ps": {"replicas": 2}, "worker": {"replicas": 2}}, "status": raw}
    status = PADDLEPADDLE.read_status(manifest)
    assert status.roles == {"ps": Counts(2, running=2), "worker": Counts(2, succeeded=2)}
    assert (status.phase, status.attempt) == (Phase.COMPLETED, 0)


def test_a_role_that_paddle_operator_left_out_has_no_pods_yet_and_starting_may_be_half_a_gang() -> None:
    raw = {"phase": "Starting", "mode": "PS", "ps": {"starting": 2}}
    manifest = {"spec": {"ps": {"replicas": 2}, "worker": {"replicas": 3}}, "status": raw}
    status = PADDLEPADDLE.read_status(manifest)
    assert status.roles == {"ps": Counts(2, starting=2), "worker": Counts(3)}
    assert (status.phase, PADDLEPADDLE.read_status({**manifest, "status": raw | {"attempt": 0}}).phase) == (
        Phase.PENDING,
        Phase.STARTING,
    )


@pytest.mark.parametrize("phase", ["Restarting", "Suspended", "Scaling", "Aborted", "Succeed", "Unknown"])
def test_a_phase_that_paddle_operator_never_set_is_not_recorded(phase: str) -> None:
    assert PADDLEPADDLE.read_status({"status": {"phase": phase}}).phase is Phase.NONE


def test_every_kind_is_registered_under_its_own_resource() -> None:
    assert all(api.resource == resource for resource, api in KINDS.items())


@pytest.mark.parametrize("field", ["cleanPodPolicy", "cleanPolicy"])
@pytest.mark.parametrize(("value", "near"), [("OnFailed", "OnFailure"), ("Nerver", "Never"), ("None at all", "")])
def test_a_clean_up_policy_that_nobody_knows_keeps_pods_as_with_paddle_operator(
    field: str, value: str, near: str
) -> None:
    """Its own examples say OnFailed and Nerver."""
    manifest = read_manifest("resnet")
    manifest["spec"].pop("cleanPodPolicy", None)
    manifest["spec"][field] = value
    job = PADDLEPADDLE.read_job(manifest)
    assert job.policies.clean_pods is CleanPods.NEVER
    (said,) = [each.message for each in job.warnings if "keeps ended pods" in each.message]
    assert said.startswith(f'found "{value}", which keeps ended pods, like Never')
    assert said.endswith(f'; did you mean "{near}"?' if near else "OnFailure or OnCompletion")


def test_an_annotation_without_effect_is_said_to_have_none() -> None:
    """The ranks are told each other's addresses, so none starts again alone."""
    scope = "paddock.dev/restart-scope"
    manifest = with_value(read_manifest("wide_and_deep"), ("metadata", "annotations"), {scope: "Pod"})
    found = {each.path: str(each.message) for each in PADDLEPADDLE.read_job(manifest).warnings}
    assert found[f"metadata.annotations[{scope}]"].startswith("has no effect: ")
