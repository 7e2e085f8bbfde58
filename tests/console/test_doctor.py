"""The page that says what is wrong with a job and what mends it."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from history.test_logs import write_log
from paddock.app.home import Home
from paddock.history.records import RunRecord, write_record
from paddock.kube.meta import Manifest
from support.consoles import PADDLE, serve_console
from support.written import build_written_job

ADDRESS = "/jobs/default/paddlejobs.batch.paddlepaddle.org/demo/doctor"
LOGS = Path(__file__).parents[1] / "doctor" / "logs"


def build_job(command: Sequence[str], **status: Any) -> Manifest:
    """With one worker, which runs this command."""
    job = build_written_job(**(status or {"phase": "Failed", "attempt": 0}))
    del job["spec"]["ps"]
    job["spec"]["worker"] = {"replicas": 1, "template": {"spec": {"containers": [{
        "name": "paddle", "image": "paddle:3.3.1", "command": list(command)}]}}}  # fmt: skip
    return job


def keep(directory: Path, text: str) -> Path:
    home = Home(directory, directory)
    write_record(home.history, RunRecord(PADDLE.api_version, "PaddleJob", "default", "demo", "one", 1, 100.0))
    return write_log(home.node, "demo-worker-0", "pod-uid", job="one", attempt=0, text=text, when=1000.0)


async def read_page(directory: Path, job: Manifest) -> str:
    async with serve_console(directory, [job]) as served, served.session.get(ADDRESS) as answer:
        page = await answer.text()
        assert answer.status == 200, page
        return page[page.index("<main") : page.index("</main>")]


def text_of(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


async def test_a_finding_has_its_place_its_reason_and_a_command_to_copy(tmp_path: Path) -> None:
    keep(tmp_path, (LOGS / "devices-are-labels.log").read_text())
    page = await read_page(tmp_path, build_job(["python", "-m", "paddle.distributed.launch", "train.py"]))
    said = text_of(page)
    assert "wrong --devices 0,1 was asked for, and CUDA_VISIBLE_DEVICES shows 2,3 alone" in said
    assert "worker-0, line 3 devices-are-labels" in said
    assert 'data-copy="python -m paddle.distributed.launch --devices 2,3 train.py"' in page


async def test_a_job_is_compared_with_its_manifest_also_before_it_has_printed(tmp_path: Path) -> None:
    command = ["python", "-m", "paddle.distributed.launch", "--nnodes", "2", "train.py"]
    said = text_of(await read_page(tmp_path, build_job(command)))
    assert "the command says --nnodes 2, and the job has 1 pod that trains" in said
    assert "paddock get jobs demo -o yaml" in said


async def test_a_job_that_failed_is_never_told_that_nothing_was_found(tmp_path: Path) -> None:
    said = text_of(await read_page(tmp_path, build_job(["python", "train.py"])))
    assert "Nothing was found." not in said
    assert "the job failed for a reason that no check knows: `paddock explain demo`" in said


async def test_what_a_log_says_stays_text(tmp_path: Path) -> None:
    keep(tmp_path, "LAUNCH INFO 2026-11-20 15:38:21,548 nnodes: 1\n"
                   "OSError: [Errno 98] Address already in use <script>alert(1)</script>\n")  # fmt: skip
    page = await read_page(tmp_path, build_job(["python", "train.py"]))
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


async def test_a_log_that_grows_is_read_on(tmp_path: Path) -> None:
    path = keep(tmp_path, (LOGS / "single.log").read_text())
    job = build_job(["python", "-m", "paddle.distributed.launch", "train.py"], phase="Running", attempt=0)
    async with serve_console(tmp_path, [job]) as served:
        async with served.session.get(ADDRESS) as answer:
            assert "Nothing was found." in await answer.text()
        with path.open("a") as log:
            log.write("OSError: [Errno 98] Address already in use\n")
        async with served.session.get(ADDRESS) as answer:
            assert "port-is-taken" in await answer.text()


async def test_a_job_that_is_not_there_is_missing(tmp_path: Path) -> None:
    async with serve_console(tmp_path, []) as served, served.session.get(ADDRESS) as answer:
        assert answer.status == 404
