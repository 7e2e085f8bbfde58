from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from paddock.app.home import Home
from paddock.app.outputs import (
    OutputDirectories,
    RunDirectory,
    Size,
    choose_resumed,
    explain_unresumable,
    find_output_path,
    find_resumable,
    has_outputs,
    is_no_result,
    list_files,
    measure,
    prune_outputs,
    read_jobs,
    read_runs,
    tidy_outputs,
)
from paddock.history.records import RunRecord, remove_record, write_record
from paddock.jobs.resuming import read_resume
from paddock.node.runtime.container_env import ContainerWaiting

UIDS = [f"{number:08x}-0000-0000-0000-000000000000" for number in range(1, 9)]


def build_pod(root: Path, uid: str, *, job: str = "train", directory: str = "/home/ada/mnist", resume: str = "") -> Any:
    notes = {"paddock.dev/working-directory": directory} | ({"paddock.dev/resume": resume} if resume else {})
    owner = {
        "apiVersion": "batch.paddlepaddle.org/v1",
        "kind": "PaddleJob",
        "name": job,
        "uid": uid,
        "controller": True,
    }
    volume = {"name": "paddock-output", "hostPath": {"path": str(root / "default" / f"{job}-{uid[:8]}")}}
    return {"metadata": {"annotations": notes, "ownerReferences": [owner]}, "spec": {"volumes": [volume]}}


class Machine:
    """Runs of jobs, one second apart."""

    def __init__(self, root: Path) -> None:
        self.root, self.now = root, 1000.0
        self.records = root.with_name("history")

    def start(self, number: int, **facts: Any) -> Path:
        """Starts a rank of the run; its checkpoint directory."""
        self.now += 1
        job, uid = facts.get("job", "train"), UIDS[number]
        OutputDirectories(self.root, self.records).prepare(build_pod(self.root, uid, **facts), self.now)
        return self.root / "default" / f"{job}-{uid[:8]}" / "checkpoint"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "outputs")


def test_a_run_begins_with_an_empty_checkpoint_directory_that_it_may_write(machine: Machine) -> None:
    checkpoints = machine.start(0)
    assert list(checkpoints.iterdir()) == []
    assert [oct(path.stat().st_mode)[-3:] for path in (checkpoints, checkpoints.parent)] == ["700", "700"]
    assert oct(checkpoints.parent.with_name("train-00000001.json").stat().st_mode)[-3:] == "600"


def test_the_directory_of_metrics_is_there_before_the_first_program(machine: Machine) -> None:
    metrics = machine.start(0).parent / ".metrics"
    assert oct(metrics.stat().st_mode)[-3:] == "700" and list(metrics.iterdir()) == []
    metrics.rmdir()
    metrics.write_text("the program's own")
    machine.start(0)
    assert metrics.is_file()


def test_ranks_and_attempts_of_one_run_share_the_directory(machine: Machine) -> None:
    (machine.start(0) / "epoch-1").write_text("weights")
    assert (machine.start(0) / "epoch-1").read_text() == "weights"


def test_the_next_run_begins_with_the_checkpoints_where_it_asks_for_them(machine: Machine) -> None:
    (machine.start(0) / "epoch-1").write_text("weights")
    assert (machine.start(1, resume="true") / "epoch-1").read_text() == "weights"
    assert not (machine.root / "default/train-00000001/checkpoint").exists()


@pytest.mark.parametrize("resume", ["", "false", "yes"])
def test_the_next_run_begins_with_none_where_it_does_not_ask(machine: Machine, resume: str) -> None:
    first = machine.start(0)
    (first / "epoch-1").write_text("weights")
    assert list(machine.start(1, resume=resume).iterdir()) == []
    assert (first / "epoch-1").exists()


def test_a_restart_of_a_resumed_run_keeps_its_own(machine: Machine) -> None:
    (machine.start(0) / "epoch-1").write_text("weights")
    (machine.start(1, resume="true") / "epoch-2").write_text("more")
    assert sorted(path.name for path in machine.start(1, resume="true").iterdir()) == ["epoch-1", "epoch-2"]


