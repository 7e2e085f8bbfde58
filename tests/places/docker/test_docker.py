"""Containers of ranks: what `docker` is asked for, byte for byte, by the scripts and by the Compose file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from e2e.commands import until
from paddock.cli.cluster.errors import UserError
from paddock.cli.main import cli
from places.manifests import build_paddle, build_role, build_torch, write_manifest

TOOLS = Path(sys.executable).parent
LAUNCH = ["python", "-m", "paddle.distributed.launch", "train.py", "--name", 'it\'s "2 words" $HOME\nand a line']
FAKE = """#!/usr/bin/env python3
import json, os, sys, time
words = sys.argv[1:]
if words[0] == "run":
    names = [words[place + 1] for place, word in enumerate(words) if word == "-e" and "=" not in words[place + 1]]
    seen = {"words": words, "env": {name: os.environ.get(name) for name in names}}
    with open(os.path.join(os.path.dirname(__file__), words[words.index("--name") + 1] + ".json"), "w") as file:
        json.dump(seen, file)
    print("trained", flush=True)
sys.exit(1 if words[:2] == ["container", "inspect"] else 0)
"""


def render(target: Path, manifest: dict[str, Any], *words: str) -> Result:
    typed = ["render", str(write_manifest(target, manifest)), *words, "-o", str(target)]
    return CliRunner().invoke(cli, typed, prog_name="paddock")


def start(directory: Path, name: str = "demo", **env: str) -> dict[str, dict[str, Any]]:
    """Starts the script of 127.0.0.1 with a program `docker` that writes down what it is asked for."""
    fake = directory / "bin/docker"
    fake.parent.mkdir(exist_ok=True)
    fake.write_text(FAKE)
    fake.chmod(0o755)
    script = directory / f"{name}-127.0.0.1-docker.sh"
    own = {"PATH": f"{fake.parent}:{TOOLS}:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(directory), **env}
    done = subprocess.run(["bash", str(script), "start"], env=own, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done

    def look() -> str:
        return subprocess.run(["bash", str(script), "status"], env=own, capture_output=True, text=True).stdout

    until("its end", lambda: "running" not in look())
    assert "exit code 0" in look()
    return {path.stem.removeprefix(f"{name}-"): json.loads(path.read_text()) for path in fake.parent.glob("*.json")}


def after(words: list[str], option: str) -> list[str]:
    return [words[place + 1] for place, word in enumerate(words) if word == option]


def test_words_and_values_reach_docker_as_they_are(tmp_path: Path) -> None:
    env = [{"name": "QUOTED", "value": "a 'b' $c"}, {"name": "PATH", "value": "/opt/bin:/usr/bin"},
           {"name": "odd.name", "value": "x"}]  # fmt: skip
    render(tmp_path, build_paddle(worker=build_role(1, *LAUNCH, env=env)), "--to", "docker", "--hosts", "127.0.0.1")
    (tmp_path / "train.py").write_text("")
    (asked,) = start(tmp_path).values()
    words = asked["words"]
    image = words.index("example.com/train:1")
    assert words[image + 1 :] == ["-m", "paddle.distributed.launch", "train.py", "--name", LAUNCH[-1]]
    assert after(words, "--entrypoint") == ["python"]
    assert asked["env"]["QUOTED"] == "a 'b' $c" and asked["env"]["odd.name"] == "x"
    assert "PATH=/opt/bin:/usr/bin" in after(words, "-e")
    assert asked["env"]["POD_IP"] == "127.0.0.1" and asked["env"]["GLOO_SOCKET_IFNAME"] == "lo"
    assert f"{tmp_path}:/paddle" in after(words, "-v") and after(words, "-w") == ["/paddle"]


def test_a_program_of_the_image_stays_where_it_is(tmp_path: Path) -> None:
    render(tmp_path, build_paddle(worker=build_role(1, *LAUNCH)), "--to", "docker", "--hosts", "127.0.0.1")
    (asked,) = start(tmp_path).values()
    assert after(asked["words"], "-v") == [] and after(asked["words"], "-w") == []


def test_an_image_without_a_command_runs_its_own(tmp_path: Path) -> None:
    roles = {"ps": build_role(1), "worker": build_role(1, args=["--epochs", "2"])}
    render(tmp_path, build_paddle(gloo=0, **roles), "--to", "docker", "--hosts", "127.0.0.1")
    asked = start(tmp_path)
    assert asked["ps-0"]["words"][-1] == "example.com/train:1"
    assert asked["worker-0"]["words"][-3:] == ["example.com/train:1", "--epochs", "2"]
    assert after(asked["worker-0"]["words"], "--entrypoint") == []


def test_resources_devices_and_volumes_are_docker_s_options(tmp_path: Path) -> None:
    resources = {"limits": {"cpu": "1500m", "memory": "2Gi", "nvidia.com/gpu": 2}}
    mounts = [{"name": "data", "mountPath": "/data", "readOnly": True}, {"name": "dshm", "mountPath": "/dev/shm"},
              {"name": "claim", "mountPath": "/models"}, {"name": "work", "mountPath": "/scratch"}]  # fmt: skip
    volumes = [{"name": "data", "hostPath": {"path": "/mnt/it's data"}}, {"name": "work", "emptyDir": {}},
               {"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
               {"name": "claim", "persistentVolumeClaim": {"claimName": "models"}}]  # fmt: skip
    role = build_role(2, "python", "train.py", resources=resources, volumeMounts=mounts, workingDir="/app")
    role["template"]["spec"] |= {"volumes": volumes, "securityContext": {"runAsUser": 1000, "runAsGroup": 100}}
    said = render(tmp_path, build_torch(Worker=role), "--to", "docker", "--hosts", "127.0.0.1")
    assert "/models is a persistentVolumeClaim on the cluster" in said.output
    asked = start(tmp_path)
    words = asked["worker-1"]["words"]
    assert after(words, "--cpus") == ["1.5"] and after(words, "--memory") == [str(2 * 2**30)]
    assert after(words, "--shm-size") == [str(2**30)] and "--ipc=host" not in words
    assert after(asked["worker-0"]["words"], "--gpus") == ['"device=0,1"']
    assert after(words, "--gpus") == ['"device=2,3"']
    assert after(words, "-v") == ["/mnt/it's data:/data:ro", "/models:/models", "/scratch"]
    assert after(words, "-w") == ["/app"] and after(words, "--user") == ["1000:100"]


@pytest.mark.parametrize(
    ("resource", "options"),
    [
        ("hygon.com/dcu", ["--device", "/dev/kfd", "--device", "/dev/dri", "--group-add", "video"]),
        ("kunlunxin.com/xpu", ["--privileged"]),
        ("huawei.com/Ascend910", ["--privileged"]),
    ],
)
def test_other_devices_have_the_options_of_their_pages(tmp_path: Path, resource: str, options: list[str]) -> None:
    limits = {"resources": {"limits": {resource: 1}}}
    render(tmp_path, build_paddle(worker=build_role(1, *LAUNCH, **limits)), "--to", "docker", "--hosts", "127.0.0.1")
    (asked,) = start(tmp_path).values()
    words = asked["words"]
    place = words.index(options[0])
    assert words[place : place + len(options)] == options


def test_a_secret_is_asked_for_and_never_an_argument(tmp_path: Path) -> None:
    env = [{"name": "HUB_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}}]
    render(tmp_path, build_paddle(worker=build_role(1, *LAUNCH, env=env)), "--to", "docker", "--hosts", "127.0.0.1")
    (asked,) = start(tmp_path, HUB_TOKEN="secret").values()
    assert asked["env"]["HUB_TOKEN"] == "secret"
    assert not any("secret" in word for word in asked["words"])


@pytest.mark.slow
def test_shellcheck_finds_nothing(tmp_path: Path) -> None:
    roles = {"ps": build_role(1, "python", "train.py"), "worker": build_role(2, *LAUNCH)}
    render(tmp_path, build_paddle(**roles), "--to", "docker", "--hosts", "10.0.0.1,10.0.0.2")
    for script in tmp_path.glob("*.sh"):
        done = subprocess.run([TOOLS / "shellcheck", str(script)], capture_output=True, text=True)
        assert done.stdout == ""


def test_compose_has_a_service_for_each_rank_and_replaces_no_text_of_the_job(tmp_path: Path) -> None:
    env = [{"name": "QUOTED", "value": "$HOME ${X}"},
           {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}}]  # fmt: skip
    limits = {"resources": {"limits": {"nvidia.com/gpu": 1}}}
    roles = {"ps": build_role(1, "python", "train.py"), "worker": build_role(2, *LAUNCH, env=env, **limits)}
    done = render(tmp_path, build_paddle(**roles), "--to", "compose")
    assert "docker compose up --abort-on-container-failure worker-0 worker-1\n" in done.output
    assert "docker compose down" in done.output
    services = yaml.safe_load((tmp_path / "compose.yaml").read_text())["services"]
    assert list(services) == ["ps-0", "worker-0", "worker-1"]
    worker = services["worker-1"]
    assert worker["environment"]["QUOTED"] == "$$HOME $${X}"
    assert worker["environment"]["TOKEN"] == "${TOKEN:?Secret hub, key token of the cluster}"
    assert worker["environment"]["PADDLE_TRAINER_ENDPOINTS"] == "127.0.0.1:36020,127.0.0.1:36040"
    assert worker["command"][-1] == LAUNCH[-1].replace("$", "$$")
    assert worker["deploy"]["resources"]["reservations"]["devices"][0]["device_ids"] == ["1"]
    assert worker["depends_on"] == ["ps-0"] and worker["network_mode"] == "host"


def test_compose_without_servers_ends_with_its_last_rank(tmp_path: Path) -> None:
    done = render(tmp_path, build_torch(Worker=build_role(2, "torchrun", "train.py")), "--to", "compose")
    assert "docker compose up --abort-on-container-failure" in done.output
    services = yaml.safe_load((tmp_path / "compose.yaml").read_text())["services"]
    assert services["worker-1"]["command"][:8] == [
        "--nnodes", "2", "--node-rank", "1", "--master-addr", "127.0.0.1", "--master-port", "23456",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--to", "compose", "--hosts", "10.0.0.1"], "is for one machine"),
        (["--to", "docker"], "wants the machines"),
        (["--to", "docker", "--hosts", "10.0.0.1,10.0.0.2", "--run"], "--run starts bare machines alone"),
    ],
)
def test_what_was_typed_for_another_place_is_refused(tmp_path: Path, words: list[str], sentence: str) -> None:
    done = render(tmp_path, build_paddle(worker=build_role(2, *LAUNCH)), *words)
    assert isinstance(done.exception, UserError)
    assert sentence in str(done.exception)


def test_a_path_with_a_colon_and_a_name_that_no_shell_has_are_refused(tmp_path: Path) -> None:
    role = build_role(1, *LAUNCH, volumeMounts=[{"name": "data", "mountPath": "/data"}])
    role["template"]["spec"]["volumes"] = [{"name": "data", "hostPath": {"path": "/mnt/a:b"}}]
    colon = render(tmp_path, build_paddle(worker=role), "--to", "docker", "--hosts", "127.0.0.1")
    env = [{"name": "hub.token", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}}]
    named = render(tmp_path, build_paddle(worker=build_role(1, *LAUNCH, env=env)), "--to", "compose")
    assert "'/mnt/a:b' has a colon" in str(colon.exception)
    assert "hub.token comes from Secret hub, key token" in str(named.exception)


def test_a_machine_s_own_shared_memory_is_the_container_s(tmp_path: Path) -> None:
    role = build_role(1, *LAUNCH, volumeMounts=[{"name": "shm", "mountPath": "/dev/shm"}])
    role["template"]["spec"]["volumes"] = [{"name": "shm", "hostPath": {"path": "/dev/shm"}}]
    render(tmp_path, build_paddle(worker=role), "--to", "docker", "--hosts", "127.0.0.1")
    (asked,) = start(tmp_path).values()
    assert "--ipc=host" in asked["words"]
