"""The real launchers of PaddlePaddle 3.0.0 and 3.3.1 do what `preflight.paddle_options` says of each option."""

from __future__ import annotations

import asyncio
import os
import shlex
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from paddock.launches.reading import read_typed
from paddock.preflight.paddle_options import explain_launch

pytestmark = [pytest.mark.paddle]
PROGRAM = """
import glob, os, time
print('ran', os.environ.get('PADDLE_TRAINER_ID'), os.environ.get('PADDLE_TRAINERS_NUM'), flush=True)
lists = ("PADDLE_PSERVERS_IP_PORT_LIST", "PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST")
others = [each for name in lists for each in os.environ.get(name, "").split(",") if each]
ran = lambda: sum("ran " in open(path).read() for kind in ("server", "heter") for path in glob.glob(f"log/{kind}log.*"))
while os.environ.get("TRAINING_ROLE") == "TRAINER" and ran() < len(others):
    time.sleep(0.1)
"""
"""A worker's end makes the launcher end all others, so it waits until each has printed its line."""


@dataclass(frozen=True)
class Row:
    """`ran`: how often the program ran, as which rank of how many. `old`: the output shows the old launcher.
    `master`: PADDLE_MASTER is set."""

    options: str
    code: int
    ran: tuple[str, ...] = ("ran 0 1",)
    old: bool = False
    module: str = "paddle.distributed.launch"
    words: str = ""
    master: bool = False


OLD = "paddle.distributed.fleet.launch"
SERVED = ("ran 0 1", "ran None 1")
"""One worker, and servers and heter ranks, which have no PADDLE_TRAINER_ID."""
ROWS = (
    Row("", 0),
    Row("--selected_gpus=0,1", 0, old=True),
    Row("--dcus 0,1", 1, (), old=True, words="0,1"),
    Row("--nproc-per-node 2", 1, (), old=True, words="'/"),
    Row("--master_addr=127.0.0.1 --master_port=1 --node_rank=0", 0, old=True),
    Row(
        "--cluster_node_ips=192.0.2.2,192.0.2.3 --node_ip=192.0.2.3 --started_port=6170 --selected_gpus=0", 0, old=True
    ),
    Row("--use_paddlecloud", 0, old=True),
    Row("--my_option=1", 0, old=True),
    Row("--master 127.0.0.1:PORT --selected_gpus=0,1", 0),
    Row("--master 127.0.0.1:PORT --my_option=1", 0),
    Row("--master http://127.0.0.1:PORT --nnodes 2", 1, (), words="ValueError"),
    Row("--np=2", 2, (), words="ambiguous option"),
    Row("--nnodes 0", 0),
    Row("--run_mode nonsense", 0),
    Row("--legacy True", 1, (), old=True, words="True"),
    Row("--http_port=7879", 1, (), old=True, words="AssertionError"),
    Row("--heter_worker_num=1", 1, (), old=True, words="AssertionError"),
    Row("--selected_gpus=0,1", 0, old=True, module="paddle.distributed.fleet.launch"),
    Row("--start=6170", 0),
    Row("--my_option=1", 0, master=True),
    Row("--server_num 1 --worker_num 1", 0, SERVED, old=True),
    Row("--server_num=3 --worker_num=1", 0, SERVED, old=True),
    Row("--server_num=1 --worker_num=2", 0, ("ran 0 2", "ran 1 2", "ran None 2"), old=True),
    Row("--server_num=1 --worker_num=1 --heter_worker_num=2 --heter_devices=cpu", 0, SERVED, old=True),
    Row("--server_num=1 --worker_num=1 --heter_devices=cpu", 1, (), old=True, words="AssertionError"),
    Row("--nnodes 1 --server_num=1 --worker_num=1", 1, (), old=True, words="AssertionError"),
    Row("--worker_num=1", 1, (), old=True, words="AssertionError"),
    Row("--server_num=1 --trainer_num=1", 1, (), old=True, module=OLD, words="AssertionError"),
    Row("--server_num=2 --servers=127.0.0.1:PORT --worker_num=1", 1, (), old=True, words="AssertionError"),
    Row("--run_mode=collective --server_num=1 --worker_num=1", 1, (), old=True, words="AssertionError"),
    Row("", 1, (), module="paddle.distributed.launch_ps", words="No module named"),
    Row("", 1, (), module="paddle.fluid.launch", words="No module named"),
)


@pytest.mark.parametrize("environment", ["paddle-ps", "paddle"])
async def test_options_of_other_years_do_what_the_table_says(
    tmp_path: Path, python_of: Callable[[str], str], environment: str
) -> None:
    python = await asyncio.to_thread(python_of, environment)
    two = asyncio.Semaphore(2)
    wrong = [each for each in await asyncio.gather(*(run(python, row, tmp_path, two) for row in ROWS)) if each]
    assert wrong == []


async def run(python: str, row: Row, directory: Path, two: asyncio.Semaphore) -> str:
    """What differs from the row, and from what is said of it; empty if nothing does."""
    own = directory / str(ROWS.index(row))
    own.mkdir()
    (own / "t.py").write_text(PROGRAM)
    options = shlex.split(row.options.replace("PORT", str(find_port())))
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PADDLE_", "PET_"))}
    if row.master:
        clean["PADDLE_MASTER"] = f"127.0.0.1:{find_port()}"
    async with two:
        process = await asyncio.create_subprocess_exec(
            python, "-m", row.module, *options, "t.py", cwd=own, env=clean,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        out = (await asyncio.wait_for(process.communicate(), 120))[0].decode()
    logs = "".join(path.read_text() for path in own.glob("log/*log.*") if not path.name.startswith("default"))
    ran = tuple(line for line in sorted(set((out + logs).splitlines())) if line.startswith("ran "))
    is_old = "Configuration Arguments" in out
    (launch,) = read_typed(["python", "-m", row.module, *options, "t.py"]).launches
    errors = [each for each in explain_launch(launch, has_master=row.master) if each.severity == "error"]
    agrees = bool(errors) == (row.code != 0)
    seen = (process.returncode, ran, is_old, row.words in out, agrees)
    expected = (row.code, row.ran, row.old, True, True)
    return "" if seen == expected else f"{row}: {seen}\n{out[-1500:]}"


def find_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
