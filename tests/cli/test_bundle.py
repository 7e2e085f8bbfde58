"""`paddock bundle`, and what `explain` and `doctor` say of one: what they said of the job itself, word for word."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from doctor.probes.test_jobs import LABELS, LAUNCH, build_job
from history.test_logs import write_log
from paddock.app.bundles.archive import pack, unpack
from paddock.app.bundles.contents import FIRST_BYTES, LAST_BYTES, Place, Room
from paddock.app.home import Home
from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.places import Cluster, ClusterChoice, Local
from paddock.cli.follow.bundles import Made, make_bundle
from paddock.cli.follow.examined_jobs import examine_job
from paddock.cli.main import run
from paddock.cli.output.local_times import localize_times
from paddock.cli.verbs import explain as explain_verb
from paddock.cli.verbs.bundle import write_new
from paddock.client.kubeconfig import Config
from paddock.history.package_sets import write_set
from paddock.history.records import RunRecord, read_records, write_record
from paddock.jobs.apis.last_valid import encode_spec
from paddock.kube.api import Event, PodApi
from paddock.kube.calls import Call, Get, List, Listing, T
from paddock.kube.errors import Forbidden, NotFound
from paddock.kube.log_marks import write_mark
from paddock.kube.meta import NODES, PODS, SECRETS, Manifest, Resource, name_of, namespace_of
from paddock.kube.times import format_time
from paddock.views.flags import Flags
from support.tiers import keep_light
from support.written import build_pod

NOW = 1_764_000_000.0
JOBS = "paddlejobs.batch.paddlepaddle.org"
TOKEN = "hunter2-hunter2"


@dataclass
class Server(PodApi):
    """An API with these objects by their qualified kind, logs by the pod; without nodes nobody may list them."""

    objects: Mapping[str, Sequence[Manifest]]
    logs: Mapping[str, bytes] = field(default_factory=dict)

    async def send(self, call: Call[T]) -> T:
        if call.resource == NODES and "nodes" not in self.objects:
            raise Forbidden("nodes is forbidden")
        items = [each for each in self.objects.get(call.resource.qualified, ())
                 if not call.namespace or namespace_of(each) == call.namespace]  # fmt: skip
        if isinstance(call, List):
            listing: Any = Listing(items, "1")
            return listing  # type: ignore[no-any-return]
        assert isinstance(call, Get), "nothing is changed"
        found: Any = next((each for each in items if name_of(each) == call.name), None)
        if found is None:
            raise NotFound(f"{call.name} not found")
        return found  # type: ignore[no-any-return]

    def follow(self, resource: Resource, namespace: str = "", **_: str) -> AsyncIterator[Event]:
        raise AssertionError("nothing is followed")

    async def fetch(self, path: str, *_: Any, **__: Any) -> Any:
        if path.endswith("/stacks"):
            thread = {"name": "MainThread", "main": True, "frames": [{"function": "f", "file": "train.py", "line": 3}]}
            process = {"pid": 7, "container": "paddle", "command": "python", "threads": [thread]}
            return {"pod": path.split("/")[-2], "processes": [process]}
        raise NotFound(path)

    async def stream_log(
        self, namespace: str, pod: str, *, tail: int | None = None, timestamps: bool = False, **_: Any
    ) -> AsyncGenerator[bytes, None]:
        if pod not in self.logs:
            raise NotFound(f'pods "{pod}" not found')
        lines = self.logs[pod].splitlines(keepends=True)
        text = b"".join(lines if tail is None else lines[-tail:])
        if not timestamps:
            text = b"".join(line.partition(b" ")[2] for line in text.splitlines(keepends=True))
        for start in range(0, len(text), 4096):
            yield text[start : start + 4096]


class LocalThen(Local):
    def now(self) -> float:
        return NOW


class ClusterThen(Cluster):
    def now(self) -> float:
        return NOW


@dataclass(frozen=True)
class World:
    """A job, and what is known of it."""

    job: Manifest
    pods: Sequence[Manifest] = ()
    logs: Mapping[str, str] = field(default_factory=dict)
    others: Mapping[str, Sequence[Manifest]] = field(default_factory=dict)
    silent: float = 10.0
    """Seconds since something was printed."""


def job_in(phase: str, command: Sequence[str] = LAUNCH, workers: int = 2, **status: Any) -> Manifest:
    job = build_job(workers, command)
    job["spec"]["worker"]["template"]["spec"]["containers"][0]["env"] = [{"name": "HF_TOKEN", "value": TOKEN}]
    job["status"] = {"phase": phase, "attempt": 1, **status}
    return job


def cause(reason: str, **args: Any) -> Manifest:
    return {"cause": {"reason": reason, "args": args, "since": format_time(NOW - 300)}}


FULL = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu (needs 2, 0 of 0 free)"
ERROR = "Error initializing process group: Distributed package doesn't have NCCL built in"
PLAIN = ["python", "train.py"]
WORLDS = {
    "failed": World(
        job_in("Failed", **cause("RankFailed", ranks=["worker-0"], code=1, error="RuntimeError: broken")),
        [build_pod("worker", 0, "Failed"), build_pod("worker", 1, "Failed")],
        {"worker-0": LABELS + "Traceback (most recent call last):\nRuntimeError: broken\n", "worker-1": LABELS},
    ),
    "waits for room": World(
        job_in("Pending", **cause("WaitingForScheduler", pods=2, of=2, message=FULL)),
        [build_pod("worker", 0, "Pending"), build_pod("worker", 1, "Pending")],
    ),
    "waits for a queue": World(
        job_in("Suspended", **cause("WaitingForQueue", queue="team")),
        others={"workloads.kueue.x-k8s.io": [{
            "metadata": {"name": "job-demo", "namespace": "default", "ownerReferences": [{"uid": "one"}]},
            "status": {"conditions": [{"type": "QuotaReserved", "status": "False", "reason": "WaitingForQuota",
                                       "message": "no quota"}]},
        }]},
    ),
    "silent": World(
        job_in("Running", PLAIN), [build_pod("worker", index) for index in range(2)],
        {"worker-0": "Epoch 1, Batch 3, Loss 0.5\n", "worker-1": "Epoch 1, Batch 3, Loss 0.5\n"}, silent=900,
    ),
    "waits for a rank": World(
        job_in("Running", PLAIN), [build_pod("worker", index) for index in range(2)],
        {"worker-0": "begin\n" + "Retry to connect to 10.0.0.1:6170 while the server is not yet listening.\n" * 9,
         "worker-1": "begin\n"},
    ),
    "completed": World(
        job_in("Completed", PLAIN), [build_pod("worker", index, "Succeeded") for index in range(2)],
        {"worker-0": f"begin\n{ERROR}\nend\n", "worker-1": "begin\nend\n"},
    ),
    "no operator": World({**job_in("", PLAIN), "status": {}}),
    "wrong": World({**job_in("Invalid", **cause("InvalidJob", problems=["spec: no roles"])), "spec": {}}),
}  # fmt: skip


def serve(world: World, home: Path, *, local: bool) -> tuple[PodApi, ClusterChoice]:
    printed = {f"demo-{rank}": text for rank, text in world.logs.items()}
    stamp = format_time(NOW - world.silent).removesuffix("Z") + ".5Z"
    logs = {} if local else {
        pod: "".join(f"{stamp} {line}\n" for line in text.splitlines()).encode() for pod, text in printed.items()
    }  # fmt: skip
    server = Server({JOBS: [world.job], "pods": world.pods, **world.others}, logs)
    if not local:
        config = Config(server="https://prod:6443", namespace="default")
        return server, ClusterThen(config, Flags(" --context prod", "default", "kubectl --context prod"))
    for pod, text in printed.items():
        uid, when = f"p-{pod.removeprefix('demo-')}", NOW - world.silent
        log = write_log(home, pod, uid, job="one", attempt=1, text=text, when=when)
        log.with_suffix(".times").write_bytes(write_mark(5, when - 99) + write_mark(len(text), when))
    place = LocalThen(Home(home.parent, home.parent))
    for number, phase in enumerate(("Completed", world.job["status"].get("phase", "")), 1):
        uid = "one" if number == 2 else "zero"
        spec = world.job["spec"] if number == 2 else {**world.job["spec"], "runPolicy": {"ttlSecondsAfterFinished": 9}}
        record = RunRecord(world.job["apiVersion"], world.job["kind"], "default", "demo", uid, number, 100.0 + number,
                           spec=spec, phase=phase)  # fmt: skip
        place.home.history.parent.mkdir(parents=True, exist_ok=True)
        write_record(place.home.history, record)
    return server, place


def make(client: PodApi, place: ClusterChoice, name: str = "demo") -> Made:
    where = Place() if place.flags.local else Place(False, "prod")
    return asyncio.run(make_bundle(client, place, where, "default", name))


def ignore(*_: object) -> None:
    pass


@pytest.mark.parametrize("local", [True, False], ids=["laptop", "cluster"])
@pytest.mark.parametrize("name", WORLDS)
def test_a_bundle_is_told_as_the_job_was(
    name: str, local: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PADDOCK_HOME", str(tmp_path / "other"))
    client, place = serve(WORLDS[name], tmp_path / "home" / "node", local=local)
    lines = asyncio.run(explain_verb._explain(client, place, "default", "demo", "en")).lines
    subject = asyncio.run(examine_job(client, place, "default", "demo", ignore))
    made = make(client, place)
    file = tmp_path / "demo.tar.gz"
    write_new(file, made.content)
    before = sorted(tmp_path.rglob("*"))

    assert run(["explain", "--bundle", str(file)]) == 0
    printed = capsys.readouterr()
    assert printed.out == "".join(localize_times(each) + "\n" for each in lines)
    assert run(["explain", "--bundle", str(file), "-o", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["text"] == lines and document["name"] == "demo" and document["phase"] in lines[0]
    assert printed.err.startswith(f"{file}: default/demo as it was at {localize_times(format_time(NOW))} ")
    assert run(["doctor", "--bundle", str(file), "-o", "json"]) == int(bool(subject.findings))
    (told,) = json.loads(capsys.readouterr().out)["subjects"]
    assert told == explain_document(subject)
    assert sorted(tmp_path.rglob("*")) == before  # nothing was written
    assert TOKEN.encode() not in b"".join(read_texts(made))


def asking(pod: Manifest, gpus: int, node: str = "") -> Manifest:
    container = {"name": "a", "image": "a", "resources": {"limits": {"nvidia.com/gpu": gpus}}}
    return {**pod, "spec": {"containers": [container], **({"nodeName": node} if node else {})}}


def build_room() -> World:
    """A cluster of two nodes with one GPU each, of which somebody else holds one."""
    amounts = {"cpu": "8", "memory": "8Gi", "pods": "10", "nvidia.com/gpu": "1"}
    nodes = [{"metadata": {"name": name}, "status": {"allocatable": amounts, "conditions": [
        {"type": "Ready", "status": "True"}]}} for name in ("n1", "n2")]  # fmt: skip
    full = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
    owner = [{"kind": "PaddleJob", "name": "secret-project", "uid": "other", "controller": True}]
    holder = {"metadata": {"name": "other-0", "namespace": "default", "uid": "h", "ownerReferences": owner}}
    return World(
        job_in("Pending", PLAIN, **cause("WaitingForScheduler", pods=2, of=2, message=full)),
        [
            *(asking(build_pod("worker", index, "Pending"), 1) for index in range(2)),
            {**asking(holder, 1, "n1"), "status": {"phase": "Running"}},
        ],
        others={"nodes": nodes},
    )


@pytest.mark.parametrize("may_list", [True, False])
def test_the_room_of_a_cluster_is_told_as_it_was_without_the_pods_of_others(
    may_list: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PADDOCK_HOME", str(tmp_path / "other"))
    world = build_room()
    client, place = serve(world if may_list else replace(world, others={}), tmp_path / "home" / "node", local=False)
    lines = asyncio.run(explain_verb._explain(client, place, "default", "demo", "en")).lines
    told = "secret-project holds 1" if may_list else "you lack the right `list nodes`"
    assert told in "\n".join(lines)
    made = make(client, place)
    write_new(tmp_path / "demo.tar.gz", made.content)
    assert run(["explain", "--bundle", str(tmp_path / "demo.tar.gz")]) == 0
    assert capsys.readouterr().out == "".join(localize_times(each) + "\n" for each in lines)
    assert [name_of(each) for each in made.bundle.answers["v1", "pods"].items] == ["demo-worker-0", "demo-worker-1"]


@pytest.mark.parametrize("amount", ["1e999999999", "-1", "1/0", "nan", "9" * 10_000, 7, ["1"]])
def test_amounts_of_a_stranger_are_one_sentence(
    amount: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PADDOCK_HOME", str(tmp_path / "other"))
    client, place = serve(build_room(), tmp_path / "home" / "node", local=False)
    bundle = make(client, place).bundle
    room = bundle.head.room
    assert room is not None and room.shortage is not None
    lacking = [{**each, "free": each["free"], "total": amount} for each in room.shortage["lacking"]]
    bad = replace(bundle, head=msgspec.structs.replace(bundle.head, room=Room({**room.shortage, "lacking": lacking})))
    write_new(tmp_path / "demo.tar.gz", pack(bad, ""))
    assert run(["explain", "--bundle", str(tmp_path / "demo.tar.gz")]) == 2
    assert capsys.readouterr().err.count("\n") == 2


def test_the_packages_that_differ_are_told_there_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PADDOCK_HOME", str(tmp_path / "other"))
    client, place = serve(WORLDS["failed"], tmp_path / "home" / "node", local=True)
    history = place.home.history  # type: ignore[union-attr]
    for run_record in [each for each in read_records(history) if isinstance(each, RunRecord)]:
        version = "2.5.0" if run_record.uid == "zero" else "2.6.0"
        digest = write_set(history, {"torch": version})
        around = replace(run_record.surroundings, packages={"worker": digest})
        write_record(history, replace(run_record, surroundings=around))
    lines = asyncio.run(explain_verb._explain(client, place, "default", "demo", "en")).lines
    assert "packages: torch 2.5.0 → 2.6.0" in "\n".join(lines)
    write_new(tmp_path / "demo.tar.gz", make(client, place).content)
    assert run(["explain", "--bundle", str(tmp_path / "demo.tar.gz")]) == 0
    assert capsys.readouterr().out == "".join(localize_times(each) + "\n" for each in lines)


def explain_document(subject: Any) -> Any:
    from paddock.cli.output.findings import build_document

    return json.loads(json.dumps(build_document([subject], "en")))["subjects"][0]


def read_texts(made: Made) -> list[bytes]:
    import gzip

    return [gzip.decompress(made.content)]


def test_each_world_is_told_something_of_its_own(tmp_path: Path) -> None:
    """So that the test above compares more than two empty answers."""
    said, explained = dict[str, str](), dict[str, str]()
    for name, world in WORLDS.items():
        client, place = serve(world, tmp_path / name.replace(" ", "-") / "node", local=True)
        lines = asyncio.run(explain_verb._explain(client, place, "default", "demo", "en")).lines
        found = asyncio.run(examine_job(client, place, "default", "demo", ignore))
        explained[name] = "\n".join(lines)
        said[name] = "\n".join([explained[name], *(str(each.what) for each in found.findings)])
    wanted = {
        "failed": "since run 1, which completed: ",
        "waits for room": "asks for 2 GPUs; this cluster has none",
        "waits for a queue": "WaitingForQuota: no quota",
        "silent": "no rank has printed for 15m",
        "waits for a rank": "(for 10s, said 9 times)",
        "completed": "NCCL",
        "no operator": "no operator has looked at the job yet",
        "wrong": "the manifest is wrong",
    }
    for name, words in wanted.items():
        assert words in said[name], (name, said[name])
    assert wanted["silent"] in explained["silent"], "doctor says it, too"


def test_a_long_log_is_cut_and_that_is_said_inside_and_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PADDOCK_HOME", str(tmp_path / "other"))
    text = LABELS + "Epoch 1, Loss 0.5\n" * 60_000 + "RuntimeError: last\n"
    world = World(WORLDS["failed"].job, WORLDS["failed"].pods, {"worker-0": text, "worker-1": LABELS})
    client, place = serve(world, tmp_path / "home" / "node", local=True)
    made = make(client, place)
    head = made.bundle.head
    assert head.notes == ("of 1 log the middle is left out",)
    cut = next(each for each in head.logs if each.index == 0)
    first, last = made.bundle.read_log(cut)
    assert text.encode().startswith(first) and text.encode().endswith(last)
    assert (len(first) <= FIRST_BYTES, len(last) <= LAST_BYTES, len(first) + len(last) + (cut.left_out or 0)) == (
        True, True, len(text)
    )  # fmt: skip
    file = tmp_path / "demo.tar.gz"
    write_new(file, made.content)
    assert run(["doctor", "--bundle", str(file)]) == 1
    said = capsys.readouterr().out
    assert "of 1 log only the first and the last part is kept here" in said and "devices-are-labels" in said


def test_a_log_of_a_kubernetes_is_cut_as_well(tmp_path: Path) -> None:
    lines = [f"2025-11-24T16:00:00.{number:09d}Z Epoch {number}, Loss 0.5\n" for number in range(60_000)]
    client = Server({JOBS: [WORLDS["silent"].job], "pods": WORLDS["silent"].pods},
                    {"demo-worker-0": "".join(lines).encode()})  # fmt: skip
    _, place = serve(WORLDS["silent"], tmp_path / "node", local=False)
    made = make(client, place)
    (entry,) = made.bundle.head.logs
    first, last = made.bundle.read_log(entry)
    assert entry.left_out == 0 and entry.stamped  # how many, no API tells
    assert len(first) <= FIRST_BYTES + 4096 and len(last) <= LAST_BYTES
    assert first.startswith(lines[0].encode()) and last.endswith(lines[-1].encode())


def test_what_may_not_be_read_is_said_and_is_no_success(tmp_path: Path) -> None:
    class Refusing(Server):
        async def send(self, call: Call[T]) -> T:
            if call.resource in (PODS, SECRETS):
                raise Forbidden("pods is forbidden")
            return await super().send(call)

    _, place = serve(WORLDS["silent"], tmp_path / "node", local=False)
    made = make(Refusing({JOBS: [WORLDS["silent"].job]}), place)
    assert made.unread and made.bundle.head.notes == ("the pods could not be read: pods is forbidden",)


def test_secrets_of_the_pods_are_hidden_in_logs_and_never_carried(tmp_path: Path) -> None:
    import base64

    world = WORLDS["completed"]
    pods = [build_pod("worker", index, "Succeeded") for index in range(2)]
    pods[0]["spec"]["containers"] = [{"name": "paddle", "image": "x", "envFrom": [{"secretRef": {"name": "hub"}}]}]
    secret = {"metadata": {"name": "hub", "namespace": "default"},
              "data": {"a": base64.b64encode(b"swordfish").decode()}}  # fmt: skip
    told = World(world.job, pods, {"worker-0": "logged in with swordfish\n"}, {"secrets": [secret]})
    client, place = serve(told, tmp_path / "home" / "node", local=True)
    made = make(client, place)
    assert list(made.bundle.logs.values()) == [b"logged in with ***\n"]
    assert b"swordfish" not in read_texts(made)[0] and not any("secret" in kind for _, kind in made.bundle.answers)


def take(name: str) -> dict[str, Any]:
    return {"name": "A", "valueFrom": {"secretKeyRef": {"name": name, "key": "a"}}}


SAID = ("what the Secrets {} have is not known to who made the bundle: where a program printed it, it stands in the "
        "logs")  # fmt: skip


@pytest.mark.parametrize("named_by", ["template", "last valid spec", "record", "gone job"])
@pytest.mark.parametrize("is_there", [True, False])
def test_secrets_are_hidden_where_the_pods_are_gone(named_by: str, is_there: bool, tmp_path: Path) -> None:
    import base64

    plain, job = WORLDS["completed"].job, json.loads(json.dumps(WORLDS["completed"].job))
    job["spec"]["worker"]["template"]["spec"]["containers"][0]["env"] = [take("demo-env")]
    if named_by == "last valid spec":
        job = {**plain, "status": {**plain["status"], "lastValidSpec": encode_spec(job["spec"])}}
    secret = {"metadata": {"name": "demo-env", "namespace": "default"},
              "data": {"a": base64.b64encode(b"swordfish").decode()}}  # fmt: skip
    secrets = {"secrets": [secret] if is_there else []}
    told = World(job, (), {"worker-0": "logged in with swordfish\n"}, secrets)
    client, place = serve(told, tmp_path / "home" / "node", local=True)
    if named_by == "record":
        client = Server({JOBS: [plain], **secrets})
    if named_by == "gone job":
        client = Server(secrets)
    made = make(client, place)
    if is_there:
        assert list(made.bundle.logs.values()) == [b"logged in with ***\n"]
        assert b"swordfish" not in read_texts(made)[0] and not made.bundle.head.notes
    else:
        assert made.bundle.head.notes == (SAID.format("demo-env"),)
        assert f"- {SAID.format('demo-env')}\n".encode() in read_texts(made)[0]


def test_a_job_that_is_gone_is_bundled_from_what_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PADDOCK_HOME", str(tmp_path / "other"))
    _, place = serve(WORLDS["failed"], tmp_path / "home" / "node", local=True)
    gone = Server({})
    subject = asyncio.run(examine_job(gone, place, "default", "demo", ignore))
    made = make(gone, place)
    file = tmp_path / "demo.tar.gz"
    write_new(file, made.content)
    assert run(["doctor", "--bundle", str(file), "-o", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["subjects"] == [explain_document(subject)]
    assert run(["explain", "--bundle", str(file)]) == 0
    ended, said = capsys.readouterr().out.splitlines()
    assert ended.startswith("demo run 2: ") and said.startswith("the job 'demo' was gone then")


@pytest.mark.parametrize("verb", ["explain", "doctor"])
def test_a_bundle_needs_no_cluster_that_is_there(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    client, place = serve(WORLDS["completed"], tmp_path / "home" / "node", local=True)
    write_new(tmp_path / "demo.tar.gz", make(client, place).content)
    monkeypatch.setenv("PADDOCK_HOME", str(tmp_path / "other"))
    monkeypatch.setenv("PADDOCK_CONTEXT", "no-such-context")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "missing"))
    assert run([verb, "--bundle", str(tmp_path / "demo.tar.gz")]) in (0, 1)
    assert {"explain": "PaddleJob demo: ", "doctor": "default/demo"}[verb] in capsys.readouterr().out
    assert not (tmp_path / "other").exists()


def test_what_cannot_be_written_is_one_sentence_and_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PADDOCK_HOME", str(tmp_path / "other"))
    with pytest.raises(UserError, match="missing/x cannot be written: No such file or directory"):
        write_new(tmp_path / "missing" / "x", b"x")
    assert run(["bundle", "demo", "-o", "-"]) == 2
    assert "not standard output" in capsys.readouterr().err


def test_a_file_is_private_new_and_whole(tmp_path: Path) -> None:
    file = tmp_path / "demo.tar.gz"
    write_new(file, b"x")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with pytest.raises(UserError, match="is there already: name another file with -o"):
        write_new(file, b"y")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="is there already"):
        write_new(link, b"y")
    assert file.read_bytes() == b"x" and not (tmp_path / "elsewhere").exists()


HOSTILE: list[Any] = [5, "x", None, [], [5], {"a": 5}, {"items": [None]}, True, 1e308, {"name": {"x": 1}}]


@pytest.mark.parametrize("verb", keep_light(["explain", "doctor"], ["doctor"]))
@pytest.mark.parametrize("part", ["metadata", "spec", "status"])
@pytest.mark.parametrize("kind", ["job", "pod"])
def test_objects_of_a_stranger_are_no_crash(
    verb: str, part: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PADDOCK_HOME", str(tmp_path / "other"))
    client, place = serve(WORLDS["silent"], tmp_path / "home" / "node", local=True)
    made = make(client, place)
    for number, value in enumerate(HOSTILE):
        bundle = unpack_again(made)
        items = bundle.answers[("v1", "pods") if kind == "pod" else ("batch.paddlepaddle.org/v1", "paddlejobs")].items
        for target in items:
            if part == "metadata":
                target[part]["labels"] = target[part]["ownerReferences"] = value
            else:
                target[part] = value
        file = tmp_path / f"{number}.tar.gz"
        file.write_bytes(pack(bundle, ""))
        code = run([verb, "--bundle", str(file)])
        printed = capsys.readouterr()
        assert code in (0, 1, 2) and "Traceback" not in printed.err, (value, printed.err)
        if code == 2:
            assert len(printed.err.strip().splitlines()) == 2 and "not as a Kubernetes writes it" in printed.err


def unpack_again(made: Made) -> Any:
    import io

    return unpack(io.BytesIO(made.content))


def test_documents_of_a_stranger_are_no_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PADDOCK_HOME", str(tmp_path / "other"))
    client, place = serve(WORLDS["silent"], tmp_path / "home" / "node", local=True)
    bundle = unpack_again(make(client, place))
    assert bundle.documents
    bundle.documents = {path: {"processes": 5} for path in bundle.documents}
    file = tmp_path / "demo.tar.gz"
    file.write_bytes(pack(bundle, ""))
    assert run(["doctor", "--bundle", str(file)]) == 2
    assert "not as a Kubernetes writes it" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["explain", "demo"], ["doctor", "demo"], ["doctor", "--host"]])
def test_a_bundle_stands_alone(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*words, "--bundle", "x.tar.gz"]) == 2
    assert "--bundle" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["explain", "doctor"])
def test_a_file_that_cannot_be_read_is_one_sentence(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([verb, "--bundle", str(tmp_path / "missing")]) == 2
    assert capsys.readouterr().err == f"{tmp_path}/missing cannot be read: No such file or directory\n"
    (tmp_path / "text").write_text("hello")
    assert run([verb, "--bundle", str(tmp_path / "text")]) == 2
    assert capsys.readouterr().err.startswith(f"{tmp_path}/text: it is no bundle of a job: ")
