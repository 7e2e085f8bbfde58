"""Pods as local processes, with real processes in both sandboxes, through the real API."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from node.cluster import (
    PYTHON,
    Cluster,
    Options,
    container,
    is_running,
    log_text,
    marked,
    pod,
    processes_of,
    seeing,
    shell,
    terminated,
    waiting,
)
from paddock.kube.api import Event
from paddock.kube.meta import CONFIG_MAPS, PODS, SECRETS, Manifest, is_deleting, uid_of
from paddock.node.kubelet import kubelet
from paddock.node.runtime.orphans import end_leftovers
from paddock.node.runtime.records import temporary_directory
from support.waiting import until


async def follow_last(cluster: Cluster, last: list[Manifest]) -> None:
    async for event in cluster.api.follow(PODS, "default"):
        if event.type != "SYNCED":
            last.append(event.object)


def config_map(name: str, **data: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": data}


async def test_a_pod_prints_and_succeeds(cluster: Cluster) -> None:
    found = await cluster.run(pod(container(PYTHON, "-c", "print('hello')")))
    assert found["status"]["phase"] == "Succeeded", found["status"]
    assert terminated(found)["exitCode"] == 0
    assert terminated(found)["reason"] == "Completed"
    assert found["status"]["podIP"].startswith("127.")
    assert await cluster.log(found) == "hello\n"


@pytest.mark.parametrize(
    ("script", "code", "signal"),
    [("exit 7", 7, None), ("kill -9 $$$$", 137, 9), ("kill -SEGV $$$$", 139, 11), ("exit 255", 255, None)],
)
async def test_the_exit_code_is_true(cluster: Cluster, script: str, code: int, signal: int | None) -> None:
    found = await cluster.run(pod(shell(script)))
    assert found["status"]["phase"] == "Failed"
    assert (terminated(found)["exitCode"], terminated(found).get("signal")) == (code, signal)
    assert terminated(found)["reason"] == "Error"


@pytest.mark.parametrize("script", ["exec sleep 60", "trap '' TERM; while :; do sleep 1; done"])
async def test_what_a_program_left_in_sessions_of_its_own_ends_with_it(cluster: Cluster, script: str) -> None:
    marker = cluster.directory / "marker"
    left = f'setsid /bin/sh -c "echo \\$\\$ >{marker}; {script}" & while ! test -s {marker}; do sleep 0.02; done'
    found = await cluster.run(pod(shell(left)))
    assert found["status"]["phase"] == "Succeeded"
    await until(lambda: not processes_of(found))


async def test_a_deletion_that_the_answer_to_an_own_write_tells_first_is_carried_out(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pod is deleted just before its last status is written: the answer has the deletion in it, and the event of
    the deletion comes later, and is older."""
    patch, follow = cluster.api.patch, cluster.api.follow

    async def patch_deleted(resource: Any, namespace: str, name: str, change: Manifest, **more: Any) -> Manifest:
        if change["status"].get("phase") == "Succeeded":
            await cluster.api.delete(PODS, namespace, name)
        return await patch(resource, namespace, name, change, **more)

    async def follow_late(*words: Any, **more: Any) -> AsyncIterator[Event]:
        async for event in follow(*words, **more):
            await asyncio.sleep(0.3 if is_deleting(event.object) else 0)
            yield event

    monkeypatch.setattr(cluster.api, "patch", patch_deleted)
    monkeypatch.setattr(cluster.api, "follow", follow_late)
    await cluster.drop()
    cluster.start()
    await cluster.create(pod(shell("true")))
    await cluster.gone()


async def test_a_deleted_pod_gets_its_grace_period(cluster: Cluster) -> None:
    polite = "trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.05; done"
    await cluster.create(pod(shell(polite)))
    running = await cluster.see("p", is_running)
    await until(lambda: "ready" in log_text(cluster, running))
    last: list[Manifest] = []
    follower = asyncio.create_task(follow_last(cluster, last))
    await cluster.api.delete(PODS, "default", "p")
    await cluster.gone()
    follower.cancel()
    assert terminated(last[-1])["exitCode"] == 0


async def test_a_program_that_ignores_sigterm_is_killed_after_its_grace_period(cluster: Cluster) -> None:
    script = "trap '' TERM; setsid sleep 60 & echo ready; while :; do sleep 0.05; done"
    await cluster.create(pod(shell(script), terminationGracePeriodSeconds=1))
    running = await cluster.see("p", is_running)
    await until(lambda: "ready" in log_text(cluster, running))
    began = time.monotonic()
    await cluster.api.delete(PODS, "default", "p")
    await cluster.gone()
    assert time.monotonic() - began >= 0.9
    await until(lambda: not processes_of(running))


