"""A terminal of tenants and of the administrator of a real API server."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from e2e.commands import Ended
from paddock.kube.errors import NotFound
from paddock.kube.meta import Manifest
from support.operator_seam import JOBS, build_job
from support.printed import fill_in
from support.waiting import until
from support.worlds import World


class Shell:
    """A terminal with the contexts `prod`, the administrator's, `alice` and `bob`."""

    def __init__(self, world: World, directory: Path) -> None:
        assert world.control_plane is not None
        self.world, self.directory = world, directory
        config: Manifest = yaml.safe_load(world.control_plane.kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        users = {"prod": user, "alice": {**user, "as": "alice"}, "bob": {**user, "as": "bob"}}
        names = [{"name": name, "context": {"cluster": "here", "user": name, "namespace": world.namespace}}
                 for name in users]  # fmt: skip
        config |= {
            "clusters": [{"name": "here", "cluster": cluster}],
            "users": [{"name": name, "user": each} for name, each in users.items()],
            "contexts": names,
            "current-context": "prod",
        }
        (directory / "kubeconfig").write_text(json.dumps(config))
        self._programs = directory / "bin"
        self._programs.mkdir()
        (self._programs / "kubectl").symlink_to(world.control_plane.kubectl)
        paddock = self._programs / "paddock"
        paddock.write_text(f'#!/bin/sh\nexec {sys.executable} -m paddock.cli.main "$@"\n')
        paddock.chmod(0o700)

    async def type(self, command: str, words: Mapping[str, str] | None = None) -> Ended:
        """A whole line, as a shell reads it."""
        kept = {name: text for name, text in os.environ.items() if not name.startswith(("LC_", "LANG", "PADDOCK_"))}
        own = {
            "PADDOCK_HOME": str(self.directory / "home"),
            "KUBECONFIG": str(self.directory / "kubeconfig"),
            "PATH": f"{self._programs}:{os.environ['PATH']}",
            "COLUMNS": "200",
            "NO_COLOR": "1",
        }
        typed = fill_in(command, words) if words else command
        ended = await asyncio.to_thread(
            subprocess.run, ["sh", "-c", typed], env={**kept, **own}, cwd=self.directory,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180,
        )  # fmt: skip
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    async def create(self, name: str, **spec: Any) -> None:
        job = build_job(name, ps=0, worker=1, namespace=self.world.namespace)
        job["spec"] |= spec
        await self.world.api.create(JOBS, job)

    async def phase(self, name: str) -> str:
        """Empty for a job that is not there."""
        try:
            job = await self.world.api.get(JOBS, self.world.namespace, name)
        except NotFound:
            return ""
        return str((job.get("status") or {}).get("phase") or "Pending")

    async def until_phase(self, name: str, *phases: str) -> None:
        async def look() -> bool:
            return await self.phase(name) in phases

        await until(look)
