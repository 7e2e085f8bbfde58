"""Watches: the event types that selections give to changes, and the streams that send the events."""

from __future__ import annotations

import asyncio
import ssl
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.embedded import WIDGETS, Follower, Http, config_map, pod, widget, widget_crd
from paddock.apiserver.http.server import Server
from paddock.apiserver.objects.in_process import LocalApi
from paddock.apiserver.storage.hub import Capacity, Hub, Selection, read_selection
from paddock.apiserver.storage.records import Change
from paddock.kube.meta import CONFIG_MAPS, CRDS, PODS
from support.waiting import until

KEY = "/configmaps"
CONFIG_MAP_PATH = "/api/v1/namespaces/default/configmaps"


def _body(labels: dict[str, str]) -> bytes:
    meta = {"name": "c", "namespace": "default", "labels": labels}
    return msgspec.json.encode({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})


def _change(type: str, now: dict[str, str], before: dict[str, str] | None = None, *, known: bool = True) -> Change:
    previous = _body(before) if before is not None and known else None
    return Change(type, KEY, "default", "c", 9, "v1", _body(now), previous, before is not None)


ON, OFF = {"on": "yes"}, {"on": "no"}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (_change("ADDED", ON), "ADDED"),
        (_change("ADDED", OFF), None),
        (_change("MODIFIED", ON, ON), "MODIFIED"),
        (_change("MODIFIED", ON, OFF), "ADDED"),
        (_change("MODIFIED", OFF, ON), "DELETED"),
        (_change("MODIFIED", OFF, OFF), None),
        (_change("DELETED", ON, ON), "DELETED"),
        (_change("DELETED", OFF, OFF), None),
        (_change("MODIFIED", OFF, ON, known=False), "DELETED"),
        (_change("MODIFIED", ON, OFF, known=False), "MODIFIED"),
    ],
)
def test_the_event_type_of_a_change_for_a_selection(change: Change, expected: str | None) -> None:
    assert read_selection(KEY, labels="on=yes").event_type(change) == expected


@given(st.lists(st.sampled_from([ON, OFF, None]), max_size=8))
def test_the_events_of_a_watch_agree_with_a_list(states: list[dict[str, str] | None]) -> None:
    selection = read_selection(KEY, labels="on=yes")
    before: dict[str, str] | None = None
    there = False
    for state in states:
        if state is None and before is None:
            continue
        type = "DELETED" if state is None else "ADDED" if before is None else "MODIFIED"
        seen = selection.event_type(_change(type, state or before or {}, before))
        assert seen != ("ADDED" if there else "DELETED")
        there = there if seen is None else seen != "DELETED"
        before = state
        assert there == (state == ON)


def test_a_selection_distinguishes_names_and_namespaces() -> None:
    change = _change("ADDED", {})
    assert Selection("default").event_type(change) == "ADDED"
    assert Selection("other").event_type(change) is None
    assert read_selection(KEY, fields="metadata.name=c").event_type(change) == "ADDED"
    assert read_selection(KEY, fields="metadata.name!=c").event_type(change) is None


async def test_a_watcher_that_does_not_read_is_closed_and_the_others_go_on() -> None:
    hub = Hub()
    slow, quick = hub.subscribe(KEY, Selection(), Capacity(3, 10_000)), hub.subscribe(KEY, Selection(), None)
    for _ in range(5):
        hub.publish([_change("ADDED", {})])
    assert slow.lost
    assert not quick.lost
    assert len(await quick.read(0)) == 5
    assert await quick.read(0) == []


class Watcher:
    """The lines of one watch over HTTP, decoded."""

    def __init__(self, http: Http, query: str, path: str = CONFIG_MAP_PATH, **headers: str) -> None:
        self._request = http.stream(f"{path}?watch=true{query}", **headers)

    async def __aenter__(self) -> Watcher:
        self.answer = await self._request.__aenter__()
        return self

    async def __aexit__(self, *exc: Any) -> None:
        await self._request.__aexit__(*exc)

    async def next(self) -> tuple[str, Any]:
        line = await asyncio.wait_for(self.answer.content.readline(), 60)
        assert line, "the watch has ended"
        event = msgspec.json.decode(line)
        return event["type"], event["object"]

    async def names(self, count: int) -> list[tuple[str, str]]:
        return [(type, obj["metadata"]["name"]) for type, obj in [await self.next() for _ in range(count)]]


async def test_a_watch_without_a_version_starts_with_the_current_objects(widgets: LocalApi, http: Http) -> None:
    await widgets.create(CONFIG_MAPS, config_map("a"), namespace="default")
    for query in ("", "&resourceVersion=0", "&resourceVersion="):
        async with Watcher(http, query) as watcher:
            assert await watcher.names(1) == [("ADDED", "a")]


