"""What a pod cannot reach or stop: real programs that try, through the real API."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from node.cluster import PYTHON, Cluster, container, is_running, log_text, open_cluster, pod, shell, terminated, waiting
from paddock.kube.meta import CONFIG_MAPS, EVENTS, Manifest, uid_of
from paddock.node.runtime.sandbox import choose_sandbox
from support.sandboxes import need_sandbox
from support.waiting import until

pytestmark = pytest.mark.sandbox

TOKEN = "the token of the cluster's administrator"
LOG = '"$PADDOCK_TERMINATION_LOG"'


@pytest.fixture
def machine() -> Iterator[Path]:
    """Directories of a user's machine, outside of /tmp, which pods do not see in any case."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        for path in ("home/.kube", "home/state/api", "home/state/outputs/job", "home/data", "run/user", "cache/venv"):
            (Path(name) / path).mkdir(parents=True)
        for path in ("home/.kube/config", "home/state/api/kubeconfig", "run/user/bus", "kubeconfig"):
            (Path(name) / path).write_text(TOKEN)
        (Path(name) / "home/data/train.csv").write_text("1,2\n")
        yield Path(name)


@pytest.fixture
async def isolated(machine: Path) -> AsyncIterator[Cluster]:
    """In bubblewrap alone: without a sandbox, a pod has all the rights of its user."""
    environment = {
        "HOME": f"{machine}/home", "XDG_RUNTIME_DIR": f"{machine}/run/user", "KUBECONFIG": f"{machine}/kubeconfig",
        "PATH": os.environ["PATH"], "AWS_SECRET_ACCESS_KEY": TOKEN, "PADDOCK_TOKEN": TOKEN,
    }  # fmt: skip
    settings = {"environment": environment, "hidden": [machine / "home/state"], "read_only": [machine / "cache"]}
    async with open_cluster(machine / "home/state", need_sandbox("bubblewrap"), **settings) as cluster:
        yield cluster


async def run(cluster: Cluster, manifest: Manifest) -> str:
    """What the pod printed."""
    return await cluster.log(await cluster.run(manifest))


def host_path(name: str, path: Path, **more: str) -> Manifest:
    return {"name": name, "hostPath": {"path": str(path), **more}}


# Termination messages


@pytest.mark.parametrize(
    "replace",
    [f"ln -s {{key}} {LOG}", f"mkfifo {LOG}", f"ln -s /dev/zero {LOG}", f"mkdir {LOG}"],
    ids=["link", "fifo", "device", "directory"],
)
async def test_only_a_regular_file_is_a_termination_message(cluster: Cluster, tmp_path: Path, replace: str) -> None:
    key = tmp_path / "key"
    key.write_text(TOKEN)
    script = f"exec 2>/dev/null; rm -f {LOG}; {replace.format(key=key)}; exit 1"
    found = await cluster.run(pod(shell(script, terminationMessagePath="/dev/message")))
    # In bubblewrap the file is a mount, which a program cannot replace.
    said = "" if cluster.sandbox.binds else "Error on reading termination log /dev/message: not a regular file"
    assert terminated(found).get("message", "") == said
    assert (await cluster.run(pod(shell("true"), name="q")))["status"]["phase"] == "Succeeded"


async def test_of_a_huge_termination_message_the_end_is_read(cluster: Cluster) -> None:
    script = f"truncate -s 8G {LOG}; printf end >>{LOG}; exit 1"
    message = terminated(await cluster.run(pod(shell(script))))["message"]
    assert (len(message), message[-3:]) == (4096, "end")


async def test_a_termination_message_need_not_be_text(cluster: Cluster) -> None:
    found = await cluster.run(pod(shell(f"printf 'a\\377\\000b' >{LOG}; exit 1")))
    assert terminated(found)["message"] == "a\ufffd\0b"


async def test_a_log_without_line_breaks_is_cut_in_the_message(cluster: Cluster) -> None:
    script = "head -c 100000000 /dev/zero | tr '\\0' x; printf end; exit 1"
    found = await cluster.run(pod(shell(script, terminationMessagePolicy="FallbackToLogsOnError")))
    message = terminated(found)["message"]
    assert (len(message), message[-4:]) == (2048, "xend")
    assert len(await cluster.log(found, tail_lines=1, limit_bytes=10)) == 10


async def test_a_fifo_in_place_of_the_exit_code_stops_nobody(tmp_path: Path) -> None:
    """Without a sandbox: in bubblewrap a program does not see that file. The shell has it open since before."""
    async with open_cluster(tmp_path, choose_sandbox("none")) as cluster:
        script = f"cd $(dirname {LOG}); rm main-0.exit; mkfifo main-0.exit; exit 1"
        assert terminated(await cluster.run(pod(shell(script))))["exitCode"] == 1
        assert (await cluster.run(pod(shell("true"), name="q")))["status"]["phase"] == "Succeeded"


# Volumes