def test_a_run_that_removed_its_checkpoints_gets_no_others_at_a_restart(machine: Machine) -> None:
    machine.start(1, resume="true").rmdir()
    (machine.start(0) / "epoch-1").write_text("weights")
    assert list(machine.start(1, resume="true").iterdir()) == []
    assert (machine.start(0) / "epoch-1").exists()


def test_a_checkpoint_directory_that_is_a_link_stops_no_restart_and_is_not_walked(machine: Machine) -> None:
    checkpoints = machine.start(0)
    checkpoints.rmdir()
    checkpoints.symlink_to("/nowhere")
    machine.start(0)
    (machine.root / "elsewhere").mkdir()
    (machine.root / "elsewhere/file").write_text("x")
    checkpoints.unlink()
    checkpoints.symlink_to(machine.root / "elsewhere")
    assert measure(machine.start(0)) == Size()
    assert list(machine.start(1, resume="true").iterdir()) == [], "what a link leads to is nobody's checkpoint"


def test_runs_that_wrote_no_checkpoint_are_passed_over(machine: Machine) -> None:
    (machine.start(0) / "epoch-1").write_text("weights")
    machine.start(1)
    assert (machine.start(2, resume="true") / "epoch-1").exists()


def test_another_name_or_another_directory_is_not_resumed_from(machine: Machine) -> None:
    (machine.start(0, job="other") / "epoch-1").write_text("weights")
    (machine.start(1, directory="/home/ada/other") / "epoch-1").write_text("weights")
    (machine.start(2, job="train-0000000a") / "epoch-1").write_text("weights")
    assert list(machine.start(3, resume="true").iterdir()) == []
    assert (machine.start(4, directory="/home/ada/other/", resume="true") / "epoch-1").exists()


def record(machine: Machine, number: int, api_version: str = "batch.paddlepaddle.org/v1") -> None:
    """Run 1 is that of the first UID."""
    write_record(
        machine.records, RunRecord(api_version, "PaddleJob", "default", "train", UIDS[number], number + 1, 1.0)
    )


def test_a_run_begins_with_the_checkpoints_of_the_run_that_it_names(machine: Machine) -> None:
    for number in range(3):
        (machine.start(number, directory=f"/home/ada/{number}") / "epoch").write_text(f"of run {number + 1}")
        record(machine, number)
    (machine.start(3) / "epoch").write_text("of another kind, whose runs are counted apart")
    record(machine, 3, "kubeflow.org/v1")
    assert (machine.start(4, resume="2") / "epoch").read_text() == "of run 2", "wherever it was started"
    with pytest.raises(ContainerWaiting) as waits:
        machine.start(5, resume="2")
    assert str(waits.value) == (
        "run 2 of train has no checkpoints: it wrote none, or a later run has taken them over; runs 1 and 3 have some: "
        "--resume=3"
    )
    record(machine, 6)
    with pytest.raises(ContainerWaiting) as waits:
        machine.start(6, resume="4")
    assert str(waits.value) == "train has no run 4; kept are 1, 2, 3; runs 1 and 3 have checkpoints: --resume=3"
    record(machine, 4)
    assert (machine.start(5, resume="5") / "epoch").read_text() == "of run 2", "tried again"


@pytest.mark.parametrize(
    ("asked", "number"), [("true", 0), ("3", 3), ("12", 12), ("0", None), ("03", None), ("-1", None), ("", None),
                          ("false", None), ("yes", None), ("3\n", None), ("9" * 10, None), ("٣", None)]
)  # fmt: skip
def test_the_last_run_or_one_by_its_number_is_asked_for(asked: str, number: int | None) -> None:
    assert read_resume({"paddock.dev/resume": asked}) == number


NO_CHECKPOINTS = "run 7 of train has no checkpoints: it wrote none, or a later run has taken them over"


