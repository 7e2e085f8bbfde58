"""What `paddock get` imports. Its time is that of its imports: a module that it does not need is felt at every call."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from paddock.apiserver.http.server import Server
from paddock.apiserver.objects.in_process import LocalApi
from support.operator_seam import JOBS, install_jobs

NOT_OF_GET = {
    "yaml": "the kubeconfig of the local cluster is JSON",
    "paddock.jobs.causes": "a status has its cause as a record",
    "paddock.logs": "for pods that have failed",
    "paddock.preflight": "for manifests that are submitted",
    "paddock.history": "for `logs` and `history`",
    "paddock.environments": "the images of pods are not looked at",
    "paddock.node": "",
    "paddock.apiserver": "",
    "paddock.operator": "",
    "rich.live": "for what is followed",
    "cryptography": "the cluster makes certificates, this reads them",
    "uvloop": "for servers",
    "psutil": "for the cluster's process",
}
"""A package or module -> why `paddock get` does without it."""

LISTED = """
import sys
from paddock.cli.main import run
assert run(sys.argv[1:]) == 0
print(*sys.modules, sep="\\n", file=sys.stderr)
"""


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The modules of a `paddock get` that lists a job."""
    return asyncio.run(_get(tmp_path_factory.mktemp("cold")))


async def _get(directory: Path) -> set[str]:
    api = await LocalApi.open(directory / "store")
    await install_jobs(api)
    template = {"spec": {"containers": [{"name": "paddle", "image": "python:3"}]}}
    job = {"metadata": {"name": "one"}, "spec": {"worker": {"replicas": 1, "template": template}}}
    await api.create(JOBS, {"apiVersion": JOBS.api_version, "kind": JOBS.kind, **job}, namespace="default")
    server = Server(api, directory / "server")
    (directory / "server").mkdir()
    await server.start()
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", LISTED, "--kubeconfig", str(server.kubeconfig), "get", cwd=directory,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, err = await process.communicate()
    finally:
        await server.stop()
        await api.close()
    assert b"one" in out and process.returncode == 0, err.decode()
    return set(err.decode().split())


@pytest.mark.parametrize("module", NOT_OF_GET)
def test_a_cold_get_does_not_import(module: str, imported: set[str]) -> None:
    found = {name for name in imported if name == module or name.startswith(f"{module}.")}
    assert not found, NOT_OF_GET[module]
