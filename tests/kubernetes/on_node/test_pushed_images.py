"""Code and packages of a laptop in the pods of a real node: pushed to a real registry, pulled by containerd."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.real_node import NAMESPACE, Cluster, copy_rootfs, run_paddock
from support.registries import RealRegistry, build_folder_archive, serve_registry
from support.wheels import build_wheel

pytestmark = [pytest.mark.kubernetes, pytest.mark.slow, pytest.mark.timeout(700)]

STEP = """
import time
import descent
print(f"begun at {time.time():.2f}", flush=True)
weight = 0.0
for step in range(1, 4):
    weight = descent.step(weight)
    print(f"step {step}: weight {weight:.3f} %s", flush=True)
"""


@pytest.fixture(scope="module")
def registry(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealRegistry]:
    """With an image that has this machine's Python, and nothing that trains."""
    place = tmp_path_factory.mktemp("registry")
    with serve_registry(place) as served:
        root = copy_rootfs(cluster.kubectl.control_plane, place / "rootfs")
        served.put("base:1", build_folder_archive(place / "base.tar", root))
        yield served


def test_a_changed_line_of_a_program_is_trained_by_pods_and_sends_that_line(
    cluster: Cluster, registry: RealRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_wheel(
        tmp_path / "wheels", "descent", "1.0", module="def step(weight): return weight - 0.1 * 2 * (weight - 3)\n"
    )
    for name, value in {"UV_FIND_LINKS": str(tmp_path / "wheels"), "PIP_NO_INDEX": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    program = tmp_path / "program"
    program.mkdir()
    (program / "requirements.txt").write_text("descent==1.0\n")
    words = ("--kubeconfig", str(cluster.kubectl.control_plane.kubeconfig), "-n", NAMESPACE)
    told = []
    for number in (1, 2):
        (program / "train.py").write_text(STEP % f"of run {number}")
        begun = time.time()
        ended = run_paddock(
            tmp_path / "home", "run", *words, "--name", f"pushed-{number}", "--image", f"{registry.host}/base:1",
            "--workdir", str(program), "-r", str(program / "requirements.txt"), "--push", f"{registry.host}/team/x",
            "--framework", "none", "--", "python3", "train.py",
        )  # fmt: skip
        said = ended.stdout + ended.stderr
        assert ended.returncode == 0, said + cluster.story()
        first = re.search(r"begun at ([\d.]+)", said)  # of the same clock
        assert f"step 3: weight 1.464 of run {number}" in said
        sent = re.search(r"pushed \S+: (.*) sent", said)
        assert sent and first, said
        told.append(f"run {number}: {sent[1]} sent, {float(first[1]) - begun:.1f} s from the command to its first step")
        pods = cluster.pods(f"pushed-{number}")
        (image,) = {each["spec"]["containers"][0]["image"] for each in pods.values()}
        assert image.startswith(f"{registry.host}/team/x@sha256:")
        again = run_paddock(tmp_path / "home", "logs", f"pushed-{number}", *words)
        assert f"step 3: weight 1.464 of run {number}" in again.stdout, "the pods stay with their logs"
    print("\n".join(told))
    assert re.search(r"run 2: [\d.]+ (KiB|B) sent", told[1]), "the layer with the packages was there"