@pytest.mark.parametrize(
    ("others", "kept", "said"),
    [
        ((), (7,), f"{NO_CHECKPOINTS}; no other run has any"),
        ((2,), (1, 2, 7), f"{NO_CHECKPOINTS}; run 2 has some: --resume=2"),
        ((9, 2, 3, 4, 5), range(1, 10), f"{NO_CHECKPOINTS}; runs 2, 3, 4 and 2 more have some: --resume=9"),
        ((), (), "train has no run 7: no run of this name is kept"),
        ((), (1, 2), "train has no run 7; kept are 1, 2; none of them has checkpoints"),
        ((2,), (1, 2), "train has no run 7; kept are 1, 2; run 2 has checkpoints: --resume=2"),
        ((1, 30), range(8, 31), "train has no run 7; kept are 23, 24, 25, 26, 27, 28, 29, 30; runs 1 and 30 have "
         "checkpoints: --resume=30"),
    ],
)  # fmt: skip
def test_the_runs_that_may_be_resumed_from_are_named(others: Sequence[int], kept: Sequence[int], said: str) -> None:
    assert str(explain_unresumable("train", 7, others, kept)) == said


def test_the_newest_run_is_resumed_from_and_never_itself() -> None:
    times = zip(UIDS[:3], (3.0, 5.0, 4.0), strict=True)
    runs = [RunDirectory(Path(f"/o/train-{uid[:8]}"), uid[:8], "/d", at) for uid, at in times]
    unknown = RunDirectory(Path("/o/old"), "0000000f", None, 9.0)
    found = [run.mark for run in find_resumable([*runs, unknown], UIDS[1], "/d")]
    assert found == [UIDS[2][:8], UIDS[0][:8]]
    assert choose_resumed(runs, "", "/d") is None


def test_a_damaged_or_missing_record_hides_no_run(machine: Machine) -> None:
    machine.start(0)
    machine.start(1)
    (machine.root / "default/train-00000001.json").write_text("{")
    (machine.root / "default/train-00000002.json").write_text(json.dumps({"started": "then", "directory": 3}))
    assert [run.directory for run in read_runs(machine.root, "default", "train")] == [None, None]
    assert read_runs(machine.root, "none", "train") == []


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("{root}/default/train-1", True),
        ("{root}/default/..", False),
        ("{root}/../train-1", False),
        ("{root}/train-1", False),
        ("/etc/default/train-1", False),
        ("", False),
    ],
)
def test_only_a_directory_of_a_run_is_made(machine: Machine, path: str, named: bool) -> None:
    pod = build_pod(machine.root, UIDS[0])
    pod["spec"]["volumes"][0]["hostPath"]["path"] = path.format(root=machine.root)
    assert (find_output_path(pod, machine.root) is not None) == named
    OutputDirectories(machine.root, machine.records).prepare({"metadata": {}, "spec": {}}, 1.0)
    assert not machine.root.exists()


@pytest.mark.parametrize(
    ("path", "nothing"),
    [
        ("log/worker-0/workerlog.0", True),
        ("log/ps-12/a/b", True),
        ("log/worker-0", False),
        ("log/tensorboard/events", False),
        ("worker-0/log", False),
        (".metrics/worker-0-0.jsonl", True),
        ("a/.metrics/b", False),
    ],
)
def test_logs_of_launchers_and_metrics_are_no_outputs(path: str, nothing: bool) -> None:
    assert is_no_result(path) == nothing


def test_an_output_is_any_file_of_the_program(machine: Machine) -> None:
    directory = machine.start(0).parent
    (directory / "log/worker-0").mkdir(parents=True)
    (directory / "log/worker-0/workerlog.0").write_text("LAUNCH INFO")
    (directory / "empty").mkdir()
    assert not has_outputs(directory)
    (directory / "empty/model").symlink_to("/nowhere")
    assert has_outputs(directory)
    (directory / "checkpoint/a").write_bytes(b"x" * 10)
    (run,) = read_runs(machine.root, "default", "train")
    assert list_files(run.path) == [("checkpoint/a", 10), ("empty/model", len("/nowhere"))]
    assert measure(run.checkpoints) == Size(1, 10)
    assert not has_outputs(directory / "missing")


