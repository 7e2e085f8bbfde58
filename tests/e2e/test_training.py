"""Jobs of the documents train with a real PaddlePaddle, through the command that a newcomer types."""

from __future__ import annotations

import hashlib
import re

import pytest

from e2e.commands import Cluster
from e2e.manifests import RESNET, WIDE_AND_DEEP, build_wide_and_deep
from e2e.training import assert_trained, find_python
from support.sandboxes import ONE_SANDBOX

pytestmark = [pytest.mark.paddle]

SHORT = {"EPOCHS": "1", "STEPS": "100"}
AS_PRINTED = "81e33843618b26d019f8156aa8bcdf672203e4c48548d8e836af5f4a38ecce80"
"""SHA-256 of the manifest that paddle-operator's documents print."""


@pytest.mark.sample  # PS mode: what a newcomer types, and what was learned
def test_the_documents_wide_and_deep_trains_as_it_is_printed(cluster: Cluster) -> None:
    assert hashlib.sha256(WIDE_AND_DEEP.read_bytes()).hexdigest() == AS_PRINTED
    ended = cluster.paddock("run", str(WIDE_AND_DEEP), seconds=300)
    assert ended.code == 0, str(ended)
    assert ended.said[0] == "PaddleJob wide-ande-deep: PS mode, 2 servers, 2 workers"
    assert re.search(r"^worker-0 │ epoch 1  step 100/400  loss 0\.\d{4}$", ended.out, re.MULTILINE)
    assert re.fullmatch(
        r"Completed in \d+ s: ps 2/2, worker 2/2 succeeded\. "
        r"Held-out AUC 0\.\d\d \(chance 0\.50, best possible 0\.84\)",
        ended.said[-3],
    ), str(ended)
    assert re.fullmatch(r"logs: paddock logs wide-ande-deep      outputs: /.+", ended.said[-2])
    assert ended.said[-1].startswith("its servers are kept running (cleanPodPolicy: Never): ")
    python = find_python(cluster, "paddle-ps")
    assert_trained(python, cluster.output("wide-ande-deep"))


@ONE_SANDBOX
def test_servers_that_never_update_are_found_out(cluster: Cluster) -> None:
    job = build_wide_and_deep("still", SHORT | {"LEARNING_RATE": "0"})
    ended = cluster.paddock("run", cluster.write(job), seconds=200)
    assert ended.code == 0, str(ended)
    python = find_python(cluster, "paddle-ps")
    with pytest.raises(AssertionError, match=r"'auc': 0\.[45]"):
        assert_trained(python, cluster.output("still"))


@ONE_SANDBOX
def test_the_documents_resnet_trains_on_the_cpu_and_says_so(cluster: Cluster) -> None:
    ended = cluster.paddock("run", str(RESNET), seconds=380)
    if "none: training on the CPU" not in ended.err:
        pytest.skip("this machine has GPUs")
    assert ended.code == 0, str(ended)
    assert "the job asks for 2 nvidia.com/gpu and this machine has none" in ended.err
    assert "(--without nvidia.com/gpu)" in ended.err
    assert "PaddleJob resnet: Collective mode, 2 workers" in ended.said
    accuracy = re.search(r"Held-out accuracy (0\.\d\d) \(chance 0\.10\)$", ended.said[-2])
    assert accuracy and float(accuracy[1]) > 0.9, str(ended)
    assert "nvidia.com/gpu" in cluster.job("resnet")["metadata"]["annotations"]["paddock.dev/without"]


def test_two_jobs_with_servers_and_gloo_run_side_by_side(cluster: Cluster) -> None:
    runs = [cluster.start("run", cluster.write(build_wide_and_deep(name, SHORT))) for name in ("left", "right")]
    for run in runs:
        ended = run.end(240)
        assert ended.code == 0, str(ended)
        assert "ps 2/2, worker 2/2 succeeded. Held-out AUC" in ended.said[-2]


HASTY = """
import os, time
import numpy as np
import paddle
from paddle.distributed import fleet

paddle.enable_static()
fleet.init()
x, y = paddle.static.data("x", [-1, 4], "float32"), paddle.static.data("y", [-1, 1], "float32")
loss = paddle.mean((paddle.static.nn.fc(x, 1) - y) ** 2)
strategy = fleet.DistributedStrategy()
strategy.a_sync = True
fleet.distributed_optimizer(paddle.optimizer.SGD(0.01), strategy).minimize(loss)
if fleet.is_server():
    time.sleep(5)
    fleet.init_server()
    fleet.run_server()
else:
    executor = paddle.static.Executor(paddle.CPUPlace())
    executor.run(paddle.static.default_startup_program())
    fleet.init_worker()
    batch = np.ones((8, 4), "float32")
    for _ in range(5):
        executor.run(feed={"x": batch, "y": batch[:, :1]}, fetch_list=[loss])
    fleet.stop_worker()
"""


@ONE_SANDBOX
@pytest.mark.parametrize("workers", ["1", "2"], ids=["alone", "with gloo"])
def test_a_program_that_asks_the_servers_at_once_starts_when_they_answer(cluster: Cluster, workers: str) -> None:
    """`push dense param failed` where it does not wait: the servers of this one take five seconds longer."""
    (cluster.directory / "hasty.py").write_text(HASTY)
    options = ["--workdir", str(cluster.directory), "--ps", "2", "--workers", workers]
    ended = cluster.paddock("run", *options, "--", "python", "hasty.py", seconds=300)
    assert ended.code == 0, str(ended)
    assert "hasty.py calls init_worker(): the workers start when the servers answer, or after 120 s" in ended.said
