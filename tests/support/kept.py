"""A cluster whose console keeps: the embedded API with RBAC, a node that prints, the keeper with its printed rights,
and readers with tokens of their own."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import ClientSession
from yarl import URL

from paddock.apiserver.http.server import Server
from paddock.apiserver.objects.in_process import LocalApi
from paddock.app.consoles.cluster import Options, Shown, run_readers
from paddock.app.consoles.keeping.keeper import LIMITS, Keeping
from paddock.app.health import Address
from paddock.app.home import Home
from paddock.client.client import Client
from paddock.client.kubeconfig import Config, read_config, read_server
from paddock.history.answers import Logs, Runs
from paddock.history.retention import Limits
from paddock.install.console import KEEPER, NAMESPACE, PORT, build_keeper
from paddock.jobs.labels import ATTEMPT_LABEL, INDEX_LABEL, JOB_LABEL, ROLE_LABEL
from paddock.kube.meta import NAMESPACES, PODS, SERVICE_ACCOUNTS, Manifest, owner_reference
from paddock.kube.pod_streams import Connection, Session, StreamRequest
from paddock.kube.rbac import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES, write_rule
from support.operator_seam import JOBS, build_job, install_jobs, set_phase
from support.timed_logs import TimedLogs
from support.waiting import until

CONSOLE = NAMESPACE


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes

    @property
    def reason(self) -> str:
        return str(msgspec.json.decode(self.body)["reason"])


@dataclass
class Kept:
    """`directory`: of what is kept."""

    api: LocalApi
    server: Server
    node: TimedLogs
    client: Client
    directory: Path

    # -- what happens on the cluster

    async def have_job(self, name: str = "demo", namespace: str = "default") -> Manifest:
        return await self.api.create(JOBS, build_job(name, ps=0, worker=2, namespace=namespace))

    async def have_pod(
        self, job: Manifest, rank: str = "worker-0", *texts: str, phase: str = "Running", attempt: int = 0
    ) -> str:
        """Its name; it has printed these lines."""
        head = job["metadata"]
        name, (role, index) = f"{head['name']}-{rank}", rank.split("-")
        labels = {JOB_LABEL: head["name"], ROLE_LABEL: role, INDEX_LABEL: index, ATTEMPT_LABEL: str(attempt)}
        spec = {"containers": [{"name": "paddle", "image": "x"}], "nodeName": "n", "restartPolicy": "Never"}
        metadata = {"name": name, "namespace": head["namespace"], "labels": labels,
                    "ownerReferences": [owner_reference(job)]}  # fmt: skip
        self.node.containers.pop(name, None)
        self.node.print(name, *texts)
        await self.api.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        await set_phase(self.api, name, phase, namespace=head["namespace"])
        return name

    async def end(self, pod: str, phase: str = "Failed", code: int = 1, namespace: str = "default") -> None:
        self.node.end(pod)
        await set_phase(self.api, pod, phase, code, namespace=namespace)

    async def remove(self, pod: str, namespace: str = "default") -> None:
        await self.api.delete(PODS, namespace, pod, grace=0)

    # -- who there is

    async def have_reader(self, name: str, rights: Sequence[tuple[str, str]], namespace: str = "default") -> str:
        """The token of a new account that may `get` these (group, plural) in the namespace."""
        await self.api.create(SERVICE_ACCOUNTS, {"metadata": {"name": name, "namespace": namespace}})
        if rights:
            rules = [write_rule(group, (plural,), ("get", "list", "watch")) for group, plural in rights]
            await self.api.create(ROLES, {"metadata": {"name": name, "namespace": namespace}, "rules": rules})
            await self.api.create(ROLE_BINDINGS, _bind(name, namespace, name, namespace))
        return await self.make_token(name, namespace)

    async def make_token(self, account: str, namespace: str) -> str:
        path = f"{self.server.url}/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
        headers = {"Authorization": f"Bearer {self.server.token}"}
        async with ClientSession() as session, session.post(path, json={"spec": {}}, headers=headers, ssl=False) as got:
            assert got.status == 201, await got.text()
            return str((await got.json())["status"]["token"])

    async def have_keeper(self, without: tuple[str, str] = ("", "")) -> Config:
        """As `paddock manifests console --keep` prints it: with its account alone. `without`: a verb that it lacks, of
        a resource (`pods/log`)."""
        await self.api.create(NAMESPACES, {"metadata": {"name": CONSOLE}})
        kinds = {
            "ServiceAccount": SERVICE_ACCOUNTS, "ClusterRole": CLUSTER_ROLES, "Role": ROLES,
            "ClusterRoleBinding": CLUSTER_ROLE_BINDINGS, "RoleBinding": ROLE_BINDINGS,
        }  # fmt: skip
        for manifest in build_keeper(CONSOLE):
            if manifest["kind"] == "ClusterRole":
                manifest = {**manifest, "rules": take_away(manifest["rules"], *without)}
            await self.api.create(kinds[manifest["kind"]], manifest)
        return self.as_(await self.make_token(KEEPER, CONSOLE))

    def as_(self, token: str) -> Config:
        return replace(read_server(str(self.server.kubeconfig)), token=token)

    # -- the console

    async def have_consoles_pod(self) -> None:
        """As its Deployment makes it, ready."""
        labels = {"app.kubernetes.io/name": "paddock", "app.kubernetes.io/component": "console"}
        metadata = {"name": "paddle-console-0", "namespace": CONSOLE, "labels": labels}
        spec = {"containers": [{"name": "console", "image": "x"}], "nodeName": "n"}
        await self.api.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        await self.api.patch(PODS, CONSOLE, "paddle-console-0", {"status": status}, subresource="status")

    @asynccontextmanager
    async def console(
        self, keeper: Config, limits: Limits = LIMITS, directory: Path | None = None
    ) -> AsyncIterator[str]:
        """Its address, while it runs."""
        stop, started = asyncio.Event(), asyncio.get_running_loop().create_future()
        keeping = Keeping(directory or self.directory, keeper, limits)
        options = Options(Address("127.0.0.1", 0), keeping=keeping)
        home = Home(self.directory.parent / "console", self.directory.parent / "cache")
        server = read_server(str(self.server.kubeconfig))
        work = asyncio.create_task(run_readers(server, Shown("prod", ""), options, home, stop, started.set_result))
        await asyncio.wait([work, started], return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            work.result()
        try:
            yield f"http://{started.result()}"
        finally:
            stop.set()
            await work

    def read_logs(self) -> dict[str, bytes]:
        """What is kept, by the name of the pod and its attempt."""
        found = {}
        for path in self.directory.glob("node/pods/*/paddle/0.log"):
            owner = msgspec.json.decode((path.parents[1] / ".owner.json").read_bytes())
            found[f"{owner['pod']}:{owner['labels'][ATTEMPT_LABEL]}"] = path.read_bytes()
        return found

    async def until_kept(self, pod: str, text: bytes, attempt: int = 0) -> None:
        async def is_kept() -> bool:
            return self.read_logs().get(f"{pod}:{attempt}") == text

        await until(is_kept)


def take_away(rules: Sequence[Manifest], verb: str, resource: str) -> list[Manifest]:
    """The rules without this right. `resource`: with its group (`paddlejobs.kubeflow.org`)."""
    left = []
    for rule in rules:
        (group,) = rule["apiGroups"]
        for plural in rule["resources"]:
            is_it = resource == (f"{plural}.{group}" if group else plural)
            verbs = [each for each in rule["verbs"] if not (is_it and each == verb)]
            left += [write_rule(group, (plural,), verbs)] if verbs else []
    return left


def _bind(name: str, namespace: str, account: str, home: str) -> Manifest:
    subject = {"kind": "ServiceAccount", "name": account, "namespace": home}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
    return {"metadata": {"name": name, "namespace": namespace}, "roleRef": reference, "subjects": [subject]}


SEES_JOBS = (JOBS.group, JOBS.plural)
READS_LOGS = ("", "pods/log")


class Ports:
    """A node that lets others into pods: `kube.pod_streams.PodStreams`. `url`: of what listens on every port."""

    def __init__(self) -> None:
        self.url = URL()

    async def exec(self, pod: Manifest, request: StreamRequest) -> Session:
        raise AssertionError("nobody runs a command")

    async def attach(self, pod: Manifest, request: StreamRequest) -> Session:
        raise AssertionError("nobody attaches")

    async def connect(self, pod: Manifest, port: int) -> Connection:
        assert port == PORT
        return Wire(*await asyncio.open_connection(self.url.host, self.url.port))


class Wire:
    """A `kube.pod_streams.Connection`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def read(self) -> bytes:
        return await self._reader.read(2**16)

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    def write_eof(self) -> None:
        self._writer.write_eof()

    async def close(self) -> None:
        self._writer.close()


