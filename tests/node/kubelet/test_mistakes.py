"""Pods whose program cannot be started, by their manifest or by a bug of ours: the message in their status."""

from __future__ import annotations

from pathlib import Path

import pytest

from node.cluster import Cluster, open_cluster, pod, shell, terminated, waiting
from paddock.kube.meta import CONFIG_MAPS, Manifest
from paddock.node.runtime.containers import explain_characters
from paddock.node.runtime.images import Image
from paddock.node.runtime.sandbox import Program, choose_sandbox
from support.host_programs import HostPrograms

NUL = "which no program can be given"


@pytest.mark.parametrize(
    ("arguments", "environment", "directory", "said"),
    [
        (("/bin/sh", "-c", "a\0b"), {}, "/", rf"command or args: 'a\x00b' has a NUL character, {NUL}"),
        (("/bin/\0",), {}, "/", rf"command or args: '/bin/\x00' has a NUL character, {NUL}"),
        (("/bin/sh",), {"A": "\0"}, "/", f"env 'A': its value has a NUL character, {NUL}"),
        (("/bin/sh",), {"A\0": ""}, "/", rf"env 'A\x00' has a NUL character, {NUL}"),
        (("/bin/sh",), {"A=B": ""}, "/", f"env 'A=B' has a = in its name, {NUL}"),
        (("/bin/sh",), {}, "/a\0", rf"workingDir: '/a\x00' has a NUL character, {NUL}"),
        (("/bin/sh",), {"A": "B=C"}, "/", ""),
    ],
)
def test_characters_that_no_program_can_be_given(
    arguments: tuple[str, ...], environment: dict[str, str], directory: str, said: str
) -> None:
    nowhere = Path("/nowhere")
    program = Program(arguments, environment, directory, "p", exit_file=nowhere, termination=nowhere)
    assert explain_characters(program) == said


async def test_a_nul_character_fails_the_pod_with_a_sentence(cluster: Cluster) -> None:
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "s", "namespace": "default"}}
    await cluster.api.create(CONFIG_MAPS, settings | {"data": {"LIST": "a\0b"}})
    found = await cluster.run(pod(shell("true", envFrom=[{"configMapRef": {"name": "s"}}])))
    assert found["status"]["phase"] == "Failed"
    assert (terminated(found)["reason"], terminated(found)["exitCode"]) == ("StartError", 127)
    assert terminated(found)["message"] == f"env 'LIST': its value has a NUL character, {NUL}"


class Broken(HostPrograms):
    """Has a bug, which shows with one image."""

    def resolve(self, image: str, pod: Manifest) -> Image:
        if image == "breaks":
            raise KeyError("no such thing")
        return super().resolve(image, pod)


async def test_a_bug_of_ours_is_said_where_the_user_looks(tmp_path: Path) -> None:
    async with open_cluster(tmp_path, choose_sandbox("none"), Broken()) as cluster:
        bad, good = {**shell("true", name="bad"), "image": "breaks"}, shell("exec sleep 60", name="good")
        await cluster.create(pod(bad, good))
        found = await cluster.see("p", lambda found: waiting(found).get("message"))
        assert waiting(found)["reason"] == "CreateContainerError"
        assert waiting(found)["message"].startswith("KeyError: 'no such thing' (a bug of Paddock; see cluster.log)")
        await cluster.see("p", lambda found: found["status"]["containerStatuses"][1].get("started"))
