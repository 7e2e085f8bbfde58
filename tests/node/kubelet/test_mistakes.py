"""Pods whose program cannot be started, by their manifest or by a bug of ours: the message in their status."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from node.cluster import Cluster, container, log_text, open_cluster, pod, shell, terminated, waiting
from paddock.kube.errors import Invalid
from paddock.kube.meta import CONFIG_MAPS, PODS, Manifest
from paddock.node.runtime.containers import explain_characters
from paddock.node.runtime.images import Image
from paddock.node.runtime.sandbox import Program, choose_sandbox
from support.host_programs import HostPrograms
from support.waiting import until

NUL = "which no program can be given"
LONGEST = 32 * os.sysconf("SC_PAGE_SIZE") - 1


@pytest.mark.parametrize(
    ("arguments", "environment", "directory", "said"),
    [
        (("/bin/sh", "-c", "a\0b"), {}, "/", rf"command or args: 'a\x00b' has a NUL character, {NUL}"),
        (("/bin/\0",), {}, "/", rf"command or args: '/bin/\x00' has a NUL character, {NUL}"),
        (("/bin/sh",), {"A": "\0"}, "/", f"env 'A': its value has a NUL character, {NUL}"),
        (("/bin/sh",), {"A\0": ""}, "/", rf"env 'A\x00' has a NUL character, {NUL}"),
        (("/bin/sh",), {"A=B": ""}, "/", f"env 'A=B' has a = in its name, {NUL}"),
        (("/bin/sh",), {}, "/a\0", rf"workingDir: '/a\x00' has a NUL character, {NUL}"),
        (("/bin/sh",), {}, "work", "workingDir: 'work' must begin with /"),
        (("/bin/sh",), {}, ".", "workingDir: '.' must begin with /"),
        (("/bin/sh",), {"A": "B=C"}, "/", ""),
    ],
)
def test_characters_that_no_program_can_be_given(
    arguments: tuple[str, ...], environment: dict[str, str], directory: str, said: str
) -> None:
    nowhere = Path("/nowhere")
    program = Program(arguments, environment, directory, "p", termination=nowhere)
    assert explain_characters(program) == said


FIELDS: list[Manifest] = [
    {"path": "cpu", "resourceFieldRef": {"containerName": "main", "resource": "limits.cpu", "divisor": "1m"}},
    {"path": "all", "fieldRef": {"fieldPath": "metadata.labels"}, "mode": 0o400},
    {"path": "one", "fieldRef": {"fieldPath": "metadata.annotations['note']"}},
]


async def test_files_tell_a_pod_of_itself(cluster: Cluster) -> None:
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "s", "namespace": "default"}}
    await cluster.api.create(CONFIG_MAPS, settings | {"data": {"a": "1"}})
    sources = [{"downwardAPI": {"items": FIELDS}}, {"configMap": {"name": "s"}},
               {"secret": {"name": "none", "optional": True}}]  # fmt: skip
    volumes: list[Manifest] = [
        {"name": "info", "downwardAPI": {"items": FIELDS}},
        {"name": "more", "projected": {"sources": sources}},
    ]
    script = "cd $1; cat cpu; echo; cat all; echo; cat one; echo; stat -L -c %a all; ls; cd $2; cat cpu; echo; ls"
    # Without a sandbox a mount path is a path of the machine, which other tests have too.
    places = [str(cluster.directory / "seen" / name) for name in ("info", "more")]
    mounts = [{"name": name, "mountPath": place} for name, place in zip(("info", "more"), places, strict=True)]
    limits = {"limits": {"cpu": "500m"}}
    made = pod(shell(script, args=["sh", *places], volumeMounts=mounts, resources=limits), volumes=volumes)
    made["metadata"] |= {"labels": {"team": "vision", "b": "2"}, "annotations": {"note": "hello world"}}
    found = await cluster.run(made)
    assert found["status"]["phase"] == "Succeeded", found
    told = '500\nb="2"\nteam="vision"\nhello world\n400\nall\ncpu\none\n'
    assert await cluster.log(found) == f"{told}500\na\nall\ncpu\none\n"


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (
            {"fieldRef": {"fieldPath": "spec.color"}},
            'spec.volumes[0].downwardAPI.items[0].fieldRef.fieldPath: Unsupported value: "spec.color"',
        ),
        (
            {"resourceFieldRef": {"resource": "limits.cpu"}},
            "spec.volumes[0].downwardAPI.items[0].resourceFieldRef.containerName: Required value",
        ),
        (
            {"resourceFieldRef": {"containerName": "main", "resource": "limits.cpu", "divisor": "1Gi"}},
            "only divisor's values 1m, 1 are supported with the cpu resource",
        ),
    ],
)
async def test_what_no_file_can_tell_is_refused_by_the_api(cluster: Cluster, item: Manifest, said: str) -> None:
    volume: Manifest = {"name": "info", "downwardAPI": {"items": [{"path": "f", **item}]}}
    with pytest.raises(Invalid) as refused:
        await cluster.create(pod(shell("true"), volumes=[volume]))
    assert said in str(refused.value)


async def test_a_nul_character_fails_the_pod_with_a_sentence(cluster: Cluster) -> None:
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "s", "namespace": "default"}}
    await cluster.api.create(CONFIG_MAPS, settings | {"data": {"LIST": "a\0b"}})
    found = await cluster.run(pod(shell("true", envFrom=[{"configMapRef": {"name": "s"}}])))
    assert found["status"]["phase"] == "Failed"
    assert (terminated(found)["reason"], terminated(found)["exitCode"]) == ("StartError", 127)
    assert terminated(found)["message"] == f"env 'LIST': its value has a NUL character, {NUL}"


@pytest.mark.parametrize(
    ("main", "said"),
    [
        (
            container("/bin/echo", "x" * 200_000),
            f"command or args: 'xxxxxxxxxxxxxxxxxxxx'… has 200000 bytes, which is more than the {LONGEST}",
        ),
        (shell("true", env=[{"name": "BIG", "value": "é" * 100_000}]), "env 'BIG': it has 200004 bytes, which is more"),
        (
            container("/bin/echo", *["x" * 100_000] * 30),
            "exec: argument list too long: command, args and env have 3000",
        ),
    ],
)
async def test_what_is_too_long_for_a_program_fails_the_pod_with_a_sentence(
    cluster: Cluster, main: Manifest, said: str
) -> None:
    found = await cluster.run(pod(main))
    assert (terminated(found)["reason"], terminated(found)["exitCode"]) == ("StartError", 127)
    assert terminated(found)["message"].startswith(said)


@pytest.mark.parametrize("seconds", [2**63 - 1, 2**31])
async def test_a_grace_period_of_ages_ends_when_it_is_shortened(cluster: Cluster, seconds: int) -> None:
    script = "trap '' TERM; echo ready; while :; do sleep 0.05; done"
    made = await cluster.create(pod(shell(script), terminationGracePeriodSeconds=seconds))
    await until(lambda: "ready" in log_text(cluster, made))
    await cluster.api.delete(PODS, "default", "p")
    assert (await cluster.run(pod(shell("true"), name="q")))["status"]["phase"] == "Succeeded"
    assert (await cluster.api.get(PODS, "default", "p"))["metadata"]["deletionTimestamp"] > "2090"
    await cluster.api.delete(PODS, "default", "p", grace=1)
    await cluster.gone()


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ({"terminationGracePeriodSeconds": 10**20}, "must be of type integer"),
        ({"terminationGracePeriodSeconds": -1}, "must be greater than or equal to 0"),
        ({"activeDeadlineSeconds": 10**20}, "must be of type integer"),
        ({"activeDeadlineSeconds": 2**31}, "must be between 1 and 2147483647, inclusive"),
        ({"activeDeadlineSeconds": -1}, "must be between 1 and 2147483647, inclusive"),
    ],
)
async def test_times_that_kubernetes_refuses_are_refused(cluster: Cluster, spec: Manifest, sentence: str) -> None:
    with pytest.raises(Invalid, match=sentence):
        await cluster.create(pod(shell("true"), **spec))


async def test_the_longest_deadline_is_no_trouble(cluster: Cluster) -> None:
    found = await cluster.run(pod(shell("true"), activeDeadlineSeconds=2**31 - 1))
    assert found["status"]["phase"] == "Succeeded"


class Broken(HostPrograms):
    """Has a bug, which shows with one image."""

    def resolve(self, container: Manifest, pod: Manifest) -> Image:
        if container.get("image") == "breaks":
            raise KeyError("no such thing")
        return super().resolve(container, pod)


async def test_a_bug_of_ours_is_said_where_the_user_looks(tmp_path: Path) -> None:
    async with open_cluster(tmp_path, choose_sandbox("none"), Broken()) as cluster:
        bad, good = {**shell("true", name="bad"), "image": "breaks"}, shell("exec sleep 60", name="good")
        await cluster.create(pod(bad, good))
        found = await cluster.see("p", lambda found: waiting(found).get("message"))
        assert waiting(found)["reason"] == "CreateContainerError"
        assert waiting(found)["message"].startswith("KeyError: 'no such thing' (a bug of Paddock; see cluster.log)")
        await cluster.see("p", lambda found: found["status"]["containerStatuses"][1].get("started"))


async def test_what_a_pod_needs_of_this_machine_is_made_before_its_volumes_are_mounted(tmp_path: Path) -> None:
    there = tmp_path / "made"

    def prepare(manifest: Manifest, now: float) -> None:
        if manifest["metadata"]["name"] != "p":
            raise PermissionError(13, "Permission denied", str(there))
        there.mkdir()

    volumes = [{"name": "d", "hostPath": {"path": str(there), "type": "Directory"}}]
    main = shell("true", volumeMounts=[{"name": "d", "mountPath": str(there)}])
    async with open_cluster(tmp_path, choose_sandbox("none"), prepare=prepare) as cluster:
        assert (await cluster.run(pod(main, volumes=volumes)))["status"]["phase"] == "Succeeded"
        await cluster.create(pod(main, name="q", volumes=volumes))
        found = await cluster.see("q", lambda found: waiting(found).get("message"))
        assert waiting(found)["message"] == f"Permission denied: {there}"
