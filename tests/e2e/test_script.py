"""`paddock run -- python train.py` in both sandboxes: the whole way from a typed command to an exit code.

Light programs run in the environment `host` (`--image python:3`); one test trains with a real PaddlePaddle.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from e2e.commands import PADDOCK, Cluster, Ended, until
from e2e.manifests import WIDE_AND_DEEP
from support.sandboxes import ONE_SANDBOX

HOST = ("--image", "python:3")
SHOW = """import json, os, sys
print("words " + json.dumps([sys.argv[1:], os.getcwd(), os.environ.get("TOKEN"), os.environ.get("LEVEL")]), flush=True)
"""
ALL_REDUCE = """import sys
import paddle
import paddle.distributed as dist
dist.init_parallel_env()
t = paddle.to_tensor([float(dist.get_rank() + 1)])
dist.all_reduce(t)
print("sum", t.item(), "rank", dist.get_rank(), "of", dist.get_world_size(), sys.argv[1:], flush=True)
"""
TYPED = ["--lr", "0.1", "a b", "$HOME", "$(X)", "$$", "new\nline", '"q"', "'", "", "é", "--"]


@pytest.fixture
def work(shared: Cluster) -> Path:
    directory = shared.directory / "my work"
    directory.mkdir(exist_ok=True)
    (directory / "show.py").write_text(SHOW)
    return directory


def words_of(ended: Ended) -> list[object]:
    (line,) = ended.lines
    found: list[object] = json.loads(line.removeprefix("words "))
    return found


def test_arguments_variables_and_the_directory_reach_the_program_as_typed(shared: Cluster, work: Path) -> None:
    ended = shared.paddock(
        "run", *HOST, "--workdir", str(work), "--env", "LEVEL=$(X) $$", "--", "python3", "show.py", *TYPED
    )
    assert ended.code == 0, str(ended)
    assert words_of(ended) == [TYPED, str(work), None, "$(X) $$"]
    assert ended.said[0] == "PaddleJob show: 1 worker"
    assert ended.said[1].startswith(f"runs {work}/show.py (python3 show.py --lr 0.1 'a b' ")
    assert ended.said[1].endswith("environment host")


PRINTS = r"""import os, sys
print("\x1b[31mred\x1b[0m\tand tabs  ", flush=True)
print("to standard error", file=sys.stderr, flush=True)
print("long " * 30_000 + "日" * 50_000, flush=True)
print("", "[bold]", "of attempt " + os.environ.get("PADDOCK_ATTEMPT", "0"), sep="\n", end="", flush=True)
sys.exit(os.environ.get("PADDOCK_ATTEMPT") == "0")
"""


def test_standard_output_is_the_script_s_byte_for_byte_and_paddock_speaks_on_the_other(
    shared: Cluster, work: Path
) -> None:
    (work / "prints.py").write_text(PRINTS)
    command = ("run", *HOST, "--restarts", "1", "--workdir", str(work), "--", "python3", "prints.py")
    python = [sys.executable, "prints.py"]
    alone = subprocess.run(python, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    again = alone.replace("attempt 0", "attempt 1")
    ended = shared.paddock(*command)
    assert ended.code == 0 and ended.out == f"{alone}\n{again}"
    assert ended.said[0] == "PaddleJob prints: 1 worker"
    assert ended.said[1] == f"runs {work}/prints.py (python3 prints.py), environment host"
    assert ended.said[2].startswith("restart 1 of 1 in 10 s: worker-0 ended with exit code 1, its last line: of att")
    assert ended.said[3].startswith("Completed in ") and ended.said[4] == "logs: paddock logs prints", ended.err
    assert len(ended.said) == 5, ended.err
    assert shared.paddock("logs", "prints").out == shared.paddock("logs", "prints-worker-0").out == again
    assert shared.paddock("logs", "prints", "--attempt", "0").out == alone


def test_in_one_file_both_stand_in_the_order_in_which_they_happened(shared: Cluster, work: Path) -> None:
    (work / "prints.py").write_text("print('one\\ntwo', end='')\n")
    words = ("run", *HOST, "--name", "ordered", "--workdir", str(work), "--", "python3", "prints.py")
    ended = subprocess.run(
        (*PADDOCK, *words), env=shared.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    head, runs, one, two, end, logs = ended.stdout.splitlines()
    assert (one, two) == ("one", "two") and head.startswith("PaddleJob ") and runs.startswith("runs "), ended.stdout
    assert end.startswith("Completed in ") and logs == "logs: paddock logs ordered", ended.stdout


def test_a_script_that_fails_ends_the_command_with_1_at_once(shared: Cluster, work: Path) -> None:
    (work / "fail.py").write_text("import sys\nprint('tried', flush=True)\nsys.exit(3)\n")
    began = time.monotonic()
    ended = shared.paddock("run", *HOST, "--workdir", str(work), "--", "python3", "fail.py")
    assert ended.code == 1 and "worker-0 ended with exit code 3" in ended.err, str(ended)
    assert ended.out == "tried\n", "it is not restarted"
    assert time.monotonic() - began < 90


@pytest.mark.slow
def test_it_is_restarted_as_often_as_is_asked_for(shared: Cluster, work: Path) -> None:
    (work / "again.py").write_text("import os, sys\nprint('attempt', os.environ['PADDOCK_ATTEMPT'], flush=True)\n"
                                   "sys.exit(os.environ['PADDOCK_ATTEMPT'] == '0')\n")  # fmt: skip
    ended = shared.paddock("run", *HOST, "--restarts", "1", "--workdir", str(work), "--", "python3", "again.py")
    assert (ended.code, ended.out) == (0, "attempt 0\nattempt 1\n"), str(ended)
    assert any(line.startswith("restart 1 of 1 in 10 s: worker-0 ") for line in ended.said), str(ended)


def test_secrets_reach_the_program_and_nothing_that_is_shown(shared: Cluster, work: Path) -> None:
    (work / "secrets.env").write_text("TOKEN='hid den'\n")
    words = ("--env-file", str(work / "secrets.env"), "--name", "secretive", "--workdir", str(work))
    for _ in range(2):  # the second run replaces the Secret with the job that owns it
        ended = shared.paddock("run", *HOST, *words, "--", "python3", "show.py")
        assert ended.code == 0 and words_of(ended)[2] == "hid den", str(ended)
    shown = [shared.paddock(*each.split()) for each in
             ("get secretive -o yaml", "describe secretive", "explain secretive", "get pods -o yaml")]  # fmt: skip
    assert not any("hid den" in str(each) for each in shown)
    secret = shared.read("/api/v1/namespaces/default/secrets/secretive-env")
    assert base64.b64decode(secret["data"]["TOKEN"]) == b"hid den"
    assert secret["metadata"]["ownerReferences"][0]["uid"] == shared.job("secretive")["metadata"]["uid"]
    assert shared.paddock("delete", "secretive").code == 0
    secrets = "/api/v1/namespaces/default/secrets"
    until("the end of the Secret", lambda: "secretive-env" not in str(shared.read(secrets)))


def test_a_detached_run_comes_back_and_its_name_is_taken(shared: Cluster, work: Path) -> None:
    words = ("run", *HOST, "--name", "long", "--workdir", str(work), "--detach", "--", "sleep", "600")
    ended = shared.paddock(*words)
    assert ended.code == 0 and "`paddock logs long -f` follows it" in ended.err, str(ended)
    refused = shared.paddock(*words)
    assert refused.code == 2, str(refused)
    assert "PaddleJob long exists already" in refused.err and "`--name long-2`" in refused.err
    assert shared.paddock("delete", "long").code == 0


@pytest.mark.slow
def test_the_file_that_init_writes_runs_and_takes_arguments(shared: Cluster, work: Path) -> None:
    file = work / "job.yaml"
    written = shared.paddock(
        "init", *HOST, "--name", "written", "--workdir", str(work), "-o", str(file), "--", "python3", "show.py", "1"
    )
    assert written.code == 0, str(written)
    ended = shared.paddock("run", str(file), "--workdir", str(work), "--", "a b")
    assert ended.code == 0 and words_of(ended)[0] == ["1", "a b"], str(ended)


@pytest.mark.slow
def test_programs_are_those_of_the_shell_that_typed_not_of_the_one_that_started_the_cluster(
    shared: Cluster, work: Path
) -> None:
    assert shared.paddock("status").code == 0
    program = work / "venv/bin/python3"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho of the venv: $*\n")
    program.chmod(0o755)
    typed = {**shared.environment, "PATH": f"{program.parent}:{shared.environment['PATH']}"}
    words = ("run", "--workdir", str(work), "--", "python3", "-c", "print(1)")
    for environment, printed in ((typed, "of the venv: -c print(1)\n"), (shared.environment, "1\n")):
        ended = subprocess.run((*PADDOCK, *words), env=environment, capture_output=True, text=True)
        assert (ended.returncode, ended.stdout) == (0, printed), ended.stderr


@ONE_SANDBOX
@pytest.mark.paddle
def test_the_users_script_is_run_by_paddlepaddle_and_two_workers_sum(cluster: Cluster) -> None:
    work = cluster.directory / "work"
    work.mkdir()
    (work / "train.py").write_text("print('my own')\n")
    (work / "all_reduce.py").write_text(ALL_REDUCE)
    own = cluster.paddock("run", str(WIDE_AND_DEEP), "--workdir", str(work), seconds=300)
    assert own.code == 0 and own.out.count("│ my own") == 4, str(own)
    assert own.said[1] == f"runs {work}/train.py (python3 train.py), environment paddle-ps"
    for command in (["python", "all_reduce.py"], ["python", "-m", "all_reduce"]):
        ended = cluster.paddock("run", "--workers", "2", "--workdir", str(work), "--", *command, "$x", seconds=300)
        assert ended.code == 0, str(ended)
        assert {f"worker-{rank} │ sum 3.0 rank {rank} of 2 ['$x']" for rank in (0, 1)} <= set(ended.lines)
