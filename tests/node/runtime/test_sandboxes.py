"""Differences between the sandboxes, and the kubelet's handling of images and errors."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from e2e import commands
from node.cluster import PYTHON, Cluster, container, open_cluster, pod, seeing, shell, terminated, waiting
from paddock.kube.meta import CONFIG_MAPS, EVENTS, PODS, SERVICES, Manifest, uid_of
from paddock.node.runtime.images import Image, Preparing, Unavailable
from paddock.node.runtime.mount_sources import open_mounts
from paddock.node.runtime.mounts import Mount
from paddock.node.runtime.sandbox import UNTOLD_CODE, NoSandbox, Plain, Program, choose_sandbox
from support.programs import lack
from support.sandboxes import need_sandbox
from support.waiting import until

pytestmark = pytest.mark.sandbox


@pytest.fixture
async def wrapped(tmp_path: Path) -> AsyncIterator[Cluster]:
    async with open_cluster(tmp_path, need_sandbox("bubblewrap")) as cluster:
        yield cluster


@pytest.fixture
async def plain(tmp_path: Path) -> AsyncIterator[Cluster]:
    async with open_cluster(tmp_path, choose_sandbox("none")) as cluster:
        yield cluster


def test_a_sandbox_that_does_not_exist_is_refused_by_name() -> None:
    with pytest.raises(NoSandbox, match="sandbox 'docker' is unknown; there are auto, bubblewrap and none"):
        choose_sandbox("docker")


def owned(manifest: Manifest) -> Manifest:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "job", "uid": "", "controller": True}
    manifest["metadata"]["ownerReferences"] = [owner]
    return manifest


async def make_owner(cluster: Cluster, *manifests: Manifest) -> None:
    job = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "job", "namespace": "default"}}
    uid = uid_of(await cluster.api.create(CONFIG_MAPS, job))
    for manifest in manifests:
        owned(manifest)["metadata"]["ownerReferences"][0]["uid"] = uid


def test_a_shell_that_cannot_tell_of_itself_starts_nothing(tmp_path: Path) -> None:
    """Otherwise the next kubelet would start the program again."""
    full, ran = Path("/dev/full"), tmp_path / "ran"
    program = Program(("/bin/touch", str(ran)), {}, "/", "p", termination=full)
    with full.open("wb") as refusing:
        command = choose_sandbox("none").build_command(program, -1)
        answer = subprocess.run(command, timeout=180, stdin=refusing, stderr=subprocess.DEVNULL)
    assert answer.returncode == UNTOLD_CODE
    assert not ran.exists()


@pytest.mark.parametrize("name", ["none", "bubblewrap"])
async def test_a_program_has_the_limit_of_open_files_that_the_cluster_was_started_with(
    tmp_path: Path, name: str
) -> None:
    need_sandbox(name)
    async with open_cluster(tmp_path, choose_sandbox(name, 123)) as cluster:
        found = await cluster.run(pod(shell("ulimit -S -n; exit 3")))
        assert await cluster.log(found) == "123\n"
        assert terminated(found)["exitCode"] == 3


async def test_bubblewrap_gives_a_pod_its_own_host_name_and_termination_log(wrapped: Cluster) -> None:
    script = "hostname; getent hosts p; echo done >/dev/termination-log; ls /proc | grep -c '^[0-9]'"
    found = await wrapped.run(pod(shell(script)))
    name, hosts, count = (await wrapped.log(found)).splitlines()
    assert name == "p"
    assert hosts.split() == [found["status"]["podIP"], "p"]
    assert int(count) < 10
    assert terminated(found)["message"] == "done\n"


async def test_names_of_later_pods_are_resolved(wrapped: Cluster) -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "svc", "namespace": "default"}}
    await wrapped.api.create(SERVICES, service | {"spec": {"clusterIP": "None", "selector": {"a": "b"}}})
    wait = "while ! getent hosts q && sleep 0.02; do :; done; getent hosts svc.default.svc"
    await wrapped.create(pod(shell(wait)))
    await wrapped.see("p", lambda found: found["status"].get("phase") == "Running")
    later = pod(shell("exec sleep 30"), name="q", hostname="q", subdomain="sub")
    later["metadata"]["labels"] = {"a": "b"}
    made = await wrapped.create(later)
    found = await wrapped.end()
    address = (await wrapped.api.get(PODS, "default", "q"))["status"]["podIP"]
    lines = [line.split() for line in (await wrapped.log(found)).splitlines()]
    assert [line[0] for line in lines] == [address, address], (lines, made)
    assert lines[0][1:3] == ["q", "q.sub"]


@pytest.fixture
def shared() -> Iterator[Path]:
    """A directory of the machine that pods see: they have a /tmp of their own."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        yield Path(name)