async def test_a_watch_from_a_compacted_version_is_one_expired_event(widgets: LocalApi, http: Http) -> None:
    widgets.objects.store.changelog.compacted = 10**6
    async with Watcher(http, "&resourceVersion=5") as watcher:
        assert watcher.answer.status == 200
        type, status = await watcher.next()
        assert (type, status["code"], status["reason"]) == ("ERROR", 410, "Expired")
        assert await watcher.answer.content.readline() == b""


async def test_a_watch_from_a_future_version_is_refused(widgets: LocalApi, http: Http) -> None:
    present = widgets.objects.store.revision
    async with Watcher(http, f"&resourceVersion={present}&timeoutSeconds=1") as watcher:
        assert watcher.answer.status == 200
    status, body, _ = await http.ask("GET", f"{CONFIG_MAP_PATH}?watch=true&resourceVersion={present + 1}")
    assert (status, body["reason"]) == (504, "Timeout")
    assert body["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
    assert "Too large resource version" in body["message"]


async def test_watches_end_when_their_crd_is_deleted(widgets: LocalApi, http: Http) -> None:
    await widgets.create(WIDGETS, widget(), namespace="default")
    follower = Follower(widgets, WIDGETS)
    assert await follower.until_synced() == ["w"]
    path = "/apis/example.org/v1/namespaces/default/widgets"
    async with Watcher(http, "", path) as watcher, Watcher(http, "") as other:
        assert await watcher.names(1) == [("ADDED", "w")]
        await widgets.delete(CRDS, "", "widgets.example.org")
        assert await watcher.names(1) == [("DELETED", "w")]
        assert await asyncio.wait_for(watcher.answer.content.readline(), 60) == b""
        await widgets.create(CONFIG_MAPS, config_map("a"), namespace="default")
        assert await other.names(1) == [("ADDED", "a")]
    assert (await follower.next()).type == "DELETED"
    # In this process nobody has to ask again: the follower goes on when the kind is back.
    await widgets.create(CRDS, widget_crd())
    await widgets.create(WIDGETS, widget("again"), namespace="default")
    event = await follower.next()
    assert (event.type, event.object["metadata"]["name"]) == ("ADDED", "again")
    await follower.close()


async def test_watches_of_a_version_end_when_it_is_no_longer_served(widgets: LocalApi, http: Http) -> None:
    async with Watcher(http, "", "/apis/example.org/v1/namespaces/default/widgets") as watcher:
        crd = widget_crd()
        beta = crd["spec"]["versions"][0] | {"name": "v1beta1"}
        versions = [crd["spec"]["versions"][0] | {"served": False, "storage": False}, beta]
        await widgets.patch(CRDS, "", "widgets.example.org", {"spec": {"versions": versions}})
        assert await asyncio.wait_for(watcher.answer.content.readline(), 60) == b""


async def test_initial_events_end_with_a_bookmark(widgets: LocalApi, http: Http) -> None:
    await widgets.create(CONFIG_MAPS, config_map("a"), namespace="default")
    query = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion="
    async with Watcher(http, query) as watcher:
        assert await watcher.names(1) == [("ADDED", "a")]
        type, obj = await watcher.next()
        assert (type, obj["kind"]) == ("BOOKMARK", "ConfigMap")
        assert obj["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        created = await widgets.create(CONFIG_MAPS, config_map("b"), namespace="default")
        assert int(obj["metadata"]["resourceVersion"]) < int(created["metadata"]["resourceVersion"])
        assert await watcher.names(1) == [("ADDED", "b")]


async def test_a_watch_ends_after_its_timeout_with_a_bookmark_if_wanted(widgets: LocalApi, http: Http) -> None:
    revision = widgets.objects.store.revision
    async with Watcher(http, f"&resourceVersion={revision}&timeoutSeconds=1&allowWatchBookmarks=1") as watcher:
        type, obj = await watcher.next()
        assert (type, obj["metadata"]["resourceVersion"]) == ("BOOKMARK", str(revision))
        assert await watcher.answer.content.readline() == b""


async def test_a_watch_by_label_and_by_name(widgets: LocalApi, http: Http) -> None:
    async with (
        Watcher(http, "&labelSelector=on%3Dyes") as by_label,
        Watcher(http, "&fieldSelector=metadata.name%3Db") as by_name,
    ):
        await widgets.create(CONFIG_MAPS, config_map("a", labels=ON), namespace="default")
        await widgets.create(CONFIG_MAPS, config_map("b"), namespace="default")
        await widgets.patch(CONFIG_MAPS, "default", "a", {"metadata": {"labels": OFF}})
        assert await by_label.names(2) == [("ADDED", "a"), ("DELETED", "a")]
        assert await by_name.names(1) == [("ADDED", "b")]


async def test_a_watcher_hears_of_the_end_of_what_loses_its_label_with_it(api: LocalApi) -> None:
    events = api.objects.hub.subscribe("/configmaps", read_selection("/configmaps", labels="on=yes"))
    meta = {"labels": {"on": "yes"}, "finalizers": ["a.example/b"], "namespace": "default", "name": "c"}
    await api.create(CONFIG_MAPS, {"metadata": meta})
    await api.delete(CONFIG_MAPS, "default", "c")
    await api.patch(CONFIG_MAPS, "default", "c", {"metadata": {"finalizers": None, "labels": None}})
    seen = await events.read()
    assert [event.type for event in seen] == ["ADDED", "MODIFIED", "DELETED"]
    assert "labels" not in seen[-1].change.object["metadata"]


async def test_kubectl_watches_tables(widgets: LocalApi, http: Http) -> None:
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
    async with Watcher(http, "", "/api/v1/namespaces/default/pods", Accept=accept) as watcher:
        await widgets.create(PODS, pod(), namespace="default")
        type, table = await watcher.next()
        assert (type, table["kind"]) == ("ADDED", "Table")
        assert table["rows"][0]["cells"][0] == "p"


async def test_watchers_of_one_format_share_the_encoded_lines(widgets: LocalApi, http: Http) -> None:
    told: list[Change] = []
    widgets.objects.store.listen(told.extend)
    async with Watcher(http, "") as one, Watcher(http, "") as two:
        await widgets.create(CONFIG_MAPS, config_map("a"), namespace="default")
        assert await one.next() == await two.next()
    assert len(told[0].lines) == 1


async def test_a_disconnected_watcher_is_unsubscribed(widgets: LocalApi, http: Http, server: Server) -> None:
    subscriptions = widgets.objects.hub._subscriptions[KEY]
    async with Watcher(http, ""):
        await until(lambda: subscriptions)
    await until(lambda: not subscriptions)


async def test_watches_end_when_the_server_stops(widgets: LocalApi, http: Http, server: Server) -> None:
    async with Watcher(http, "") as watcher:
        await asyncio.wait_for(server.stop(), 60)
        assert await asyncio.wait_for(watcher.answer.content.readline(), 60) == b""


async def test_a_watcher_is_closed_by_bytes_too_and_keeps_no_events() -> None:
    hub = Hub()
    slow = hub.subscribe(KEY, Selection(), Capacity(1_000, 500))
    closed: list[bool] = []
    slow.on_close = lambda: closed.append(True)
    for _ in range(9):
        hub.publish([_change("ADDED", {})])
    assert slow.lost
    assert closed == [True]
    assert await slow.read(0) == []


async def test_a_closed_subscription_still_gives_what_is_pending() -> None:
    hub = Hub()
    subscription = hub.subscribe(KEY, Selection(), Capacity(10, 10_000))
    hub.publish([_change("ADDED", {})])
    hub.close()
    assert len(await subscription.read(0)) == 1
    assert await subscription.read(0) == []


async def _stall(server: Server, query: str) -> asyncio.StreamWriter:
    """A watcher that sends its request and reads nothing."""
    context = ssl.create_default_context(cafile=str(server.certificate_authority))
    port = int(server.url.rsplit(":", 1)[1])
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, limit=1024)
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    path = f"{CONFIG_MAP_PATH}?watch=true{query}"
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {server.token}\r\n\r\n"
    writer.write(request.encode())
    return writer


async def _write_much(widgets: LocalApi, megabytes: int) -> None:
    await widgets.create(CONFIG_MAPS, config_map("big"), namespace="default")
    for position in range(2 * megabytes):
        data = {"data": {"d": str(position) + "x" * 500_000}}
        await widgets.patch(CONFIG_MAPS, "default", "big", data)


@pytest.mark.parametrize(
    ("query", "megabytes"), [("&timeoutSeconds=1", 12), ("", 24)], ids=["at its timeout", "too far behind by bytes"]
)
async def test_a_watcher_that_stops_reading_ends(widgets: LocalApi, server: Server, query: str, megabytes: int) -> None:
    writer = await _stall(server, query)
    subscriptions = widgets.objects.hub._subscriptions[KEY]
    await until(lambda: subscriptions)
    await _write_much(widgets, megabytes)
    await until(lambda: not subscriptions)
    await until(lambda: not server._open_requests)
    writer.transport.abort()
