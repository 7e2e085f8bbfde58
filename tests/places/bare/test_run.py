"""`paddock render --to bare --run`, from a laptop, by real ssh: programs of plain Python on machines of the test."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from e2e.commands import until
from places.manifests import build_paddle, build_role, build_torch, write_manifest
from support.machines import Bench, Names, open_machines

pytestmark = [pytest.mark.slow]

PROGRAM = """
import os, sys, time
rank = os.environ.get("RANK")
if rank is None:  # the number of a server is PADDLE_PSERVER_ID, and a worker's alone is PADDLE_TRAINER_ID
    role = os.environ["TRAINING_ROLE"]
    rank = role + os.environ["PADDLE_PSERVER_ID" if role == "PSERVER" else "PADDLE_TRAINER_ID"]
steps, failing, code = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
step = 0
while steps < 0 or step < steps or os.environ.get("TRAINING_ROLE") == "PSERVER":
    print("step", step, sys.argv[4:], flush=True)
    time.sleep(0.1)
    step += 1
    if step == 3 and rank == failing:
        print("Traceback (most recent call last):\\n  File \\"train.py\\", line 1", flush=True)
        print("ValueError: no such batch", flush=True)
        sys.exit(code)
"""


def write_job(directory: Path, *words: str, kind: str = "torch", **container: Any) -> Path:
    (directory / "program").mkdir(exist_ok=True)
    (directory / "program/train.py").write_text(PROGRAM)
    command = ["python3", "train.py", *words]
    if kind == "torch":
        roles = {"Master": build_role(1, *command, **container), "Worker": build_role(1, *command, **container)}
        return write_manifest(directory, build_torch(**roles))
    servers = {"ps": build_role(2, *command, **container), "worker": build_role(2, *command, **container)}
    return write_manifest(directory, build_paddle(**servers))


def command(bench: Bench, manifest: Path, *words: str) -> list[str]:
    target = str(manifest.parent / "out")
    directory = str(manifest.parent / "program")
    typed = ["render", str(manifest), "--to", "bare", "--hosts", bench.hosts, "-o", target, "--run"]
    return [sys.executable, "-m", "paddock.cli.main", *typed, "--directory", directory, *words]


def run(bench: Bench, manifest: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    return bench.laptop.run(*command(bench, manifest, *words), env={"NO_COLOR": "1", **env}, timeout=200)


@pytest.mark.parametrize("names", ["debian", "unresolvable"])
def test_a_job_is_run_to_its_end_and_its_logs_are_gathered(tmp_path: Path, names: Names) -> None:
    manifest = write_job(tmp_path, "3", "none", "0", 'it\'s "2 words"', "$HOME")
    with open_machines(tmp_path / "bench", 2, names=names) as bench:
        done = run(bench, manifest)
    assert done.returncode == 0, done
    for rank in ("master-0", "worker-0"):
        assert f"{rank} │ step 2 ['it\\'s \"2 words\"', '$HOME']" in done.stdout
        assert "step 2" in (tmp_path / f"out/logs/{rank}.log").read_text()
    assert "paddock-end" not in done.stdout
    assert "demo completed on 2 machines" in done.stderr


def test_servers_are_ended_when_all_trainers_are_done(tmp_path: Path) -> None:
    manifest = write_job(tmp_path, "5", "none", "0", kind="ps")
    with open_machines(tmp_path / "bench", 2) as bench:
        done = run(bench, manifest)
        left = [machine.run("pgrep", "-f", "train.py").stdout for machine in bench.machines]
    assert done.returncode == 0, done
    assert left == ["", ""]


def test_the_rank_that_failed_first_is_named_and_the_others_are_stopped(tmp_path: Path) -> None:
    manifest = write_job(tmp_path, "-1", "1", "3")
    with open_machines(tmp_path / "bench", 2) as bench:
        done = run(bench, manifest)
        left = [machine.run("pgrep", "-f", "train.py").stdout for machine in bench.machines]
    assert done.returncode == 1
    assert "worker-0 on 10.77.0.2 failed first, with exit code 3: ValueError: no such batch" in done.stderr, done.stderr
    assert left == ["", ""]


def test_a_server_that_ends_before_the_workers_is_a_failure(tmp_path: Path) -> None:
    manifest = write_job(tmp_path, "-1", "PSERVER1", "0", kind="ps")
    with open_machines(tmp_path / "bench", 2) as bench:
        done = run(bench, manifest)
    assert done.returncode == 1
    assert "ps-1 on 10.77.0.2, a parameter server, ended before the workers, with exit code 0" in done.stderr


def test_a_program_may_end_with_the_code_of_ssh(tmp_path: Path) -> None:
    manifest = write_job(tmp_path, "-1", "0", "255")
    with open_machines(tmp_path / "bench", 2) as bench:
        done = run(bench, manifest)
    assert "master-0 on 10.77.0.1 failed first, with exit code 255" in done.stderr, done.stderr


def test_a_machine_that_is_cut_off_for_good_is_named_with_its_rank(tmp_path: Path) -> None:
    manifest = write_job(tmp_path, "-1", "none", "0")
    with open_machines(tmp_path / "bench", 2) as bench:
        process = bench.laptop.start(*command(bench, manifest))
        wait_for(tmp_path / "out/logs/worker-0.log", "step 3")
        bench.cut(1)
        begun = time.monotonic()
        _, errors = process.communicate(timeout=200)
        took = time.monotonic() - begun
        left = bench[0].run("pgrep", "-f", "train.py").stdout
    assert process.returncode == 1
    assert "10.77.0.2 has not answered for some time (at most 30 s): worker-0 is missing" in errors, errors
    assert took < 150
    assert left == ""


def test_a_machine_that_comes_back_after_15_s_goes_on(tmp_path: Path) -> None:
    manifest = write_job(tmp_path, "60", "none", "0")
    with open_machines(tmp_path / "bench", 2) as bench:
        process = bench.laptop.start(*command(bench, manifest))
        wait_for(tmp_path / "out/logs/worker-0.log", "step 3")
        bench.cut(1)
        time.sleep(15)
        bench.restore(1)
        _, errors = process.communicate(timeout=200)
    assert process.returncode == 0, errors
    assert "step 59" in (tmp_path / "out/logs/worker-0.log").read_text()


def test_ctrl_c_stops_all_ranks(tmp_path: Path) -> None:
    manifest = write_job(tmp_path, "-1", "none", "0")
    with open_machines(tmp_path / "bench", 2) as bench:
        process = bench.laptop.start(*command(bench, manifest))
        wait_for(tmp_path / "out/logs/master-0.log", "step 3")
        pid = bench.laptop.run("pgrep", "-f", "paddock.cli.main").stdout.split()[0]
        bench.laptop.run("kill", f"-{signal.SIGINT.value}", pid)
        _, errors = process.communicate(timeout=200)
        left = [machine.run("pgrep", "-f", "train.py").stdout for machine in bench.machines]
    assert process.returncode == 130, errors
    assert "interrupted" in errors
    assert left == ["", ""]


def test_everything_that_is_wrong_is_told_at_once_and_nothing_is_started(tmp_path: Path) -> None:
    manifest = write_job(tmp_path, "3", "none", "0")
    with open_machines(tmp_path / "bench", 3) as bench:
        bench.forget(0)
        bench.stop_ssh(1)
        three = write_manifest(tmp_path, build_torch(
            Master=build_role(1, "python3", "train.py", "3", "none", "0"),
            Worker=build_role(2, "python3", "missing.py"),
        ))  # fmt: skip
        done = run(bench, three)
    assert done.returncode == 2
    assert "10.77.0.1: its key is not known here" in done.stderr
    assert "10.77.0.2: it refuses ssh" in done.stderr
    assert "10.77.0.3: worker-1: there is no file" in done.stderr
    assert "nothing is started" in done.stderr
    assert manifest.exists() and done.stdout == ""


def test_a_directory_that_is_not_there_a_file_of_the_user_and_a_taken_port_are_told(tmp_path: Path) -> None:
    manifest = write_job(tmp_path, "3", "none", "0")
    with open_machines(tmp_path / "bench", 2) as bench:
        missing = run(bench, manifest, "--directory", str(tmp_path / "nowhere"))
        own = tmp_path / "program/paddock-demo/demo-10.77.0.2.sh"
        own.parent.mkdir()
        own.write_text("mine\n")
        bench[0].start("python3", "-m", "http.server", "23456")
        wait_port(bench, 23456)
        done = run(bench, manifest)
    assert missing.stderr.count("is no directory there in which files can be written") == 2
    assert f"10.77.0.2: {own} is there already, and Paddock did not make it" in done.stderr
    assert "port 23456 of this machine is taken" in done.stderr
    assert own.read_text() == "mine\n"


def test_a_value_that_is_not_in_the_file_is_sent_and_left_nowhere(tmp_path: Path) -> None:
    env = [{"name": "HUB_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}}]
    manifest = write_manifest(tmp_path, build_torch(
        Worker=build_role(2, "python3", "-c", "import os; print('token', os.environ['HUB_TOKEN'])", env=env)
    ))  # fmt: skip
    (tmp_path / "program").mkdir()
    with open_machines(tmp_path / "bench", 2) as bench:
        refused = run(bench, manifest)
        done = run(bench, manifest, HUB_TOKEN="a 'b' $c")
    assert refused.returncode == 2
    assert "HUB_TOKEN is not set: the cluster has it in Secret hub, key token" in refused.stderr
    assert "worker-1 │ token a 'b' $c" in done.stdout, done
    kept = [path for path in (tmp_path / "program").rglob("*.sh") if "a 'b'" in path.read_text()]
    assert kept == []


def wait_for(path: Path, text: str) -> None:
    until(f"{text!r} in {path}", lambda: path.exists() and text in path.read_text())


def wait_port(bench: Bench, port: int) -> None:
    look = ("bash", "-c", f"echo > /dev/tcp/127.0.0.1/{port}")
    until(f"a program at port {port}", lambda: bench[0].run(*look).returncode == 0)