async def test_a_volume_at_a_path_that_does_not_exist_leaves_no_trace(wrapped: Cluster, shared: Path) -> None:
    (shared / "there").mkdir()
    (shared / "there/file").write_text("seen\n")
    targets = ["/paddock-test-nas/data", f"{shared}/there/new/deep"]
    mounts = [{"name": "data", "mountPath": target} for target in targets]
    script = f"echo 1 >{targets[0]}/x; cat {targets[1]}/x {shared}/there/file"
    volumes = [{"name": "data", "emptyDir": {}}]
    found = await wrapped.run(pod(shell(script, volumeMounts=mounts), volumes=volumes))
    assert await wrapped.log(found) == "1\nseen\n"
    assert not Path("/paddock-test-nas").exists()
    assert not (shared / "there/new").exists()


def test_what_was_opened_is_what_is_mounted(tmp_path: Path) -> None:
    """CVE-2021-25741: a pod exchanges a directory for a link after the kubelet has looked at it."""
    sandbox = need_sandbox("bubblewrap")
    if not sandbox.binds_descriptors:
        lack("bwrap", "has no --bind-fd")
    for name in ("volume/part/own", "outside/key"):
        (tmp_path / name).mkdir(parents=True)
    nowhere = Path("/dev/null")
    with ExitStack() as files:
        mounts = open_mounts([Mount(tmp_path / "volume", "/data", sub_path="part")], "main", files)
        (tmp_path / "volume/part").rename(tmp_path / "volume/moved")
        (tmp_path / "volume/part").symlink_to("../outside")
        program = Program(("/bin/ls", "/data"), {}, "/", "p", termination=nowhere, mounts=mounts)
        status = os.open(nowhere, os.O_WRONLY)
        files.callback(os.close, status)
        inherited = [status, *(mount.descriptor for mount in mounts if mount.descriptor is not None)]
        command = sandbox.build_command(program, status)
        answer = subprocess.run(command, capture_output=True, text=True, timeout=60, pass_fds=inherited)
    assert (answer.stdout, answer.stderr) == ("own\n", "")


async def test_a_program_on_a_volume_is_found(wrapped: Cluster, tmp_path: Path) -> None:
    program = tmp_path / "bin/greet"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho hi\n")
    program.chmod(0o755)
    volumes = [{"name": "tools", "hostPath": {"path": str(program.parent)}}]
    main = container("/opt/tools/greet", volumeMounts=[{"name": "tools", "mountPath": "/opt/tools"}])
    assert await wrapped.log(await wrapped.run(pod(main, volumes=volumes))) == "hi\n"


