"""The documents' walk (seeds 000 and 004) by hand in the form, in their words: 创建 → type → 名称 … → 提交 → 任务详情 →
日志 of each pod; the jobs train with real frameworks and run to their end."""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from e2e.commands import Cluster

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

EXAMPLES = Path(__file__).parents[2] / "examples"
PADDLE_IMAGE = "registry.baidubce.com/paddlepaddle/paddle:2.4.0rc0-cpu"
TRAINING_MS = 600_000.0
"""The first one of a machine builds its environment."""

ZH = {
    "language": "zh", "new": "创建", "name": "名称", "description": "描述", "command": "启动命令", "args": "命令参数",
    "image": "镜像", "environment": "环境", "replicas": "副本数", "memory": "内存", "directory": "工作目录",
    "total": "副本总数", "submit": "提交", "logs": "日志",
    "paddle": "PaddlePaddle", "single": "PyTorch 单机", "distributed": "PyTorch 分布式",
}  # fmt: skip
EN = {
    "language": "en", "new": "New job", "name": "Name", "description": "Description", "command": "Start command",
    "args": "Arguments of the command", "image": "Image", "environment": "Environment", "replicas": "Replicas",
    "memory": "Memory", "directory": "Working directory", "total": "Replicas in all", "submit": "Submit",
    "logs": "Logs", "paddle": "PaddlePaddle", "single": "PyTorch, single", "distributed": "PyTorch, distributed",
}  # fmt: skip


def read_program(name: str) -> str:
    """The program that the document has the reader paste."""
    manifest = yaml.safe_load((EXAMPLES / "documents" / f"{name}.yaml").read_text(encoding="utf-8"))
    program = manifest["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"][0]["args"][0]
    assert isinstance(program, str)
    return program


@dataclass(frozen=True, slots=True)
class Walk:
    """`typed`: by the key of its label, where `directory` is one of the examples. `printed`: rank -> what stands in its
    log at the end."""

    type: str
    typed: Mapping[str, str]
    total: int
    printed: Mapping[str, str]


WALKS = {
    "paddle-single": Walk(
        "paddle",
        {"image": PADDLE_IMAGE, "command": "python", "args": "-m paddle.distributed.launch run_check", "memory": "2Gi"},
        1,
        {"worker-0": "PaddlePaddle is installed successfully!"},
    ),
    "paddle-distributed": Walk(
        "paddle",
        {
            "image": PADDLE_IMAGE,
            "command": "python",
            "args": "-m paddle.distributed.launch train.py --epochs=10",
            "directory": "all_reduce",
            "replicas": "2",
        },
        2,
        {f"worker-{index}": "Training completed." for index in (0, 1)},
    ),
    "pytorch-single": Walk(
        "single",
        {"command": "bash", "args": read_program("pytorch_single")},
        1,
        {"master-0": "Training finished."},
    ),
    "light": Walk(
        "distributed",
        {"image": "busybox", "command": "echo", "args": "trained", "replicas": "2"},
        3,
        dict.fromkeys(("master-0", "worker-0", "worker-1"), "trained"),
    ),
    "pytorch-distributed": Walk(
        "distributed",
        {"command": "bash", "args": read_program("pytorch_distributed")},
        3,
        {"master-0": "Epoch 9, Loss:", "worker-0": "Rank: 1, World Size: 3", "worker-1": "Rank: 2, World Size: 3"},
    ),
}


def link(cluster: Cluster) -> str:
    """Signs in, once."""
    return cluster.paddock("console", "--url").out.strip()


@pytest.fixture
def copies() -> Iterator[Path]:
    """A directory that pods see in each sandbox, which have a /tmp of their own; git ignores it."""
    build = EXAMPLES.parent / "build"
    build.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=build) as directory:
        yield Path(directory)


TRAINED = ("paddle-single", "paddle-distributed", "pytorch-single", "pytorch-distributed")
TRIED = [
    *(pytest.param(name, ZH, id=f"{name}-zh", marks=pytest.mark.paddle) for name in TRAINED),
    pytest.param("light", EN, id="light-en"),  # the same walk in English; training it again would tell nothing new
]


@pytest.mark.parametrize(("name", "said"), TRIED)
async def test_a_job_of_the_documents_is_created_in_the_form_and_runs_to_its_end(
    name: str, said: Mapping[str, str], cluster: Cluster, page: Page, copies: Path
) -> None:
    walk = WALKS[name]
    job = f"{name}-{said['language']}"
    await page.goto(await asyncio.to_thread(link, cluster))
    await page.goto(f"{page.url}?lang={said['language']}")
    await page.get_by_role("link", name=re.compile(said["new"])).first.click()
    await page.locator(".types a", has=page.get_by_text(said[walk.type], exact=True)).click()
    typed = {"name": job, "description": f"the walk: {name}", **walk.typed}
    if "directory" in typed:  # a copy, as the launcher writes its logs there
        typed["directory"] = str(shutil.copytree(EXAMPLES / typed["directory"], copies / typed["directory"]))
    for label, value in typed.items():
        await page.get_by_label(said[label], exact=True).and_(page.locator(":visible")).last.fill(value)
    assert await page.get_by_label(said["environment"], exact=True).input_value() == ""
    total = page.locator("#replicas", has_text=re.compile(f"^{walk.total}$"))
    await total.wait_for()
    assert said["total"] in await total.locator("xpath=..").inner_text()
    assert await page.get_by_label(said["total"]).and_(page.locator("input")).count() == 0, "never asked for"

    await page.get_by_role("button", name=said["submit"], exact=True).click()
    await page.wait_for_url(f"**/{job}")
    await page.get_by_role("link", name=said["logs"], exact=True).first.click()
    await page.locator(".phase[data-phase=Completed]").first.wait_for(timeout=TRAINING_MS)
    for rank, line in walk.printed.items():
        await page.get_by_role("link", name=re.compile(rf"^{rank}\b")).first.click()
        await page.get_by_text(line).first.wait_for()
