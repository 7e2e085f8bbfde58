"""What `paddock --help` and `paddock get` import. Their time is that of their imports: a module that they do not need
is felt at every call."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from paddock.apiserver.http.server import Server
from paddock.apiserver.objects.in_process import LocalApi
from support.operator_seam import JOBS, install_jobs

GOLDENS = Path(__file__).parent / "goldens"
MOST = {"--help": 20, "get": 110}
"""The lines of each golden at most. A list that grows line by line, each with a reason, is slow in the end."""
OF_STANDARD_LIBRARY = frozenset({"asyncio", "ctypes", "email", "http", "shutil", "sqlite3", "tempfile", "unittest"})
"""Of the standard library those that are felt; the others differ between versions of Python."""
NOT_OURS = frozenset({"paddock", "cython_runtime", "sitecustomize", "typing_extensions", "usercustomize"})
"""Paddock is listed by module; the others come with an installation, or with a version of Python."""

LISTED = """
import sys
from paddock.cli.main import run
assert run(sys.argv[1:]) == 0
print(*sys.modules, sep="\\n", file=sys.stderr)
"""


def name_felt(modules: Iterable[str]) -> list[str]:
    """Paddock's modules, and the top-level packages of others."""
    tops = {name.partition(".")[0] for name in modules if not name.startswith("_")} - NOT_OURS
    others = {name for name in tops if name in OF_STANDARD_LIBRARY or name not in sys.stdlib_module_names}
    return [*sorted(others), *sorted(name for name in modules if name.partition(".")[0] == "paddock")]


async def _import(*words: str, cwd: Path) -> set[str]:
    """The modules of a command that is to succeed."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", LISTED, *words, cwd=cwd, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await process.communicate()
    assert process.returncode == 0 and out, err.decode()
    return set(err.decode().split())


async def _get(directory: Path) -> set[str]:
    """Lists a job that runs."""
    api = await LocalApi.open(directory / "store")
    await install_jobs(api)
    template = {"spec": {"containers": [{"name": "paddle", "image": "python:3"}]}}
    job = {"metadata": {"name": "one"}, "spec": {"worker": {"replicas": 1, "template": template}}}
    await api.create(JOBS, {"apiVersion": JOBS.api_version, "kind": JOBS.kind, **job}, namespace="default")
    status = {"status": {"phase": "Running", "attempt": 0, "worker": {"ready": "1/1", "running": 1}}}
    await api.patch(JOBS, "default", "one", status, subresource="status")
    server = Server(api, directory / "server")
    (directory / "server").mkdir()
    await server.start()
    try:
        return await _import("--kubeconfig", str(server.kubeconfig), "get", cwd=directory)
    finally:
        await server.stop()
        await api.close()


@pytest.mark.parametrize("word", MOST)
def test_a_cold_command_imports_no_more_than_it_did(
    word: str, tmp_path: Path, request: pytest.FixtureRequest, match_golden: Callable[[str, str], None]
) -> None:
    felt = name_felt(asyncio.run(_get(tmp_path) if word == "get" else _import(word, cwd=tmp_path)))
    assert len(felt) <= MOST[word], f"`paddock {word}` imports {len(felt)} packages and modules, {MOST[word]} at most"
    name = f"imports-of-{word.strip('-')}.txt"
    if not request.config.getoption("--rewrite-goldens"):
        more = sorted(set(felt) - set((GOLDENS / name).read_text().split()))
        assert not more, (
            f"`paddock {word}` imports more, which is felt at every call: {', '.join(more)}. Import it in the function "
            "that needs it; where every call does, `pytest --rewrite-goldens` takes it up"
        )
    match_golden(name, "\n".join(felt) + "\n")