async def test_an_error_of_bubblewrap_itself_is_shown(wrapped: Cluster, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    found = await wrapped.run(seeing(pod(container(str(script))), tmp_path))
    assert terminated(found)["reason"] == "StartError"
    assert terminated(found)["message"].startswith("bwrap: execvp")


async def test_without_a_sandbox_names_of_the_group_become_addresses(plain: Cluster) -> None:
    env = [{"name": "PEERS", "value": "p:1,q:2"}, {"name": "ALL", "value": "$(PEERS)"}]
    one, two = pod(shell("echo $PEERS $ALL", env=env)), pod(shell("exec sleep 30"), name="q")
    await make_owner(plain, one, two)
    await plain.create(two)
    found = await plain.run(one)
    other = (await plain.api.get(PODS, "default", "q"))["status"]["podIP"]
    peers = f"{found['status']['podIP']}:1,{other}:2"
    assert await plain.log(found) == f"{peers} {peers}\n"


async def test_without_a_sandbox_names_in_a_command_become_addresses_too(plain: Cluster) -> None:
    env = [{"name": "ME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]
    script = '[ $HOSTNAME = p ] && echo first; echo "$@"'
    one = pod(shell(script, args=["sh", "--master=q:80", "--run-name=p", "$(ME)"], env=env))
    two = pod(shell("exec sleep 30"), name="q")
    await make_owner(plain, one, two)
    await plain.create(two)
    found = await plain.run(one)
    other = (await plain.api.get(PODS, "default", "q"))["status"]["podIP"]
    assert await plain.log(found) == f"first\n--master={other}:80 --run-name=p p\n"


async def test_without_a_sandbox_a_command_waits_for_the_pod_of_a_service_of_its_group(plain: Cluster) -> None:
    """A kubelet knows the pods of its node only, and the Service of one that is still to come."""
    service: Manifest = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "late", "namespace": "default"}}
    service["spec"] = {"clusterIP": "None", "selector": {"a": "b"}}
    one, two = pod(shell("echo late.default.svc:80")), pod(shell("exec sleep 30"), name="q")
    two["metadata"]["labels"] = {"a": "b"}
    await make_owner(plain, one, two, service)
    await plain.stop()
    await plain.api.create(SERVICES, service)
    plain.start()  # it has seen the Service before it starts a pod
    await plain.create(one)
    found = await plain.see("p", lambda found: found["status"]["phase"] != "Pending" or waiting(found).get("message"))
    assert waiting(found) == {"reason": "ContainerCreating", "message": "waiting for the address of late.default.svc"}
    await plain.create(two)
    found = await plain.end()
    other = (await plain.api.get(PODS, "default", "q"))["status"]["podIP"]
    assert await plain.log(found) == f"{other}:80\n"


async def test_without_a_sandbox_a_host_in_a_file_is_told_when_its_pod_starts(plain: Cluster) -> None:
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "run", "namespace": "default"}}
    await plain.api.create(CONFIG_MAPS, settings | {"data": {"run.sh": "nc -z p 80; nc -z p:80"}})
    mounts = [{"name": "v", "mountPath": str(plain.directory / "seen")}]
    one = pod(shell("cat $0/run.sh", args=[mounts[0]["mountPath"]], volumeMounts=mounts),
              volumes=[{"name": "v", "configMap": {"name": "run"}}])  # fmt: skip
    await make_owner(plain, one)
    found = await plain.run(one)
    assert await plain.log(found) == "nc -z p 80; nc -z p:80", "a file stays as it is"
    told = [event["message"] for event in (await plain.api.list(EVENTS, fields="reason=NameInFile")).items]
    assert [text.partition(", and ")[0] for text in told] == ["file run.sh of ConfigMap run names p"]


async def test_without_a_sandbox_a_taken_mount_path_makes_the_container_wait(plain: Cluster) -> None:
    volumes = [{"name": "v", "emptyDir": {}}]
    await plain.create(pod(shell("true", volumeMounts=[{"name": "v", "mountPath": "/usr/bin"}]), volumes=volumes))
    found = await plain.see("p", lambda found: waiting(found).get("message"))
    assert waiting(found)["reason"] == "CreateContainerError"
    assert waiting(found)["message"].startswith("mountPath /usr/bin: something else is there")
    assert (await plain.run(pod(shell("true"), name="q")))["status"]["phase"] == "Succeeded"


async def test_without_a_sandbox_a_mount_path_that_the_machine_refuses_fails_the_pod(plain: Cluster) -> None:
    mounts = [
        {"name": "v", "mountPath": target} for target in (str(plain.directory / "made/first"), "/sys/paddock-test")
    ]
    found = await plain.run(pod(shell("true", volumeMounts=mounts), volumes=[{"name": "v", "emptyDir": {}}]))
    assert found["status"]["phase"] == "Failed"
    assert (terminated(found)["reason"], terminated(found)["exitCode"]) == ("StartError", 127)
    assert terminated(found)["message"].startswith(
        "mountPath /sys/paddock-test: cannot make a link at /sys/paddock-test"
    )
    assert not (plain.directory / "made").exists()


