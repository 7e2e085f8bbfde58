"""Real training on machines that reach each other, started by the scripts as a user starts them."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

import paddock.environments
from paddock.app.home import read_home
from paddock.environments.builder import Builder
from paddock.environments.defaults import build_defaults
from paddock.environments.definition import read_definition
from paddock.environments.uv import find_uv
from paddock.places.bare import place
from places.bare.network import Machine, Names, Network, open_network, wait_until
from places.bare.rendered import build_manifest, build_request, build_torch_manifest

pytestmark = [pytest.mark.paddle, pytest.mark.timeout(300)]

PROGRAMS = Path(__file__).parent / "programs"
SERVERS = Path(paddock.environments.__file__).parent / "programs" / "wide_and_deep"
DEFAULTS = {each.name: each for each in map(read_definition, build_defaults())}
TWO = ("10.77.0.1", "10.77.0.2")
THREE = (*TWO, "10.77.0.3")
LAUNCH = ("python", "-m", "paddle.distributed.launch", "collective.py")

Environment = Callable[[str], Mapping[str, str]]


@pytest.fixture(scope="module")
def environment() -> Environment:
    """The variables with which `python` is that of an environment of Paddock, which is built the first time."""

    def build(name: str) -> Mapping[str, str]:
        builder = Builder(read_home(os.environ).cache / "environments", dict(os.environ), find_uv())
        built = asyncio.run(builder.build(DEFAULTS[name], lambda progress: None))
        return {"PATH": f"{built.path}/bin:/usr/sbin:/usr/bin:/sbin:/bin"}

    return build


class Job:
    """A job whose scripts and programs are copied to their machines."""

    def __init__(
        self, network: Network, manifest: str, hosts: Sequence[str], programs: Sequence[Path], env: Mapping[str, str]
    ) -> None:
        self.env = env
        self.machines = network.machines
        request = build_request(manifest, ",".join(hosts))
        self.files = place.render(request).files
        self.ranks = {str(each.rank): each.host.index for each in request.programs}
        for machine, file in zip(self.machines, self.files, strict=True):
            (machine.directory / file.path).write_text(file.text)
            for program in programs:
                shutil.copy(program, machine.directory)

    def type(self, index: int, *words: str) -> subprocess.CompletedProcess[str]:
        return self.machines[index].run("bash", self.files[index].path, *words, env=self.env)

    def start(self) -> list[str]:
        """On each machine; what each one printed."""
        done = [self.type(index, "start") for index in range(len(self.files))]
        assert [(each.returncode, each.stderr) for each in done] == [(0, "")] * len(done)
        return [each.stdout for each in done]

    def log(self, rank: str) -> Path:
        return self.machines[self.ranks[rank]].directory / "paddock-probe" / f"{rank}.log"

    def wait(self, *ranks: str, seconds: float = 90) -> None:
        """Until all have ended well."""
        for rank in ranks:
            wait_until(self.log(rank).with_suffix(".exit"), "\n", seconds)
        codes = {rank: int(self.log(rank).with_suffix(".exit").read_text()) for rank in ranks}
        assert set(codes.values()) == {0}, (codes, *(self.log(rank).read_text() for rank in ranks))

    def read(self, rank: str) -> str:
        """What the training wrote: PaddlePaddle's launcher has its workers' lines in files of its own, too."""
        return self.log(rank).read_text()


def name_hosts(machines: Sequence[Machine], names: Names) -> list[str]:
    """As a user names them: by addresses where names do not resolve."""
    return [each.address if names == "unresolvable" else each.name for each in machines]


@pytest.mark.parametrize("names", ["resolve", "debian", "unresolvable"])
def test_paddle_trains_over_two_machines(names: Names, tmp_path: Path, environment: Environment) -> None:
    env = environment("paddle")
    with open_network(tmp_path, TWO, names) as network:
        hosts = name_hosts(network.machines, names)
        job = Job(network, build_manifest(command=(*LAUNCH, "3")), hosts, [PROGRAMS / "collective.py"], env)
        job.start()
        job.wait("worker-0", "worker-1")
        assert "rank 0 of 2 is done" in job.read("worker-0")
        assert "exit code 0" in job.type(1, "status").stdout


def test_the_line_that_is_printed_is_right_on_the_other_machine(tmp_path: Path, environment: Environment) -> None:
    """Also where its names are Debian's, and its shell has variables of an earlier run."""
    env = environment("paddle")
    with open_network(tmp_path, TWO, "debian") as network:
        hosts = name_hosts(network.machines, "debian")
        job = Job(network, build_manifest(command=(*LAUNCH, "3")), hosts, [PROGRAMS / "collective.py"], env)
        printed = job.type(0, "start").stdout
        _, rule, rest = printed.partition("Copy the following command to other nodes to run.\n" + "-" * 80 + "\n")
        assert rule
        stray = {"PADDLE_MASTER": "10.9.9.9:1", "PADDLE_IPS": "10.9.9.9", "POD_IP": "10.9.9.9"}
        typed = network.machines[1].run("bash", "-c", rest.partition("-" * 80)[0], env={**env, **stray})
        assert typed.returncode == 0, typed.stderr
        job.wait("worker-0")
        assert "rank 0 of 2 is done" in job.read("worker-0")


