"""What a run begins with is read when its first programs start, and held up by nothing."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from environments.test_installed import make_venv
from paddock.app.surroundings import RunSurroundings, build_machine, read_datasets, read_driver, read_start
from paddock.environments.installed import Installed, list_names
from paddock.history.package_sets import read_set
from paddock.history.surroundings import DatasetState, MachineState, Surroundings
from paddock.kube.errors import ApiError
from paddock.kube.meta import Manifest
from paddock.node.runtime.gpus import Gpu
from paddock.node.runtime.machine import Machine
from paddock.node.runtime.sandbox import Program
from support.waiting import until

MACHINE = MachineState("ada", 2.0, 2**34)
COMMAND = ["python", "train.py"]


def build_pod(
    uid: str = "j", role: str = "worker", index: int = 0, claims: tuple[str, ...] = (), controlled: bool = True
) -> Manifest:
    owner = {"uid": uid, "kind": "PaddleJob", "name": "train", "controller": controlled}
    volumes = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]
    labels = {"paddock.dev/role": role, "paddock.dev/index": str(index)}
    containers = [{"name": "side", "command": ["sleep"]}, {"name": "paddle", "command": COMMAND}]
    metadata = {"name": "train-worker-0", "namespace": "default", "labels": labels, "ownerReferences": [owner]}
    return {"metadata": metadata, "spec": {"containers": containers, "volumes": volumes}}


def build_dataset(name: str, uri: str = "https://h/f", generation: int = 1, **status: Any) -> Manifest:
    metadata = {"name": name, "namespace": "default", "uid": name, "generation": generation}
    return {"metadata": metadata, "spec": {"source": {"uri": uri}}, "status": status}


def build_program(python: Path, directory: Path) -> Program:
    return Program(tuple(COMMAND), {"PATH": str(python.parent), "HOME": "/nowhere"}, str(directory), "h", directory)


@pytest.mark.parametrize(
    ("pod", "container", "role"),
    [
        (build_pod(), "paddle", "worker"),
        (build_pod(role="ps"), "paddle", "ps"),
        (build_pod(), "side", None),
        (build_pod(index=1), "paddle", None),
        (build_pod(controlled=False), "paddle", None),
        (build_pod(role=""), "paddle", None),
    ],
)
def test_what_trains_in_the_first_rank_of_a_role_is_asked(pod: Manifest, container: str, role: str | None) -> None:
    (asked,) = (each for each in pod["spec"]["containers"] if each["name"] == container)
    start = read_start(pod, asked, build_program(Path("/x/python"), Path("/x")))
    assert (start.role if start else None) == role


READY = {"phase": "Ready", "revision": "3f2a", "finishedAt": "2026-11-01T00:00:00Z", "bytesTotal": 7, "filesTotal": 2}


@pytest.mark.parametrize(
    ("dataset", "state"),
    [
        (build_dataset("words", **READY), DatasetState("https://h/f", "3f2a", "2026-11-01T00:00:00Z", 7, 2)),
        (build_dataset("words", phase="Fetching"), DatasetState("https://h/f")),
        (build_dataset("words", "https://me:secret@h/f", phase="Pending"), None),
        (build_dataset("words", "no address"), DatasetState()),
        (build_dataset("others", **READY), None),
    ],
)
def test_the_state_of_a_mounted_dataset_is_read(dataset: Manifest, state: DatasetState | None) -> None:
    found = read_datasets(build_pod(claims=("dataset-words", "mine")), [dataset]).get("words")
    assert "secret" not in str(found)
    assert state is None or found == state


def test_a_driver_is_that_of_the_machines_gpus(tmp_path: Path) -> None:
    (tmp_path / "version").write_text("550.54.15\n")
    assert (read_driver(tmp_path / "version"), read_driver(tmp_path / "none")) == ("550.54.15", "")
    machine = Machine("ada", 2, 2**34, (Gpu(0, name="NVIDIA A100"), Gpu(1, name="NVIDIA A100")))  # type: ignore[arg-type]
    gpus = ("NVIDIA A100", "NVIDIA A100")
    assert build_machine(machine, "550.54") == MachineState("ada", 2.0, 2**34, gpus, "550.54")
    assert build_machine(Machine("ada", 2, 2**34), "550.54") == MACHINE  # type: ignore[arg-type]


class World:
    """Runs of one home, and what is told of them."""

    def __init__(self, directory: Path) -> None:
        self.history, self.project = directory / "history", directory / "project"
        self.project.mkdir()
        self.told: list[tuple[str, Surroundings]] = []
        self.listed: list[Path] = []
        self.datasets: list[Manifest] | ApiError = []
        self.running_now: list[tuple[str, str, int]] = []
        """Containers: the UID of the pod, the name, the number of the process."""
        self.asked = 0
        self.answers = threading.Event()
        """Cleared, the disk of the venvs does not answer."""
        self.answers.set()

    async def list(self, *_: Any) -> Any:
        if isinstance(self.datasets, ApiError):
            raise self.datasets
        return SimpleNamespace(items=self.datasets)

    def list_running(self) -> list[Any]:
        self.asked += 1
        return [
            (SimpleNamespace(uid=uid), SimpleNamespace(container=name, pid=pid)) for uid, name, pid in self.running_now
        ]

    def look(self, directory: Path) -> list[str]:
        self.listed.append(directory)
        self.answers.wait()
        return list_names(directory)

    @asynccontextmanager
    async def running(self, seconds: float = 60.0) -> AsyncIterator[RunSurroundings]:
        def note(uid: str, told: Surroundings) -> None:
            self.told.append((uid, told))

        api: Any = self
        surroundings = RunSurroundings(
            api,
            self.history,
            MACHINE,
            note,
            Installed(self.look),
            list_running=self.list_running,
            seconds=seconds,
            looks=(0.001, 0.001),
        )
        task = asyncio.create_task(surroundings.run())
        try:
            yield surroundings
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def start(self, surroundings: RunSurroundings, python: Path, pod: Manifest) -> None:
        surroundings.on_start(pod, pod["spec"]["containers"][1], build_program(python, self.project))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def test_a_run_is_told_with_the_packages_of_each_role(world: World, tmp_path: Path) -> None:
    python = make_venv(tmp_path / "venv", "torch-2.6.0.dist-info")
    world.datasets = [build_dataset("words", **READY)]
    async with world.running() as surroundings:
        for pod in (build_pod(claims=("dataset-words",)), build_pod(role="ps"), build_pod(), build_pod(index=1)):
            world.start(surroundings, python, pod)
        await until(lambda: len(world.told) == 2)
    (uid, worker), (_, ps) = world.told
    assert (uid, list(worker.packages), list(ps.packages)) == ("j", ["worker"], ["ps"])
    assert worker.packages["worker"] == ps.packages["ps"]
    assert read_set(world.history, ps.packages["ps"]) == {"python": "3.11", "torch": "2.6.0"}
    assert worker.datasets == {"words": DatasetState("https://h/f", "3f2a", "2026-11-01T00:00:00Z", 7, 2)}
    assert (ps.datasets, worker.machine) == ({}, MACHINE)


async def test_of_a_hundred_runs_of_one_environment_the_first_reads_it(world: World, tmp_path: Path) -> None:
    python = make_venv(tmp_path / "venv", *(f"p{number}-1.0.dist-info" for number in range(3_000)))
    async with world.running() as surroundings:
        for number in range(100):
            world.start(surroundings, python, build_pod(uid=f"j{number}"))
        assert world.told == [] and world.listed == [], "a start reads nothing itself"
        await until(lambda: len(world.told) == 100)
    assert len(world.listed) == 1
    assert len({told.packages["worker"] for _, told in world.told}) == 1
    assert len(list((world.history / ".packages").iterdir())) == 1


async def test_what_cannot_be_read_is_unknown_and_stops_no_other_run(world: World, tmp_path: Path) -> None:
    world.datasets = ApiError("no answer")
    good, bad = make_venv(tmp_path / "good"), make_venv(tmp_path / "bad")
    (tmp_path / "bad/lib/python3.11/site-packages").rmdir()
    world.history.write_text("a file in place of the directory")
    async with world.running() as surroundings:
        world.start(surroundings, good, build_pod(uid="full", claims=("dataset-words",)))
        world.start(surroundings, bad, build_pod(uid="bad"))
        await until(lambda: len(world.told) == 2)
        world.history.unlink()
        world.start(surroundings, good, build_pod(uid="good"))
        await until(lambda: len(world.told) == 3)
    (_, full), (_, nothing), (_, known) = world.told
    assert (full.packages, full.datasets, full.machine) == ({}, None, MACHINE)
    assert (nothing.packages, nothing.datasets) == ({}, {})
    assert list(known.packages) == ["worker"]


async def test_a_disk_that_does_not_answer_is_left_behind(world: World, tmp_path: Path) -> None:
    python = make_venv(tmp_path / "venv", "torch-2.6.0.dist-info")
    world.answers.clear()
    try:
        async with world.running(seconds=0.05) as surroundings:
            world.start(surroundings, python, build_pod())
            await until(lambda: len(world.told) == 1)
    finally:
        world.answers.set()
    assert world.told == [("j", Surroundings({}, {}, MACHINE))]


@pytest.fixture
def waiting_python() -> Iterator[int]:
    """The number of a process of this interpreter that runs already."""
    command = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline()
        yield process.pid


async def test_where_the_command_does_not_say_it_the_processes_do(world: World, waiting_python: int) -> None:
    pod = build_pod()
    pod["metadata"]["uid"] = "pod"
    pod["spec"]["containers"][1]["command"] = ["bash", "-c", ". ./env.sh && python train.py"]
    world.running_now = [("another", "paddle", 1), ("pod", "side", 1), ("pod", "paddle", waiting_python)]
    async with world.running() as surroundings:
        world.start(surroundings, Path(sys.executable), pod)
        await until(lambda: len(world.told) == 2)
    (_, first), (uid, later) = world.told
    assert (first, uid) == (Surroundings({}, {}, MACHINE), "j")
    packages = read_set(world.history, later.packages["worker"])
    assert packages is not None and "pytest" in packages


async def test_of_a_rank_that_has_ended_nothing_is_looked_at(world: World) -> None:
    pod = build_pod()
    pod["spec"]["containers"][1]["command"] = ["uv", "run", "train.py"]
    async with world.running() as surroundings:
        world.start(surroundings, Path("/x/python"), pod)
        await until(lambda: world.asked == 1)
        world.start(surroundings, Path("/x/python"), build_pod(uid="next"))
        await until(lambda: len(world.told) == 2)
    assert [told for _, told in world.told] == [Surroundings({}, {}, MACHINE)] * 2
