"""A disk that fills, a clock that is set back, clients that stop reading, a kill: of a server in a process of its own,
where that is the subject."""

from __future__ import annotations

import json
import os
import resource
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from apiserver.embedded import config_map, is_gone, pod
from apiserver.fuzz.wholes import Client
from apiserver.served import Served
from paddock.apiserver.access.tokens import Tokens
from paddock.apiserver.http.certificates import make_certificates
from paddock.apiserver.http.files import write_private
from paddock.apiserver.objects.in_process import LocalApi
from paddock.apiserver.storage.expiry import EVENT_TTL, Expiry
from paddock.kube.meta import CONFIG_MAPS, EVENTS, PODS, Key
from support.waiting import until

HOUR = 3_600.0
CONFIG_MAPS_PATH = "/api/v1/namespaces/default/configmaps"
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path / "cluster", ENVIRONMENT, errors=tmp_path / "errors") as found:
        yield found


# A disk that fills


def _create(client: Client, name: str) -> tuple[int, bytes]:
    body = {"metadata": {"name": name}, "data": {"x": "y" * 100_000}}
    return client.send("POST", CONFIG_MAPS_PATH, json.dumps(body).encode())


@pytest.mark.slow
def test_a_full_disk_refuses_writes_in_words_and_loses_nothing(served: Served, tmp_path: Path) -> None:
    """No file may grow any more, as on a full disk; then there is room again, and the process is killed."""
    client = Client(served)
    told = [name for name in ("a", "b") if _create(client, name)[0] == 201]
    unlimited = resource.prlimit(served.pid, resource.RLIMIT_FSIZE)
    grown = (tmp_path / "cluster" / "store.sqlite-wal").stat().st_size
    resource.prlimit(served.pid, resource.RLIMIT_FSIZE, (grown + 250_000, unlimited[1]))
    answers = [(name, *client.send_any("POST", CONFIG_MAPS_PATH, _body(name))) for name in ("c", "d", "e", "f")]
    told += [name for name, status, _ in answers if status == 201]
    refused = [text for _, status, text in answers if status != 201]
    assert refused and all(b"nothing was stored" in text and b"disk" in text for text in refused), answers
    assert {status for _, status, _ in answers} <= {201, 503}
    assert client.send("GET", f"{CONFIG_MAPS_PATH}/a")[0] == 200
    resource.prlimit(served.pid, resource.RLIMIT_FSIZE, unlimited)
    assert _create(client, "after")[0] == 201
    served.kill()
    assert "Traceback" not in (tmp_path / "errors").read_text()
    with Served(tmp_path / "cluster", ENVIRONMENT) as again:
        listed = json.loads(Client(again).send("GET", CONFIG_MAPS_PATH)[1])
        found = {each["metadata"]["name"] for each in listed["items"]}
    assert {*told, "after"} <= found and found.isdisjoint(name for name, status, _ in answers if status != 201)


def _body(name: str) -> bytes:
    return json.dumps({"metadata": {"name": name}, "data": {"x": "y" * 100_000}}).encode()


# Clients that stop reading


@pytest.mark.parametrize(
    "path",
    [
        f"{CONFIG_MAPS_PATH}?watch=1",
        pytest.param("/api/v1/namespaces/default/pods/p/log?follow=1", marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
def test_clients_that_stop_reading_take_little_and_keep_nobody_out(served: Served, path: str) -> None:
    client = Client(served)
    client.prepare()
    served.begin()
    unread = [client.open_socket(receive=4_096) for _ in range(10)]
    for each in unread:
        each.sendall(client.head("GET", path) + b"\r\n")
    for number in range(30):
        assert client.send("POST", CONFIG_MAPS_PATH, _body(f"c{number}"))[0] == 201
    client.see_others_served()
    # Ten connections have half a MiB each on their way, and the changes are shared.
    assert served.read_growth() < 64
    for each in unread:
        each.shutdown(socket.SHUT_RDWR)
        each.close()


# A clock that is set back


async def test_an_hour_that_comes_again_ends_no_token_no_certificate_and_no_watch(tmp_path: Path) -> None:
    now = [1_800_000_000.0]
    tokens = Tokens(tmp_path / "key", write_private, lambda: now[0])
    certificates = make_certificates(tmp_path, now[0])
    authority = certificates.authority.read_bytes()
    token, expires = tokens.make(Key("default", "default"), "uid", 3_600)
    now[0] -= HOUR
    claims = tokens.read(token)
    assert claims is not None and claims.expires == expires
    assert make_certificates(tmp_path, now[0]).authority.read_bytes() == authority
    now[0] = expires
    assert tokens.read(token) is None


async def test_an_hour_that_comes_again_changes_no_order_and_keeps_no_event_for_ever(tmp_path: Path) -> None:
    now = [1_800_000_000.0]
    api = await LocalApi.open(tmp_path, clock=lambda: now[0])
    before = await api.create(CONFIG_MAPS, config_map("before"), namespace="default")
    involved = {"involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}}
    await api.create(EVENTS, {"metadata": {"name": "e"}, **involved}, namespace="default")
    await api.create(PODS, pod("p", namespace="default"), namespace="default")
    now[0] -= HOUR
    after = await api.create(CONFIG_MAPS, config_map("after"), namespace="default")
    assert int(after["metadata"]["resourceVersion"]) > int(before["metadata"]["resourceVersion"])
    expiry = Expiry(api.objects.store, lambda: now[0])
    assert await expiry.sweep() == pytest.approx(EVENT_TTL, abs=1)
    await api.delete(PODS, "default", "p")
    assert await is_gone(api, PODS, "p")
    now[0] += HOUR + EVENT_TTL + 1
    await expiry.sweep()
    await until(lambda: is_gone(api, EVENTS, "e"))
    await api.close()