def test_a_link_in_a_circle_is_not_followed(machine: Machine) -> None:
    directory = machine.start(0).parent
    (directory / "again").symlink_to(directory)
    assert measure(directory) == Size(1, len(os.fspath(directory)))


DAY = 86400.0


def build_record(number: int) -> RunRecord:
    return RunRecord("batch.paddlepaddle.org/v1", "PaddleJob", "default", "train", UIDS[number], number + 1, 1.0)


@pytest.fixture
def place(tmp_path: Path) -> Home:
    """Three runs with records, each of which wrote a file at the beginning of 1970."""
    home = Home(tmp_path, tmp_path)
    machine = Machine(home.outputs)
    for number in range(3):
        model = machine.start(number).parent / "model"
        model.write_text("weights")
        os.utime(model, (0, 0))
        write_record(home.history, build_record(number))
    return home


def left(place: Home) -> list[int]:
    return [int(run.mark, 16) for run in read_runs(place.outputs, "default", "train")]


def test_outputs_go_with_the_record_of_their_run(place: Home) -> None:
    prune_outputs(place, build_record(0), clock=lambda: 31 * DAY)
    assert left(place) == [2, 3]
    assert sorted(path.name for path in (place.outputs / "default").iterdir())[0] == "train-00000002"
    assert read_jobs(place.outputs, "default") == ["train"]


def test_outputs_outlive_a_record_that_goes_early_and_go_with_a_later_one(place: Home) -> None:
    prune_outputs(place, build_record(0), clock=lambda: 29 * DAY)
    assert left(place) == [1, 2, 3]
    remove_record(place.history, build_record(0))
    prune_outputs(place, build_record(1), clock=lambda: 31 * DAY)
    assert left(place) == [3]


def test_an_empty_directory_goes_at_once(place: Home) -> None:
    (place.outputs / "default/train-00000001/model").unlink()
    prune_outputs(place, build_record(0), clock=lambda: DAY)
    assert left(place) == [2, 3]


def test_the_outputs_of_the_newest_run_stay(place: Home) -> None:
    prune_outputs(place, build_record(2), clock=lambda: 99 * DAY)
    assert left(place) == [1, 2, 3]


def test_outputs_of_an_earlier_version_stay(place: Home) -> None:
    (place.outputs / "default/train-00000001.json").unlink()
    os.utime(place.outputs / "default/train-00000001", (0, 0))
    prune_outputs(place, build_record(0), clock=lambda: 99 * DAY)
    assert left(place) == [1, 2, 3]


def test_directories_that_refuse_writing_are_removed_too(place: Home) -> None:
    (place.outputs / "default/train-00000001").chmod(0o500)
    prune_outputs(place, build_record(0), clock=lambda: 31 * DAY)
    assert left(place) == [2, 3]


def test_outputs_whose_record_went_early_go_when_they_are_old(place: Home) -> None:
    for number in range(3):
        remove_record(place.history, build_record(number))
    tidy_outputs(place, 29 * DAY)
    assert left(place) == [1, 2, 3]
    tidy_outputs(place, 31 * DAY)
    assert left(place) == [3]


def test_outputs_with_a_record_stay_and_what_a_removal_left_goes(place: Home) -> None:
    directory = place.outputs / "default"
    (directory / "train-00000001").rename(directory / ".train-00000001")
    (directory / ".mine").mkdir()
    tidy_outputs(place, 99 * DAY)
    assert left(place) == [2, 3]
    assert sorted(path.name for path in directory.iterdir() if path.name.startswith(".")) == [".mine"]


def test_a_home_without_outputs_is_tidy(tmp_path: Path) -> None:
    tidy_outputs(Home(tmp_path / "none", tmp_path), DAY)
