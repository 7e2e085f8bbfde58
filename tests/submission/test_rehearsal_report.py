"""What a rehearsal is told to have shown, and what not."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from paddock.jobs.model import Exit, Pod, PodPhase, Rank
from paddock.logs.progress import Progress
from paddock.logs.step_count import StepCount
from paddock.submission.rehearsal import Asked, Rehearsal, plan_rehearsal
from paddock.submission.rehearsal_report import (
    MEMORY_OF_A_PROCESS,
    Copied,
    EndedRank,
    Lacking,
    Outcome,
    RoleSeen,
    Verdict,
    build_document,
    build_table,
    explain_changes,
    explain_device,
    explain_ended,
    explain_lacking,
    explain_outcome,
    explain_too_few,
    explain_too_many,
    find_ended,
    find_lacking,
    list_unrehearsed,
    read_met,
)
from paddock.submission.rehearsed_pods import Here, Replaced
from paddock.words.phrases import phrase, render
from submission.test_rehearsal import CLAIM, build_batch, build_pod, build_pytorch, build_with_volume, plan, read

STEP = Progress(step=1)
WORKER = RoleSeen("worker", 2, 2, True, False, "worker-0", StepCount(STEP, STEP, 3))


DATA = Replaced("data", "persistentVolumeClaim imagenet", "/r/data", ("/data",))
SMALL = Replaced("small", "nfs 10.0.0.1:/nas", "/r/small", ("/data/small", "/nas/"))
LACKS: dict[str, tuple[str, tuple[str, str] | None]] = {
    "Python": (
        "FileNotFoundError: [Errno 2] No such file or directory: '/data/train.txt'",
        ("/data/train.txt", "data"),
    ),
    "PyTorch": ("RuntimeError: Dataset not found at /data/mnist.", ("/data/mnist", "data")),
    "PaddlePaddle": ("(NotFound) Cannot open file /data/part-0 (at a.cc:1)", ("/data/part-0", "data")),
    "a shell": ("cat: /data/small/x: No such file or directory", ("/data/small/x", "small")),
    "the directory itself": (
        "FileNotFoundError: Found no valid file for the classes in /data: not found",
        ("/data", "data"),
    ),
    "another mount of the volume": ("OSError: /nas/m.bin does not exist", ("/nas/m.bin", "small")),
    "a file elsewhere": ("FileNotFoundError: [Errno 2] No such file or directory: '/dataset/train.txt'", None),
    "another error": ("PermissionError: [Errno 13] Permission denied: '/data/train.txt'", None),
    "nothing": ("", None),
}


@pytest.mark.parametrize("case", LACKS)
def test_a_file_of_a_replaced_volume_is_no_fault_of_the_program(case: str) -> None:
    error, wanted = LACKS[case]
    found = find_lacking([DATA, SMALL], ["", error])
    assert (None if found is None else (found.path, found.replaced.volume)) == wanted


def test_what_to_do_about_a_file_that_is_missing() -> None:
    lacks = Lacking("/data/train.txt", DATA)
    assert str(explain_lacking(lacks, {})) == (
        "/data/train.txt is data of volume data (persistentVolumeClaim imagenet), which is empty in a rehearsal: "
        "--data data=DIR puts a copy of DIR there"
    )
    assert str(explain_lacking(lacks, {DATA.what: Copied("/home/ada/small", 1)})) == (
        "/data/train.txt is data of volume data (persistentVolumeClaim imagenet), which has a copy of /home/ada/small "
        "here: that lacks it"
    )


@pytest.mark.parametrize(
    ("framework", "said"),
    [
        ("paddle", 'paddle.set_device("gpu" if paddle.device.cuda.device_count() else "cpu")'),
        ("pytorch", 'device = "cuda" if torch.cuda.is_available() else "cpu"'),
        ("jax", "takes the CPU where PADDOCK_REHEARSAL is set can be rehearsed beyond this point"),
    ],
)
def test_what_to_do_about_a_gpu_is_no_other_wheel(framework: str, said: str) -> None:
    told = str(explain_device(framework))
    assert told.endswith(said) and "a rehearsal runs on the CPU" in told and "install" not in told


@pytest.mark.parametrize(
    ("verdict", "code"),
    [("Stepped", 0), ("Completed", 0), ("Failed", 1), ("NotStarted", 1), ("Unknown", 3), ("NoMemory", 3)],
)
def test_exit_codes(verdict: str, code: int) -> None:
    assert Verdict(verdict).exit_code == code


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (
            Outcome(Verdict.STEPPED, 3.4, (WORKER,)),
            "it starts: worker-0 told 3 steps beyond its first reading, and no rank failed; all were ended after 3 s",
        ),
        (
            Outcome(Verdict.STEPPED, 3, (RoleSeen("w", 1, 1, teller="w-0", count=StepCount(STEP, STEP, 0, epochs=1)),)),
            "it starts: w-0 told an epoch beyond its first reading, and no rank failed; all were ended after 3 s",
        ),
        (Outcome(Verdict.COMPLETED, 3), "it starts, and ended by itself: all ranks completed (3 s)"),
        (Outcome(Verdict.FAILED, 3, why="boom"), "it fails after 3 s: boom"),
        (Outcome(Verdict.NOT_STARTED, 3, why="no room"), "it does not start; after 3 s: no room"),
        (Outcome(Verdict.UNKNOWN, 3, why="silence"), "unknown: all ranks ran for 3 s, and none failed; silence"),
    ],
)
def test_the_last_sentence(outcome: Outcome, said: str) -> None:
    assert str(explain_outcome(outcome, 2)) == said


def build_ended(index: int, phase: PodPhase, began: float | None = 100.0, ended: float | None = 103.0) -> Pod:
    return Pod(f"w-{index}", "u", Rank("worker", index), 0, phase, exit=Exit(0, finished=ended), started=began)


RUNS, ENDED = PodPhase.RUNNING, PodPhase.SUCCEEDED


@pytest.mark.parametrize(
    ("pods", "said"),
    [
        ([build_ended(0, RUNS), build_ended(1, ENDED)], "worker-1 ended with exit code 0 after 3 s"),
        ([build_ended(0, PodPhase.FAILED), build_ended(1, ENDED)], "worker-1 ended with exit code 0 after 3 s"),
        ([build_ended(10, ENDED), build_ended(0, RUNS), build_ended(2, ENDED, ended=99.0)],
         "2 ranks ended with exit code 0: worker-2 after 0 s and worker-10 after 3 s"),
        ([build_ended(0, RUNS), build_ended(1, ENDED, began=None)], "1 rank ended with exit code 0: worker-1"),
        ([build_ended(0, RUNS), build_ended(1, PodPhase.FAILED)], None),
        ([build_ended(0, ENDED), build_ended(1, ENDED)], None),
        ([], None),
    ],
)  # fmt: skip
def test_ranks_that_ended_while_others_went_on(pods: list[Pod], said: str | None) -> None:
    ended = find_ended(pods)
    assert (str(explain_ended(ended)) if ended else None) == said


def test_who_ended_is_told_where_nothing_else_is_known() -> None:
    outcome = Outcome(Verdict.UNKNOWN, 300, why="no metric was read", ended=(EndedRank("worker-1", 3.0),))
    assert str(explain_outcome(outcome, 2)) == (
        "unknown: worker-1 ended with exit code 0 after 3 s, the other ranks ran for 300 s, and none failed; no metric "
        "was read"
    )
    document = build_document(plan(FULL), outcome, 2, {}, "en", {})
    assert document["ended"] == [{"rank": "worker-1", "seconds": 3.0}]


def test_no_memory_says_what_to_do() -> None:
    assert "--ranks N" in str(explain_outcome(Outcome(Verdict.NO_MEMORY, 3), 2))


def test_too_few_steps_are_told_with_their_number_and_none_with_the_nearest_line() -> None:
    few = RoleSeen("worker", 1, 1, teller="worker-0", count=StepCount(STEP, STEP, 1))
    said = str(explain_too_few([few], 5, phrase("nearest")))
    assert said.startswith("worker-0 told 1 step beyond its first reading, of 5: --timeout")
    assert str(explain_too_few([RoleSeen("worker", 1, 1)], 5, phrase("nearest"))) == "nearest"


FULL = build_with_volume(CLAIM)
FULL["spec"]["worker"]["template"]["spec"] |= {name: {"a": "b"} for name in ("nodeSelector",)}
FULL["spec"]["worker"]["template"]["spec"]["containers"][0] |= {
    "resources": {"limits": {"nvidia.com/gpu": 8, "rdma/hca": 1, "memory": "64Gi", "cpu": 2}},
    "envFrom": [{"secretRef": {"name": "wandb"}}],
}


def test_each_change_is_told_whole() -> None:
    found = plan(FULL, asked=Asked(2, 300, workers=1, directory="/own"))
    assert [str(said) for said in explain_changes(found, {})] == [
        "not asked for: 16 nvidia.com/gpu, 2 rdma/hca, 128 GiB memory, 4 cpu",
        "taken out: nodeSelector",
        "1 of 2 workers are started (--ranks)",
        "volume data (persistentVolumeClaim imagenet) at /data: an empty directory; --data data=DIR puts a copy of DIR "
        "there",
        "not here, so containers do without: Secret wandb",
    ]
    copied = {"persistentVolumeClaim imagenet": Copied("/small", 1 << 20)}
    told = [str(said) for said in explain_changes(found, copied)]
    assert "volume data (persistentVolumeClaim imagenet) at /data: a copy of /small, 1.0 MiB" in told


@pytest.mark.parametrize("copied", [True, False])
def test_what_was_taken_out_was_not_rehearsed(copied: bool) -> None:
    found = plan(FULL, asked=Asked(2, 300, workers=1, directory="/own"))
    told = [each.what for each in list_unrehearsed(found, copied=copied)]
    assert told == ["devices", "rdma", "image", "memory", "data", "secrets", "ranks", "network", "placement"]


def test_the_network_and_the_cluster_are_never_rehearsed() -> None:
    told = {each.what for each in list_unrehearsed(plan(build_batch()), copied=True)}
    assert told == {"image", "memory", "network", "placement"}


@pytest.mark.parametrize(
    ("command", "workers", "watched", "told", "met"),
    [
        (["torchrun", "train.py"], 2, False, True, True),
        (["torchrun", "train.py"], 2, False, False, None),
        (["torchrun", "--standalone", "train.py"], 2, False, True, None),
        (["python", "train.py"], 2, False, True, None),  # it may train alone
        (["python", "train.py"], 2, True, False, True),
        (["torchrun", "train.py"], 1, True, True, None),  # there is nobody to meet
    ],
)
def test_whether_ranks_have_met(command: list[str], workers: int, watched: bool, told: bool, met: bool | None) -> None:
    (each,) = read(build_pytorch(build_pod(container={"command": command}), workers=workers))
    assert each.job is not None
    (role,) = each.job.roles
    assert read_met(each.job, role, watched=watched, told=told) is met


def test_of_an_elastic_job_a_part_may_have_met() -> None:
    pod = build_pod(container={"command": ["torchrun", "train.py"]})
    (each,) = read(build_pytorch(pod, workers=4, elasticPolicy={"minReplicas": 2, "maxReplicas": 4}))
    assert each.job is not None
    assert read_met(each.job, each.job.roles[0], watched=False, told=True) is None


def test_the_table() -> None:
    header, rows = build_table([WORKER, RoleSeen("ps", 1, 0, error="boom")], "en")
    assert len(header) == 6
    assert [tuple(row) for row in rows] == [
        ("worker", "2", "2", "yes", "3", "-"), ("ps", "1", "0", "unknown", "-", "boom"),
    ]  # fmt: skip
    _, ((*_, met, _, _),) = build_table([RoleSeen("worker", 1, 1, alone=True)], "en")
    assert met == "-"


def test_the_document_is_complete() -> None:
    found = plan(FULL, asked=Asked(2, 300, workers=1, directory="/own"))
    outcome = Outcome(Verdict.FAILED, 3.14, (WORKER,), "boom")
    document = build_document(found, outcome, 2, {}, "en", {"logs": "x"})
    assert document["exitCode"] == 1 and document["verdict"] == "Failed" and document["logs"] == "x"
    assert document["message"] == render(explain_outcome(outcome, 2))
    assert document["roles"] == [
        {"role": "worker", "ranks": 2, "started": 2, "met": True, "steps": 3, "epochs": 0, "toldBy": "worker-0",
         "error": ""}
    ]  # fmt: skip
    assert document["replaced"] == [
        {"volume": "data", "was": "persistentVolumeClaim imagenet", "paths": ["/data"], "copyOf": None}
    ]
    assert document["notAskedFor"]["nvidia.com/gpu"] == "16" and document["workers"] == {"manifest": 2, "started": 1}
    assert document["notRehearsed"][0]["what"] == "devices"


GIB = 1 << 30


@pytest.mark.parametrize(
    ("processes", "cores", "memory", "said"),
    [
        (32, 2, 64 * GIB, None),
        (33, 2, 64 * GIB, "bears about 32: --ranks 31 starts so many workers, --ranks 32 starts all of them"),
        (32, 64, 8 * MEMORY_OF_A_PROCESS, "bears about 8: --ranks 8 starts so many workers"),
        (400, 1, 0, "bears about 0: --ranks 1 starts so many workers"),
    ],
)
def test_more_processes_than_the_machine_bears(processes: int, cores: int, memory: int, said: str | None) -> None:
    (each,) = read(build_batch(workers=32))
    assert each.job is not None
    found = explain_too_many(processes, cores, memory, each.job, "job.yaml")
    assert (found is None) == (said is None)
    assert said is None or said in str(found)


def test_one_worker_cannot_be_fewer() -> None:
    (each,) = read(build_batch(workers=1))
    assert each.job is not None
    assert str(explain_too_many(99, 1, GIB, each.job, "job.yaml")).endswith(": --ranks 1 starts it all the same")


def test_amounts_are_exact() -> None:
    changed = Rehearsal((), resources={"cpu": Fraction(1, 2)})
    assert [str(said) for said in explain_changes(changed, {})] == ["not asked for: 500m cpu"]


def test_a_plan_needs_nothing_of_the_machine() -> None:
    documents: Any = read(build_batch())
    assert plan_rehearsal(documents, Asked(2, 300), Here()).job.key.name == "resnet-rehearsal"