async def test_a_sub_path_leads_to_nothing_outside_of_its_volume(cluster: Cluster, tmp_path: Path) -> None:
    """CVE-2017-1002101: a pod puts a link into a volume, and another mounts it."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home/key").write_text(TOKEN)
    volumes, target = [host_path("data", tmp_path / "data")], f"{tmp_path}/mounted"
    whole = [{"name": "data", "mountPath": str(tmp_path / "data")}]
    await cluster.run(pod(shell(f"ln -s ../home {tmp_path}/data/link", volumeMounts=whole), volumes=volumes))
    part = [{"name": "data", "mountPath": target, "subPath": "link"}]
    await cluster.create(pod(shell(f"cat {target}/key", volumeMounts=part), name="q", volumes=volumes))
    found = await cluster.see("q", lambda found: waiting(found).get("message"))
    assert waiting(found) == {
        "reason": "CreateContainerConfigError",
        "message": 'failed to prepare subPath for volumeMount "data" of container "main": '
        "link: leads out of the volume",
    }


async def test_a_sub_path_is_mounted(cluster: Cluster, tmp_path: Path) -> None:
    volumes = [{"name": "data", "emptyDir": {}}]
    first = shell(f"echo 1 >{tmp_path}/x/file; ln -s file {tmp_path}/x/link", name="first")
    first["volumeMounts"] = [{"name": "data", "mountPath": f"{tmp_path}/x", "subPath": "runs/one"}]
    names = "import os, sys; print(sorted(os.listdir(sys.argv[1])), sorted(os.listdir('/proc/self/fd'))[:-1])"
    main = container(PYTHON, "-c", names, f"{tmp_path}/y", env=[{"name": "RUN", "value": "one"}])
    main["volumeMounts"] = [{"name": "data", "mountPath": f"{tmp_path}/y", "subPathExpr": "runs/$(RUN)"}]
    said = await run(cluster, pod(main, initContainers=[first], volumes=volumes))
    assert said == "['file', 'link'] ['0', '1', '2']\n", "no descriptor of the node is left to the program"


async def test_files_of_the_api_cannot_be_changed_by_programs(isolated: Cluster) -> None:
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "s", "namespace": "default"}}
    await isolated.api.create(CONFIG_MAPS, settings | {"data": {"a": "1"}})
    volumes = [{"name": "s", "configMap": {"name": "s"}}, {"name": "inner", "emptyDir": {}}]
    mounts = [{"name": "s", "mountPath": "/settings"}, {"name": "inner", "mountPath": "/settings/inner"}]
    script = "cd /settings; echo 2 >a || rm a || ln -s /etc b || echo 3 >inner/x; cat a inner/x"
    said = await run(isolated, pod(shell(script, volumeMounts=mounts), volumes=volumes))
    assert [line for line in said.splitlines() if "Read-only" not in line] == ["13"]


@pytest.mark.parametrize(
    ("link", "volume", "part", "named", "leads"),
    [
        ("{machine}/home/state/api", "home/data/link", "", "home/data/link", "home/state/api"),
        ("{machine}/home/state", "home/data/link", "api", "home/data/link", "home/state"),
        ("../state/api", "home", "data/link", "home/data/link", "home/state/api"),
    ],
    ids=["volume", "volume with a subPath", "subPath"],
)
async def test_a_link_shows_nothing_hidden(
    isolated: Cluster, machine: Path, link: str, volume: str, part: str, named: str, leads: str
) -> None:
    """A pod that sees a directory puts a link there, and the next pod mounts it by its name."""
    await isolated.run(pod(shell(f"ln -s {link.format(machine=machine)} {machine}/home/data/link")))
    main = shell("cat /data/kubeconfig", volumeMounts=[{"name": "data", "mountPath": "/data", "subPath": part}])
    await isolated.create(pod(main, name="q", volumes=[host_path("data", machine / volume)]))
    found = await isolated.see("q", lambda found: waiting(found).get("message"))
    assert waiting(found) == {
        "reason": "CreateContainerError",
        "message": f"volume 'data': {machine}/{named} leads by a link to {machine}/{leads}, which pods do not see; "
        "name that path itself",
    }


async def test_a_volume_in_a_hidden_directory_may_have_links_of_its_own(isolated: Cluster, machine: Path) -> None:
    """As the directory of a claim is one."""
    output = machine / "home/state/outputs/job"
    (output / "run-1").mkdir()
    (output / "latest").symlink_to("run-1")
    main = shell("echo 1 >/out/model", volumeMounts=[{"name": "out", "mountPath": "/out", "subPath": "latest"}])
    await isolated.run(pod(main, volumes=[host_path("out", output)]))
    assert (output / "run-1/model").exists()


# What bubblewrap hides


def look(*places: Path | str) -> Manifest:
    """A container that prints what it finds of the token at these places and below them."""
    program = (
        "import os, sys\n"
        "for top in sys.argv[1:]:\n"
        "    for path in [top, *(os.path.join(above, name) for above, _, names in os.walk(top) for name in names)]:\n"
        "        try:\n"
        "            print('FOUND', path) if open(path).read().startswith('the token') else None\n"
        "        except OSError:\n"
        "            pass\n"
        "print('looked')\n"
    )
    return container(PYTHON, "-c", program, *map(str, places))


async def test_a_pod_sees_no_key_of_a_cluster(isolated: Cluster, machine: Path) -> None:
    assert await run(isolated, pod(look(machine))) == "looked\n"


@pytest.mark.parametrize("target", ["{home}", "/elsewhere"])
async def test_nor_with_the_home_directory_as_a_volume(isolated: Cluster, machine: Path, target: str) -> None:
    place = target.format(home=f"{machine}/home")
    main = {**look(place, machine), "volumeMounts": [{"name": "home", "mountPath": place}], "workingDir": place}
    assert await run(isolated, pod(main, volumes=[host_path("home", machine / "home")])) == "looked\n"


async def test_nor_as_root_by_an_unmount(isolated: Cluster, machine: Path) -> None:
    places = f"{machine}/home/state {machine}/home/.kube"
    script = f"umount -l {places}; cat {machine}/home/.kube/config {machine}/home/state/api/kubeconfig; echo; echo done"
    said = await run(isolated, pod(shell(script)))
    assert TOKEN not in said
    assert said.endswith("done\n")


async def test_a_volume_shows_what_it_names(isolated: Cluster, machine: Path) -> None:
    kube, output = machine / "home/.kube", machine / "home/state/outputs/job"
    mounts = [{"name": "kube", "mountPath": str(kube)}, {"name": "output", "mountPath": str(output)}]
    script = f"cat {kube}/config; echo trained >{output}/model; ls {machine}/home/state"
    volumes = [host_path("kube", kube), host_path("output", output)]
    assert await run(isolated, pod(shell(script, volumeMounts=mounts), volumes=volumes)) == f"{TOKEN}node\noutputs\n"
    assert (output / "model").read_text() == "trained\n"


async def test_data_of_the_machine_is_where_it_was(isolated: Cluster, machine: Path) -> None:
    script = f"cat {machine}/home/data/train.csv; echo 3 >{machine}/home/data/new"
    assert await run(isolated, pod(shell(script))) == "1,2\n"
    assert (machine / "home/data/new").exists()


async def test_environments_cannot_be_changed(isolated: Cluster, machine: Path) -> None:
    said = await run(isolated, pod(shell(f"touch {machine}/cache/venv/x")))
    assert "Read-only file system" in said


async def test_nothing_is_lost_in_a_hidden_directory(isolated: Cluster, machine: Path) -> None:
    """To write there is an error: what is written would be gone with the pod."""
    assert "Read-only file system" in await run(isolated, pod(shell(f"echo 1 >{machine}/home/.kube/x")))


async def test_each_pod_has_a_tmp_of_its_own(isolated: Cluster) -> None:
    name = f"mine-{os.getpid()}"
    await isolated.create(pod(shell(f"echo 1 >/tmp/{name}; echo ready; exec sleep 60"), name="other"))
    other = await isolated.see("other", is_running)
    await until(lambda: "ready" in log_text(isolated, other))
    with tempfile.NamedTemporaryFile(dir="/tmp") as file:
        script = (
            f"echo $TMPDIR; ls -d /tmp/{name} {file.name}; echo 2 >/tmp/{name}; cat $TMPDIR/{name}; stat -c %a /tmp"
        )
        found = await isolated.run(pod(shell(f"exec 2>/dev/null; {script}")))
    assert (await isolated.log(found)).split() == ["/tmp", "2", "1777"]
    assert not Path(f"/tmp/{name}").exists()
    await until(lambda: not list(isolated.directory.glob(f"scratch/{uid_of(found)}/tmp")))


async def test_a_pod_has_no_variable_of_the_clusters_process(isolated: Cluster) -> None:
    said = await run(isolated, pod(container("/usr/bin/env")))
    assert TOKEN not in said
    names = {line.partition("=")[0] for line in said.splitlines()}
    assert not names & {"KUBECONFIG", "XDG_RUNTIME_DIR", "AWS_SECRET_ACCESS_KEY"}


async def test_a_command_in_tmp_of_the_machine_is_explained(isolated: Cluster) -> None:
    with tempfile.NamedTemporaryFile(dir="/tmp") as script:
        found = await isolated.run(pod(container(script.name)))
    hint = (
        f"{script.name} of this machine is not in the pod, which has a /tmp of its own: mount it as a hostPath volume"
    )
    assert terminated(found)["message"] == f'exec: "{script.name}": no such file or directory; {hint}'


async def test_a_file_in_tmp_of_the_machine_is_explained_by_an_event(isolated: Cluster) -> None:
    with tempfile.NamedTemporaryFile(dir="/tmp") as data:
        await isolated.run(pod(shell(f"cat --data={data.name}")))
    (said,) = [
        event["message"] for event in (await isolated.api.list(EVENTS)).items if event["reason"] == "FileNotInPod"
    ]
    assert said.startswith(f"{data.name} of this machine is not in the pod")