async def test_a_pod_deleted_at_once_leaves_nothing(cluster: Cluster) -> None:
    made = await cluster.create(pod(shell("exec sleep 60")))
    await cluster.see("p", lambda found: (found.get("status") or {}).get("podIP"))
    await cluster.api.delete(PODS, "default", "p", grace=0)
    await cluster.gone()
    await until(lambda: not processes_of(made))
    await until(lambda: not list((cluster.directory / "scratch").glob("*")))
    await until(lambda: not list((cluster.directory / "records").glob("*")))
    await until(lambda: not temporary_directory(uid_of(made)).exists())
    await until(lambda: not list((cluster.directory / "pods").glob("*")))


async def test_a_container_sees_its_environment(cluster: Cluster) -> None:
    env = [
        {"name": "WHERE", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "WHO", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "BOTH", "value": "$(WHO)@$(WHERE) $$(WHO) $(NOBODY)"},
    ]
    script = 'echo "$BOTH|$1|$HOSTNAME|$CUDA_VISIBLE_DEVICES|$PYTHONUNBUFFERED|$PYTEST_CURRENT_TEST"'
    main = container("/bin/sh", "-c", script, "sh", "arg-$(WHO)", env=env)
    found = await cluster.run(pod(main))
    address = found["status"]["podIP"]
    assert await cluster.log(found) == f"p@{address} $(WHO) $(NOBODY)|arg-p|p||1|\n"


async def test_a_container_waits_for_its_config_map(cluster: Cluster) -> None:
    main = shell("cat /etc/hostname >/dev/null; echo $LIST", envFrom=[{"configMapRef": {"name": "later"}}])
    await cluster.create(pod(main))
    found = await cluster.see("p", waiting)
    found = await cluster.see("p", lambda found: waiting(found).get("reason") == "CreateContainerConfigError")
    assert waiting(found)["message"] == 'configmap "later" not found'
    assert found["status"]["podIP"]
    await cluster.api.create(CONFIG_MAPS, config_map("later", LIST="a,b"))
    assert await cluster.log(await cluster.end()) == "a,b\n"


async def test_init_containers_run_one_after_the_other_and_first(cluster: Cluster) -> None:
    volume = {"name": "shared", "emptyDir": {}}
    mount = [{"name": "shared", "mountPath": str(cluster.directory / "in-the-pod")}]
    say = f"echo $0 >>{cluster.directory}/in-the-pod/order"
    inits = [container("/bin/sh", "-c", say, name, name=name, volumeMounts=mount) for name in ("one", "two")]
    main = shell(f"cat {cluster.directory}/in-the-pod/order", volumeMounts=mount)
    found = await cluster.run(pod(main, initContainers=inits, volumes=[volume]))
    assert await cluster.log(found) == "one\ntwo\n"
    assert [item["ready"] for item in found["status"]["initContainerStatuses"]] == [True, True]


async def test_a_failed_init_container_fails_the_pod(cluster: Cluster) -> None:
    found = await cluster.run(pod(shell("echo never"), initContainers=[shell("exit 3", name="first")]))
    assert found["status"]["phase"] == "Failed"
    assert waiting(found)["reason"] == "PodInitializing"


async def test_a_failing_container_is_restarted(cluster: Cluster) -> None:
    seen = cluster.directory / "seen"
    script = f"echo run; test -e {seen} && exit 0; touch {seen}; exit 5"
    found = await cluster.run(pod(shell(script), policy="OnFailure"))
    status = found["status"]["containerStatuses"][0]
    assert (found["status"]["phase"], status["restartCount"]) == ("Succeeded", 1)
    assert status["lastState"]["terminated"]["exitCode"] == 5
    assert await cluster.log(found, previous=True) == "run\n"


async def test_a_container_that_fails_again_backs_off(cluster: Cluster) -> None:
    await cluster.create(pod(shell("exit 1"), policy="Always"))
    found = await cluster.see("p", lambda found: waiting(found).get("reason") == "CrashLoopBackOff")
    assert waiting(found)["message"].startswith("back-off 10s restarting failed container=main pod=p_default(")
    assert found["status"]["containerStatuses"][0]["restartCount"] == 1


async def test_the_termination_message_is_in_the_status(cluster: Cluster) -> None:
    found = await cluster.run(pod(shell('echo "rank 1: no data" >"$PADDOCK_TERMINATION_LOG"; exit 1')))
    assert terminated(found)["message"] == "rank 1: no data\n"


async def test_without_a_termination_message_the_log_is_used(cluster: Cluster) -> None:
    found = await cluster.run(pod(shell("echo boom >&2; exit 1", terminationMessagePolicy="FallbackToLogsOnError")))
    assert terminated(found)["message"] == "boom"


SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key", "namespace": "default"}}
KEY = {"name": "API_KEY", "valueFrom": {"secretKeyRef": {"name": "key", "key": "token"}}}