@asynccontextmanager
async def open_cluster(directory: Path, ports: Ports | None = None) -> AsyncIterator[Kept]:
    api = await LocalApi.open(directory / "store")
    node = TimedLogs()
    server = Server(api, directory, logs=node, streams=ports)
    await server.start()
    await install_jobs(api)
    try:
        async with Client(read_config(str(server.kubeconfig))) as client:
            yield Kept(api, server, node, client, directory / "kept")
    finally:
        await server.stop()
        await api.close()


async def ask(url: str, path: str, token: str = "", **options: Any) -> Answer:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with ClientSession() as session, session.get(f"{url}{path}", headers=headers | options.pop("headers", {}),
                                                       **options) as answer:  # fmt: skip
        return Answer(answer.status, await answer.read())


async def list_runs(url: str, token: str, namespace: str = "default", name: str = "") -> Runs:
    answer = await ask(url, f"/kept/v1/namespaces/{namespace}/runs?name={name}", token)
    assert answer.status == 200, answer
    return msgspec.json.decode(answer.body, type=Runs)


async def list_logs(url: str, token: str, name: str, namespace: str = "default") -> Logs:
    answer = await ask(url, f"/kept/v1/namespaces/{namespace}/logs?name={name}", token)
    assert answer.status == 200, answer
    return msgspec.json.decode(answer.body, type=Logs)


def write_kubeconfig(cluster: Kept, token: str, path: Path) -> Path:
    """Of a reader with this token alone."""
    ca = cluster.client.config.ca or ""
    written = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "prod",
        "clusters": [{"name": "prod", "cluster": {
            "server": cluster.server.url, "certificate-authority-data": base64.b64encode(ca.encode()).decode(),
        }}],
        "users": [{"name": "reader", "user": {"token": token} if token else {}}],
        "contexts": [{"name": "prod", "context": {"cluster": "prod", "user": "reader"}}],
    }  # fmt: skip
    path.write_text(json.dumps(written))
    return path