def test_paddle_trains_over_three_machines_and_goes_on_after_a_cut(tmp_path: Path, environment: Environment) -> None:
    env = environment("paddle")
    with open_network(tmp_path, THREE, "debian") as network:
        manifest = build_manifest(command=(*LAUNCH, "25"), replicas=3)
        job = Job(network, manifest, THREE, [PROGRAMS / "collective.py"], env)
        job.start()
        wait_until(job.log("worker-0"), "step 5\n", 60)
        network.cut(2)
        time.sleep(15)
        assert "step 20\n" not in job.read("worker-0")
        network.restore(2)
        job.wait("worker-0", "worker-1", "worker-2")
        assert "rank 0 of 3 is done" in job.read("worker-0")


@pytest.mark.parametrize(("addresses", "names"), [(TWO, "debian"), (("10.77.0.1", "10.77.0.11"), "unresolvable")])
def test_parameter_servers_train_and_are_stopped_when_the_workers_are_done(
    addresses: Sequence[str], names: Names, tmp_path: Path, environment: Environment
) -> None:
    """Also where one address begins with the other one, which PaddlePaddle's own list takes for the same machine."""
    env = {**environment("paddle-ps"), "EPOCHS": "1", "STEPS": "60", "PADDOCK_OUTPUT_DIR": str(tmp_path / "output")}
    with open_network(tmp_path, addresses, names) as network:
        manifest = build_manifest("worker", "ps", command=("python", "train.py"))
        job = Job(network, manifest, name_hosts(network.machines, names), list(SERVERS.glob("*.py")), env)
        job.start()
        job.wait("worker-0", "worker-1")
        assert "Held-out AUC" in job.read("worker-0")
        assert "ps-0  running" in job.type(0, "status").stdout
        assert [job.type(index, "stop").stdout for index in (0, 1)] == ["ps-0  stopped\n", "ps-1  stopped\n"]


@pytest.mark.parametrize(("addresses", "names"), [(TWO, "debian"), (THREE, "unresolvable"), (TWO[:1], "debian")])
def test_torch_trains_three_ranks(
    addresses: Sequence[str], names: Names, tmp_path: Path, environment: Environment
) -> None:
    """On two machines, of which one has two ranks, on three, and on one alone."""
    env = environment("pytorch")
    with open_network(tmp_path, addresses, names) as network:
        manifest = build_torch_manifest(("python", "ddp.py", "30"))
        hosts = name_hosts(network.machines, names)
        job = Job(network, manifest, hosts, [PROGRAMS / "ddp.py"], env)
        job.start()
        job.wait("master-0", "worker-0", "worker-1")
        assert "rank 2 of 3 is done" in job.read("worker-1")