@pytest.mark.parametrize("variables", [{"env": [KEY]}, {"envFrom": [{"secretRef": {"name": "key"}, "prefix": "API_"}]}])
@pytest.mark.parametrize("target", ["&2", '"$PADDOCK_TERMINATION_LOG"'])
async def test_a_termination_message_has_no_value_of_a_secret(
    cluster: Cluster, variables: Manifest, target: str
) -> None:
    await cluster.api.create(SECRETS, SECRET | {"stringData": {"token": "tok-123", "KEY": "tok-123"}})
    script = f'echo "401 for key $API_KEY" >{target}; exit 1'
    found = await cluster.run(pod(shell(script, terminationMessagePolicy="FallbackToLogsOnError", **variables)))
    assert terminated(found)["message"].strip() == "401 for key ***"
    if target == "&2":
        assert await cluster.log(found) == "401 for key tok-123\n"
    (record,) = cluster.directory.glob("records/*.json")
    assert "tok-123" not in record.read_text()


async def test_a_secret_that_is_deleted_meanwhile_is_still_hidden(cluster: Cluster) -> None:
    await cluster.api.create(SECRETS, SECRET | {"stringData": {"token": "tok-123"}})
    go = cluster.directory.parent / "shared/go"
    script = f"while ! test -e {go}; do sleep 0.02; done; echo $API_KEY; exit 1"
    main = shell(script, terminationMessagePolicy="FallbackToLogsOnError", env=[KEY])
    await cluster.create(seeing(pod(main), go.parent))
    await cluster.see("p", is_running)
    await cluster.api.delete(SECRETS, "default", "key")
    go.touch()
    assert terminated(await cluster.end())["message"] == "***"


async def test_a_program_that_cannot_start_is_named_without_a_secret(cluster: Cluster) -> None:
    await cluster.api.create(SECRETS, SECRET | {"stringData": {"token": "tok-123"}})
    found = await cluster.run(pod(container("/no/$(API_KEY)", env=[KEY])))
    assert terminated(found)["message"].startswith('exec: "/no/***": no such file')


@pytest.mark.parametrize(
    ("main", "sentence"),
    [
        (container("no-such-program"), 'exec: "no-such-program": executable file not found in $PATH (/usr/local/sbin:'),
        (container("/no/such/program"), 'exec: "/no/such/program": no such file or directory'),
        (container("/etc/passwd"), 'exec: "/etc/passwd": permission denied'),
        (container("/bin/true", workingDir="/no/where"), "working directory '/no/where' does not exist"),
    ],
)
async def test_a_command_that_does_not_exist_fails_with_the_reason(
    cluster: Cluster, main: Manifest, sentence: str
) -> None:
    found = await cluster.run(pod(main))
    assert found["status"]["phase"] == "Failed"
    assert terminated(found)["reason"] == "StartError"
    assert terminated(found)["exitCode"] == 127
    assert sentence in terminated(found)["message"]


async def test_a_pod_does_not_outlive_its_deadline(cluster: Cluster) -> None:
    found = await cluster.run(pod(shell("exec sleep 60"), activeDeadlineSeconds=1, terminationGracePeriodSeconds=1))
    assert (found["status"]["phase"], found["status"]["reason"]) == ("Failed", "DeadlineExceeded")
    await until(lambda: not processes_of(found))


async def test_files_of_config_maps_and_secrets(cluster: Cluster) -> None:
    await cluster.api.create(CONFIG_MAPS, config_map("settings", first="1", second="2"))
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key", "namespace": "default"}}
    await cluster.api.create(SECRETS, secret | {"data": {"token": "c2VjcmV0"}})
    volumes = [
        {"name": "settings", "configMap": {"name": "settings", "items": [{"key": "second", "path": "sub/two"}]}},
        {"name": "key", "secret": {"secretName": "key", "defaultMode": 0o400}},
    ]
    at = cluster.directory
    mounts = [
        {"name": "settings", "mountPath": f"{at}/cm"},
        {"name": "key", "mountPath": f"{at}/key", "readOnly": True},
    ]
    main = shell(f"cat {at}/cm/sub/two {at}/key/token; stat -L -c %a {at}/key/token; ls {at}/cm", volumeMounts=mounts)
    found = await cluster.run(pod(main, volumes=volumes))
    assert await cluster.log(found) == "2secret400\nsub\n"
    await until(lambda: not (at / "cm").exists())


async def test_host_paths_and_memory(cluster: Cluster, tmp_path: Path) -> None:
    data = tmp_path / "data"
    volumes = [
        {"name": "data", "hostPath": {"path": str(data), "type": "DirectoryOrCreate"}},
        {"name": "shm", "emptyDir": {"medium": "Memory"}},
    ]
    mounts = [{"name": "data", "mountPath": str(data)}, {"name": "shm", "mountPath": "/dev/shm"}]
    main = shell(f"echo kept >{data}/result; test -w /dev/shm", volumeMounts=mounts)
    found = await cluster.run(pod(main, volumes=volumes))
    assert found["status"]["phase"] == "Succeeded", await cluster.log(found)
    assert (data / "result").read_text() == "kept\n"
    await until(lambda: not list(Path("/dev/shm").glob(f"paddock-{uid_of(found)}*")))


