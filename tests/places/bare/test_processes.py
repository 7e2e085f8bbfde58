"""Ranks as processes of one machine: started, followed, stopped, and told how they ended."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.commands import until
from places.bare.rendered import OWN, build_manifest, build_torch_manifest, run_script, write_scripts
from support.programs import need

WAITS = "import sys, time; print('began', flush=True); time.sleep(60)"
FAILS = "import sys; print('no data'); sys.exit(3)"
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)"


class Job:
    """A job of one rank on this machine. `folder`: of its script and its program, which waits at first."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write(WAITS)
        manifest = build_torch_manifest((sys.executable, "train.py"), workers=0)
        (self.script,) = write_scripts(folder, manifest, "127.0.0.1")
        self.logs = folder / "paddock-probe"

    def __call__(self, *words: str) -> tuple[int, str]:
        answer = run_script(self.script, *words)
        return answer.returncode, answer.stdout + answer.stderr

    def pid(self, rank: str = "master-0") -> int:
        return int((self.logs / f"{rank}.pid").read_text().split()[0])

    def write(self, program: str) -> None:
        (self.folder / "train.py").write_text(program)

    def wait(self, rank: str = "master-0") -> None:
        """Until the rank has ended."""
        wait_for(self.logs / f"{rank}.exit")


def wait_for(path: Path, text: str = "") -> None:
    until(f"{text!r} in {path}", lambda: path.exists() and text in path.read_text())


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    made = Job(tmp_path)
    yield made
    made("stop")


def test_a_job_is_started_told_and_stopped(job: Job) -> None:
    assert job("status") == (3, "master-0  not started\n")
    code, said = job("start")
    assert (code, said.splitlines()[-1]) == (
        0,
        f"master-0  started  pid {job.pid()}  log {job.logs}/master-0.log",
    )
    assert job("status") == (0, f"master-0  running  pid {job.pid()}\n")
    wait_for(job.logs / "master-0.log", "began")
    assert job("logs", "master-0") == (0, "began\n")
    assert os.getpgid(job.pid()) == job.pid()
    assert job("stop") == (0, "master-0  stopped\n")
    assert job("status") == (1, "master-0  ended  exit code 143\n")
    assert job("stop") == (0, "no rank of probe runs on this machine\n")


def test_a_second_start_is_refused_with_the_process_that_runs(job: Job) -> None:
    job("start")
    said = f"master-0 runs already, pid {job.pid()}: bash {job.script.name} stop ends it\n"
    assert job("start") == (2, said)
    assert job("run", "master-0") == (2, said)


def test_a_job_that_failed_says_its_exit_code_and_keeps_its_log_beside_the_next_one(job: Job) -> None:
    job.write(FAILS)
    assert job("start")[0] == 0
    job.wait()
    assert job("status") == (1, "master-0  ended  exit code 3\n")
    job.write("print('well')")
    assert job("start")[0] == 0
    job.wait()
    assert job("status") == (0, "master-0  ended  exit code 0\n")
    assert job("logs") == (0, "well\n")
    assert (job.logs / "master-0.log.1").read_text() == "no data\n"


def test_a_process_id_that_another_process_has_now_is_not_the_rank(job: Job) -> None:
    """As after a reboot: the same number, begun at another time. It is not stopped."""
    job.logs.mkdir()
    other = subprocess.Popen(["sleep", "60"])
    try:
        (job.logs / "master-0.pid").write_text(f"{other.pid} 1 {other.pid} 1\n")
        said = "master-0  ended  exit code unknown: the machine or its parent process ended first\n"
        assert job("status") == (1, said)
        assert job("stop")[1] == "no rank of probe runs on this machine\n"
        assert job("start")[0] == 0
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_what_a_rank_leaves_in_a_session_of_its_own_ends_with_it(job: Job) -> None:
    """Workers of PaddlePaddle's launcher are such sessions."""
    job.write(
        "import subprocess, sys\n"
        "left = subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
        "print(left.pid, flush=True)\n"
    )
    job("start")
    job.wait()
    assert not Path("/proc", (job.logs / "master-0.log").read_text().strip(), "exe").exists()
    assert job("status") == (0, "master-0  ended  exit code 0\n")


@pytest.mark.slow
def test_a_rank_that_does_not_hear_sigterm_is_killed_after_ten_seconds(job: Job) -> None:
    job.write(DEAF)
    job("start")
    wait_for(job.logs / "master-0.log", "deaf")
    began = time.monotonic()
    assert job("stop") == (0, "master-0  stopped\n")
    assert time.monotonic() - began > 9
    assert job("status") == (1, "master-0  ended  exit code 137\n")


