"""Environments that cannot be built: the wait for them ends, and says what to do."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

from e2e.commands import Cluster
from e2e.manifests import build_light_job
from environments.packages import make_wheel


def create_environment(cluster: Cluster, directory: Path, name: str) -> Path:
    """One whose only package is not in its index, yet. The index is a directory that no test before had: environments
    stay built under the address of their index."""
    index = directory / uuid4().hex / "simple"
    index.mkdir(parents=True)
    (directory / "requirements.txt").write_text("tiny==1.0\n")
    ended = cluster.paddock(
        "env", "create", name, "-r", str(directory / "requirements.txt"), "--image", f"team/{name}:*",
        "--index-url", f"file://{index}",
    )  # fmt: skip
    assert ended.code == 0, str(ended)
    return index


def publish(index: Path) -> None:
    file, content = make_wheel("tiny", "1.0")
    (index / "tiny").mkdir()
    (index / "tiny" / file).write_bytes(content)
    (index / "tiny" / "index.html").write_text(f'<a href="{file}">{file}</a>')


def test_a_build_that_fails_ends_run_and_is_tried_again_when_asked(shared: Cluster, tmp_path: Path) -> None:
    index = create_environment(shared, tmp_path, "broken")
    job = build_light_job("unbuilt", "python3 -c 'import tiny; print(tiny.version)'")
    job["spec"]["worker"]["template"]["spec"]["containers"][0]["image"] = "team/broken:v1"
    file = shared.write(job)

    first = shared.paddock("run", file)
    assert first.code == 1, str(first)
    head, *steps = first.said[-4:-1]
    why = "worker-0 cannot start: environment broken: spec.requirements: the package index of spec.indexURL does not"
    assert head.startswith("Not started after ") and why in head, str(first)
    requirements = tmp_path / "requirements.txt"
    assert steps == [
        f"see {requirements}:1", f"next: paddock run {file}  # after {requirements} is mended: it is read again",
    ]  # fmt: skip
    assert first.said[-1].startswith("the job is suspended, it holds no pods: the next `paddock run` replaces it")
    assert first.out == ""
    assert not shared.pods("unbuilt")
    assert "the package index of spec.indexURL" in shared.paddock("get").out
    assert why in shared.paddock("get", "-o", "wide").out
    assert why in shared.paddock("describe", "unbuilt").out
    explained = shared.paddock("explain", "unbuilt").out
    assert why in explained and "`paddock run` gave the job up for it and suspended it" in explained

    again = shared.paddock("run", file)
    assert again.code == 1 and why in again.err, str(again)
    assert "replacing PaddleJob unbuilt, whose environment could not be built" in again.err
    assert "building" not in again.err, "the same failure is not tried again"

    publish(index)
    assert shared.paddock("env", "build", "broken").code == 0
    mended = shared.paddock("run", file)
    assert (mended.code, mended.out) == (0, "1.0\n"), str(mended)
