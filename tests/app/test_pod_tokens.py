"""The token of a pod's own service account, as the real client of Python uses it in the pod."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from apiserver.embedded import Http
from node.cluster import PYTHON, Cluster, container, open_cluster, pod, shell, terminated
from paddock.apiserver.http.server import Server
from paddock.apiserver.objects.in_process import LocalApi
from paddock.app.pod_tokens import PLACE, PodTokens, provide_all, wants_token
from paddock.kube.errors import NotFound
from paddock.kube.meta import PODS, SERVICE_ACCOUNTS, Manifest, Resource
from paddock.node.runtime.containers import Provision
from support.sandboxes import need_sandbox

pytestmark = pytest.mark.sandbox

ROLES = Resource("rbac.authorization.k8s.io", "v1", "Role", "roles")
BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings")
MOUNT = {"volumeMounts": [{"name": "v", "mountPath": PLACE}]}


@pytest.mark.parametrize(
    ("spec", "account", "wanted"),
    [
        ({}, {}, True),
        ({"automountServiceAccountToken": False}, {}, False),
        ({}, {"automountServiceAccountToken": False}, False),
        ({"automountServiceAccountToken": True}, {"automountServiceAccountToken": False}, True),
        ({"automountServiceAccountToken": False}, {"automountServiceAccountToken": True}, False),
        ({"containers": [{"name": "c", **MOUNT}]}, {}, False),
        ({"initContainers": [{"name": "c", **MOUNT}]}, {}, False),
        ({"containers": [{"name": "c", "volumeMounts": [{"name": "v", "mountPath": "/data"}]}]}, {}, True),
    ],
)
def test_who_gets_a_token(spec: Manifest, account: Manifest, wanted: bool) -> None:
    assert wants_token({"spec": spec}, account) is wanted


def test_what_several_give_is_given_together() -> None:
    one, two = Provision({"a": b"1"}, {"A": "1"}), Provision({"b": b"2"}, {"B": "2"}, {"b": "/b"})
    given = provide_all(lambda *_: one, lambda *_: two)({}, {}, Path("/own"))
    assert given == Provision({"a": b"1", "b": b"2"}, {"A": "1", "B": "2"}, {"b": "/b"})


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
async def given(tmp_path: Path) -> Any:
    """Tokens without pods that run, and their clock."""
    api = await LocalApi.open(tmp_path / "api")
    server = Server(api, tmp_path / "api")
    await server.start()
    clock = Clock()
    certificate = tmp_path / "api" / "ca.crt"
    yield PodTokens(lambda: server.access, url=lambda: server.url, certificate=certificate, clock=clock), clock, api
    await server.stop()
    await api.close()


async def make_pod(api: LocalApi, name: str) -> Manifest:
    made: Manifest = await api.create(PODS, pod(shell("true"), name=name), namespace="default")
    return made


async def test_a_token_is_signed_once_a_pod_and_anew_when_a_part_of_its_time_has_passed(given: Any) -> None:
    tokens, clock, api = given
    one, two = await make_pod(api, "one"), await make_pod(api, "two")
    first = tokens.make(one, "", 1000)
    assert tokens.make(one, "", 1000) == first
    others = {tokens.make(two, "", 1000), tokens.make(one, "vault", 1000), tokens.make(one, "", 2000)}
    assert len(others | {first}) == 4
    clock.now += 99
    assert tokens.make(one, "", 1000) == first
    clock.now += 2
    assert tokens.make(one, "", 1000) != first


async def test_an_account_that_was_made_anew_has_a_new_token(given: Any) -> None:
    tokens, _, api = given
    account = {"metadata": {"name": "a", "namespace": "default"}}
    await api.create(SERVICE_ACCOUNTS, account)
    manifest = await api.create(PODS, pod(shell("true"), name="p", serviceAccountName="a"), namespace="default")
    first = tokens.make(manifest, "", 1000)
    await api.delete(SERVICE_ACCOUNTS, "default", "a")
    with pytest.raises(NotFound):
        tokens.make(manifest, "", 1000)
    await api.create(SERVICE_ACCOUNTS, account)
    assert tokens.make(manifest, "", 1000) != first


async def test_a_certificate_that_was_renewed_is_read_again(given: Any, tmp_path: Path) -> None:
    tokens, _, api = given
    manifest, certificate = await make_pod(api, "p"), tmp_path / "api" / "ca.crt"
    before = tokens.provide(manifest, {}, tmp_path).files["serviceaccount/ca.crt"]
    assert before == certificate.read_bytes()
    certificate.write_bytes(before + b"renewed")
    assert tokens.provide(manifest, {}, tmp_path).files["serviceaccount/ca.crt"] == before + b"renewed"


ASKS = """
from kubernetes import client, config
config.load_incluster_config()
for ask in (client.CoreV1Api().list_namespaced_pod, client.CoreV1Api().list_namespaced_secret):
    try:
        print([each.metadata.name for each in ask("default").items])
    except client.ApiException as error:
        print(error.status)