async def test_an_unknown_volume_is_refused_with_a_sentence_and_its_neighbour_runs(cluster: Cluster) -> None:
    volumes = [{"name": "data", "nfs": {"server": "s", "path": "/"}}]
    await cluster.create(pod(shell("true", volumeMounts=[{"name": "data", "mountPath": "/x"}]), volumes=volumes))
    found = await cluster.see("p", lambda found: waiting(found).get("message"))
    assert "volume 'data': nfs is not supported on this machine" in waiting(found)["message"]
    assert (await cluster.run(pod(shell("true"), name="q")))["status"]["phase"] == "Succeeded"


async def test_orphan_processes_of_a_crash_are_ended(cluster: Cluster) -> None:
    await cluster.create(pod(shell("trap '' TERM; setsid sleep 60 & echo ready; while :; do sleep 0.05; done")))
    running = await cluster.see("p", is_running)
    await until(lambda: "ready" in log_text(cluster, running))
    await cluster.drop()
    assert await asyncio.to_thread(end_leftovers, cluster.directory, 0.2) >= 3
    assert not processes_of(running)
    assert not list(cluster.directory.glob("records/*"))
    assert not list(cluster.directory.glob("scratch/*"))
    cluster.start()
    assert (await cluster.end())["status"]["reason"] == "Lost"


async def test_orphan_processes_get_their_grace_period(cluster: Cluster, tmp_path: Path) -> None:
    saved = tmp_path / "shared/saved"
    script = f"trap 'sleep 0.3; echo 1 >{saved}; exit' TERM; echo ready; while :; do sleep 0.05; done"
    await cluster.create(seeing(pod(shell(script)), saved.parent))
    running = await cluster.see("p", is_running)
    await until(lambda: "ready" in log_text(cluster, running))
    await cluster.drop()
    await asyncio.to_thread(end_leftovers, cluster.directory, 10)
    assert saved.exists()
    assert not marked(uid_of(running))


async def test_a_pod_that_ends_at_once_is_not_shown_as_running(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubelet, "_SETTLE", 60.0)  # a busy machine runs nothing within its 50 ms
    seen: list[Manifest] = []
    follower = asyncio.create_task(follow_last(cluster, seen))
    await cluster.run(pod(container("/bin/true")))
    await until(lambda: seen[-1]["status"].get("phase") == "Succeeded")
    follower.cancel()
    assert not [found for found in seen if is_running(found)]


async def test_stop_ends_every_pod_and_says_that_it_was_not_the_programs_fault(cluster: Cluster) -> None:
    await cluster.create(pod(shell("exec sleep 60")))
    running = await cluster.see("p", is_running)
    await cluster.create(pod(shell("exit 1"), name="q", policy="Always"))
    looping = await cluster.see("q", lambda found: waiting(found).get("reason") == "CrashLoopBackOff")
    assert cluster.kubelet is not None
    await cluster.kubelet.stop(5)
    assert not processes_of(running)
    assert not [found for found in (running, looping) if temporary_directory(uid_of(found)).exists()]
    found = await cluster.end()
    assert (found["status"]["phase"], found["status"]["reason"]) == ("Failed", "Lost")


async def test_a_followed_log_ends_with_its_container(cluster: Cluster, tmp_path: Path) -> None:
    go = tmp_path / "shared/go"
    script = f"echo one; while ! test -e {go}; do sleep 0.02; done; echo two"
    await cluster.create(seeing(pod(shell(script)), go.parent))
    running = await cluster.see("p", is_running)
    assert cluster.kubelet is not None
    chunks = []
    async with asyncio.timeout(180):
        async for chunk in cluster.kubelet.logs.read(running, Options(follow=True)):
            chunks.append(chunk)
            go.touch()
    assert b"".join(chunks) == b"one\ntwo\n"


@pytest.mark.slow
async def test_many_tiny_pods_at_once_all_end(cluster: Cluster) -> None:
    await asyncio.gather(*(cluster.create(pod(container("/bin/true"), name=f"p{index}")) for index in range(40)))
    ended = [await cluster.end(f"p{index}") for index in range(40)]
    assert len({found["status"]["podIP"] for found in ended}) == 40


async def test_a_program_inherits_no_file_of_the_daemon(cluster: Cluster) -> None:
    found = await cluster.run(
        pod(container(PYTHON, "-c", "import os; print(sorted(os.listdir('/proc/self/fd'))[:-1])"))
    )
    assert await cluster.log(found) == "['0', '1', '2']\n"