class BuildingImages:
    """Images that are built while the kubelet waits; the lookup of an unknown image raises."""

    def __init__(self) -> None:
        self.answers: dict[str, Image | Preparing | Unavailable] = {}
        self._changed = asyncio.Event()

    def resolve(self, container: Manifest, pod: Manifest) -> Image | Preparing | Unavailable:
        return self.answers[str(container["image"])]

    async def changed(self) -> None:
        await self._changed.wait()
        self._changed.clear()

    def set(self, image: str, answer: Image | Preparing | Unavailable) -> None:
        self.answers[image] = answer
        self._changed.set()


async def test_a_container_waits_for_its_image_and_gets_its_environment_and_files(tmp_path: Path) -> None:
    files = tmp_path / "image"
    files.mkdir()
    (files / "train.py").write_text("import os; print(os.environ['FROM'], os.listdir('.'))\n")
    images = BuildingImages()
    images.set("any", Preparing("paddle: installing, 61 %"))
    async with open_cluster(tmp_path, choose_sandbox(), images) as cluster:
        main = {"name": "main", "image": "any", "args": ["train.py"]}
        await cluster.create(pod(main))
        found = await cluster.see("p", lambda found: waiting(found).get("message"))
        assert waiting(found) == {"reason": "EnvironmentBuilding", "message": "paddle: installing, 61 %"}
        images.set("any", Unavailable("no network: connect, then try again"))
        found = await cluster.see("p", lambda found: waiting(found).get("reason") == "ErrImagePull")
        images.set("any", Image("any", {"FROM": "image"}, (PYTHON,), files))
        assert await cluster.log(await cluster.end()) == "image ['train.py']\n"


async def test_an_error_of_one_pod_does_not_affect_the_others(tmp_path: Path) -> None:
    images = BuildingImages()
    images.set("good", Image("good"))
    async with open_cluster(tmp_path, choose_sandbox(), images) as cluster:
        await cluster.create(pod({**shell("true"), "image": "breaks"}, name="bad"))
        await cluster.see("bad", lambda found: found["status"].get("podIP"))
        good = await cluster.run(pod({**shell("true"), "image": "good"}, name="good"))
        assert good["status"]["phase"] == "Succeeded"
        images.set("breaks", Image("breaks"))
        assert (await cluster.end("bad"))["status"]["phase"] == "Succeeded"


async def test_a_disk_error_is_a_clear_message(plain: Cluster) -> None:
    scratch = plain.directory / "scratch"
    scratch.parent.mkdir(parents=True, exist_ok=True)
    scratch.write_text("a file where a directory belongs")
    await plain.create(pod(shell("true")))
    found = await plain.see("p", lambda found: waiting(found).get("message"))
    assert waiting(found)["reason"] == "CreateContainerError"
    assert waiting(found)["message"].startswith(("Not a directory: ", "File exists: "))
    assert str(scratch) in waiting(found)["message"]


async def test_temporary_files_are_removed_with_the_pod(plain: Cluster) -> None:
    found = await plain.run(pod(shell('touch "$TMPDIR/x"; echo "$TMPDIR"')))
    directory = Path((await plain.log(found)).strip())
    assert directory.name == f"paddock-{uid_of(found)}"
    await until(lambda: not directory.exists())


def test_a_shell_that_has_not_started_the_program_yet_is_not_signalled() -> None:
    """It ignores SIGTERM, so the program would start afterwards and never hear of it."""
    shell = subprocess.Popen(["/bin/sh", "-c", "read line; sleep 60; :"], stdin=subprocess.PIPE, start_new_session=True)
    assert shell.stdin is not None
    try:
        assert Plain().find_program(shell.pid, "") is None
        shell.stdin.write(b"\n")
        shell.stdin.flush()
        program = commands.until("its child", lambda: Plain().find_program(shell.pid, ""))
        name = Path(f"/proc/{program}/comm")  # the shell's own until the child has become the program
        commands.until("its program", lambda: name.read_text() == "sleep\n")
    finally:
        os.killpg(shell.pid, signal.SIGKILL)
        shell.stdin.close()
        shell.wait()


def test_a_machine_without_bubblewrap_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert choose_sandbox().name == "none"
    assert choose_sandbox().problem == "bubblewrap (bwrap) is not installed"
    assert choose_sandbox("none").problem == ""