"""


class World:
    def __init__(self, cluster: Cluster, server: Server) -> None:
        self.cluster, self.server = cluster, server

    async def say(self, manifest: Manifest) -> str:
        ended = await self.cluster.run(manifest)
        said: str = await self.cluster.log(ended)
        assert terminated(ended)["exitCode"] == 0, said
        return said


@pytest.fixture
async def world(tmp_path: Path) -> Any:
    servers: list[Server] = []
    tokens = PodTokens(lambda: servers[0].access, url=lambda: servers[0].url, certificate=tmp_path / "api" / "ca.crt")
    settings = {"provide": tokens.provide, "make_token": tokens.make, "hidden": (tmp_path,)}
    async with open_cluster(tmp_path, need_sandbox("bubblewrap"), **settings) as cluster:
        servers.append(Server(cluster.api, tmp_path / "api"))
        await servers[0].start()
        yield World(cluster, servers[0])
        await servers[0].stop()


async def test_a_program_asks_the_api_as_its_pod_s_account(world: World) -> None:
    api, meta = world.cluster.api, {"name": "look", "namespace": "default"}
    await api.create(SERVICE_ACCOUNTS, {"metadata": {"name": "looker", "namespace": "default"}})
    await api.create(
        ROLES, {"metadata": meta, "rules": [{"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]}]}
    )
    subject = {"kind": "ServiceAccount", "name": "looker", "namespace": "default"}
    role = {"apiGroup": ROLES.group, "kind": "Role", "name": "look"}
    await api.create(BINDINGS, {"metadata": meta, "roleRef": role, "subjects": [subject]})
    said = await world.say(pod(container(PYTHON, "-c", ASKS), name="p", serviceAccountName="looker"))
    assert said == "['p']\n403\n"
    assert await world.say(pod(container(PYTHON, "-c", ASKS), name="q")) == "403\n403\n"


async def test_the_token_ends_with_its_pod(world: World) -> None:
    said = await world.say(pod(shell(f"cat {PLACE}/token; echo; cat {PLACE}/namespace"), name="p"))
    token, namespace = said.split()
    http = Http(world.server)
    header = {"Authorization": f"Bearer {token}"}
    status, _, _ = await http.ask("GET", "/api", headers=header)
    await world.cluster.api.delete(PODS, "default", "p")
    await world.cluster.gone("p")
    gone, _, _ = await http.ask("GET", "/api", headers=header)
    await http.session.close()
    assert (namespace, status, gone) == ("default", 200, 401)


async def test_nobody_gets_a_token_who_wants_none(world: World) -> None:
    script = f"ls {PLACE} 2>/dev/null; echo $KUBERNETES_SERVICE_HOST"
    assert await world.say(pod(shell(script), name="p", automountServiceAccountToken=False)) == "\n"
    assert await world.say(pod(shell(script), name="q", serviceAccountName="nobody")) == "\n"


async def test_a_volume_projects_a_token_for_an_audience(world: World) -> None:
    sources = [{"serviceAccountToken": {"path": "t", "audience": "vault", "expirationSeconds": 700}}]
    volumes = [{"name": "v", "projected": {"sources": sources}}]
    manifest = pod(shell("cat /v/t", volumeMounts=[{"name": "v", "mountPath": "/v"}]), name="p", volumes=volumes)
    claims = world.server.access.find_claims(await world.say(manifest))
    assert claims is not None and claims.audiences == ("vault",)
    assert claims.bound is not None and claims.bound.name == "p"
