"""Server-side apply by kubectl: the embedded API makes of the same sequences what a real kube-apiserver does."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from apiserver.apply_sequences import RECORDED, SEQUENCES, Step, tell_owners, tell_wanted
from paddock.apiserver.http.server import Server
from paddock.apiserver.objects.in_process import LocalApi
from support.programs import need
from support.worlds import ControlPlane

pytestmark = pytest.mark.kubernetes


@dataclass(frozen=True, slots=True)
class Cluster:
    """By its kubeconfig."""

    kubeconfig: Path
    namespace: str

    def run(self, *words: str, stdin: Any = None) -> tuple[bool, str]:
        sent = "" if stdin is None else json.dumps(stdin)
        done = subprocess.run(
            [need("kubectl"), "-n", self.namespace, *words], input=sent, capture_output=True, text=True,
            env={"PATH": os.environ["PATH"], "HOME": str(self.kubeconfig.parent), "KUBECONFIG": str(self.kubeconfig)},
        )  # fmt: skip
        return done.returncode == 0, done.stdout if done.returncode == 0 else done.stderr

    def write(self, kind: str, step: Step) -> tuple[bool, tuple[str, ...]]:
        """Whether it was done, and the fields of a conflict."""
        if step.patch:
            manager = ("--field-manager", step.manager)
            return self.run("patch", kind, "x", "--type", "merge", "-p", json.dumps(step.wanted), *manager)[0], ()
        force = ("--force-conflicts",) if step.force else ()
        done, said = self.run(
            "apply", "--server-side", "--validate=false", "--field-manager", step.manager, *force, "-f", "-",
            stdin=step.wanted,
        )  # fmt: skip
        lines = (line.rpartition(": ")[2] if "conflict with" in line else line for line in said.splitlines())
        named = sorted(line.removeprefix("- ").strip() for line in lines if line.startswith(("- .", ".")))
        return done, tuple(named) if not done else ()

    def read(self, kind: str) -> dict[str, Any]:
        done, said = self.run("get", kind, "x", "-o", "json", "--show-managed-fields")
        assert done, said
        found: dict[str, Any] = json.loads(said)
        return found


@pytest.fixture
async def embedded(tmp_path: Path) -> AsyncIterator[Cluster]:
    api = await LocalApi.open(tmp_path / "cluster")
    server = Server(api, tmp_path / "cluster")
    await server.start()
    yield Cluster(server.kubeconfig, "default")
    await server.stop()
    await api.close()


@pytest.mark.parametrize("case", SEQUENCES)
async def test_both_make_the_same_of_it(case: str, embedded: Cluster, control_plane: ControlPlane) -> None:
    import asyncio

    real = Cluster(control_plane.kubeconfig, f"apply-{list(SEQUENCES).index(case)}")
    made, said = real.run("create", "namespace", real.namespace)
    assert made, said
    kind, recorded = SEQUENCES[case][0].wanted["kind"], json.loads(RECORDED.read_text())[case]
    for number, step in enumerate(SEQUENCES[case]):
        theirs = real.write(kind, step)
        ours = await asyncio.to_thread(embedded.write, kind, step)
        assert ours == theirs, f"step {number}"
        seen = [real.read(kind), await asyncio.to_thread(embedded.read, kind)]
        assert tell_wanted(seen[1]) == tell_wanted(seen[0]), f"step {number}"
        assert tell_owners(seen[1]) == tell_owners(seen[0]), f"step {number}"
        told = [theirs[0], list(theirs[1]), tell_wanted(seen[0]), tell_owners(seen[0])]
        assert json.loads(json.dumps(told)) == recorded[number], "what the light tests compare with"