def test_there_are_no_logs_before_a_start(job: Job) -> None:
    assert job("logs") == (3, f"there are no logs in {job.logs}: nothing was started\n")


def test_programs_start_in_the_directory_that_is_named(job: Job, tmp_path: Path) -> None:
    (tmp_path / "other place").mkdir()
    (tmp_path / "other place" / "train.py").write_text("import os; print(os.getcwd())")
    answer = run_script(job.script, "start", env={"PADDOCK_DIRECTORY": str(tmp_path / "other place")})
    assert answer.returncode == 0
    logs = tmp_path / "other place" / "paddock-probe"
    wait_for(logs / "master-0.exit")
    assert (logs / "master-0.log").read_text() == f"{tmp_path.resolve()}/other place\n"


def test_stray_variables_of_a_shell_do_not_reach_the_program(job: Job) -> None:
    job.write("import os; print(sorted(key for key in os.environ if key.startswith(('PADDLE_', 'TORCHELASTIC'))))")
    stray = {"PADDLE_IPS": "10.0.0.9", "PADDLE_MASTER": "10.0.0.9:1", "TORCHELASTIC_RUN_ID": "old"}
    assert run_script(job.script, "start", env=stray).returncode == 0
    job.wait()
    assert job("logs") == (0, "[]\n")


class Runner:
    """`run RANK` as a runner has it: an input that it holds, and lines that it reads."""

    def __init__(self, job: Job) -> None:
        self.process = subprocess.Popen(
            [need("bash"), str(job.script), "run", "master-0"], env=OWN, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def read_line(self) -> str:
        assert self.process.stdout is not None
        assert select.select([self.process.stdout], [], [], 90)[0]
        return self.process.stdout.readline()

    def end(self) -> tuple[int, str]:
        said, _ = self.process.communicate(timeout=90)
        return self.process.returncode, said


def test_a_runner_reads_the_lines_and_the_end_of_a_rank(job: Job) -> None:
    job.write("import sys; sys.stdout.write('no line break'); sys.exit(3)")
    runner = Runner(job)
    assert runner.read_line() == "no line break\n"
    assert runner.read_line() == "paddock-end master-0 3\n"
    assert runner.process.wait(90) == 1
    assert (job.logs / "master-0.log").read_text() == "no line break"
    runner.end()


def test_the_end_of_the_input_stops_a_rank(job: Job) -> None:
    runner = Runner(job)
    assert runner.read_line() == "began\n"
    assert runner.end() == (1, "paddock-end master-0 143\n")
    assert job("status") == (1, "master-0  ended  exit code 143\n")


@pytest.mark.parametrize("signals", [(signal.SIGTERM,), (signal.SIGHUP,), (signal.SIGINT, signal.SIGTERM)])
def test_a_signal_stops_a_rank(signals: tuple[signal.Signals, ...], job: Job) -> None:
    runner = Runner(job)
    assert runner.read_line() == "began\n"
    for each in signals:
        runner.process.send_signal(each)
    assert runner.process.wait(90) == 1
    assert runner.end() == (1, "paddock-end master-0 143\n")


def test_a_runner_that_no_longer_reads_does_not_hold_up_the_rank(job: Job) -> None:
    """As in a cut of the network: a pipe is full after 64 KiB, and the rank writes to its log alone."""
    job.write("import sys; print('began', flush=True)\nfor _ in range(3000): print('x' * 100)\nprint('done')")
    runner = Runner(job)
    job.wait()
    assert (job.logs / "master-0.log").read_text().endswith("done\n")
    code, said = runner.end()
    assert (code, said.splitlines()[-2:]) == (0, ["done", "paddock-end master-0 0"])


@pytest.mark.slow
def test_servers_are_started_first_and_all_are_stopped_together(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(WAITS)
    manifest = build_manifest("worker", "ps", command=(sys.executable, "train.py"), replicas=2)
    (script,) = write_scripts(tmp_path, manifest, "127.0.0.1", port=47100)
    try:
        started = [line.split()[0] for line in run_script(script, "start").stdout.splitlines() if "started" in line]
        assert started == ["ps-0", "ps-1", "worker-0", "worker-1"]
    finally:
        stopped = run_script(script, "stop").stdout
    assert stopped == "".join(f"{rank}  stopped\n" for rank in started)
