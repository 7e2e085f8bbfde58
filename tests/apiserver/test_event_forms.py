"""Events of core/v1 and of events.k8s.io/v1 are the same objects in two forms."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.embedded import Http
from paddock.apiserver.storage.event_forms import NEW_EVENTS, convert, translate_selector
from paddock.kube import schemas
from paddock.kube.errors import BadRequest
from paddock.kube.meta import EVENTS, Manifest

OLD, NEW = "/api/v1/namespaces/default/events", "/apis/events.k8s.io/v1/namespaces/default/events"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}


def old_event(name: str = "old", **fields: Any) -> Manifest:
    return {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": "default"},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p", "uid": "1"},
        "source": {"component": "kubelet", "host": "laptop"}, "type": "Normal",
        "reason": "Started", "message": "it started",
        "firstTimestamp": "2026-11-29T08:00:00Z", "lastTimestamp": "2026-11-29T08:00:05Z", "count": 3, **fields,
    }  # fmt: skip


def new_event(name: str = "new", **fields: Any) -> Manifest:
    return {
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": name, "namespace": "default"},
        "regarding": {"kind": "Pod", "namespace": "default", "name": "q", "uid": "2"}, "note": "it is ready",
        "eventTime": "2026-11-29T08:00:00.000000Z", "reportingController": "example.org/operator",
        "reportingInstance": "operator-0", "action": "Looking", "reason": "Ready", "type": "Normal", **fields,
    }  # fmt: skip


@given(st.sets(st.sampled_from(sorted(schemas.definition("Event")["properties"])) | st.sampled_from(("x", "note2"))))
def test_an_event_comes_back_as_it_was(names: set[str]) -> None:
    event: Manifest = dict.fromkeys(names, 1) | {"apiVersion": "v1", "kind": "Event"}
    new = convert(event, NEW_EVENTS.api_version)
    assert new["apiVersion"] == "events.k8s.io/v1"
    assert not {"involvedObject", "message", "source"} & set(new)
    assert convert(new, EVENTS.api_version) == event
    assert convert(new, NEW_EVENTS.api_version) == new


@pytest.mark.parametrize(
    ("fields", "translated"),
    [
        ("", ""),
        ("regarding.name=p,type!=Normal", "involvedObject.name=p,type!=Normal"),
        ("reportingController==a", "reportingComponent=a"),
        ("metadata.name=x", "metadata.name=x"),
    ],
)
def test_a_selector_is_said_in_the_words_of_core(fields: str, translated: str) -> None:
    assert translate_selector(fields) == translated


def test_a_selector_of_the_other_form_is_told_the_right_field() -> None:
    with pytest.raises(BadRequest, match="have regarding"):
        translate_selector("involvedObject.name=p")


async def test_each_form_shows_what_the_other_wrote(http: Http) -> None:
    assert (await http.ask("POST", OLD, old_event()))[0] == 201
    code, created, _ = await http.ask("POST", NEW, new_event())
    assert (code, created["apiVersion"], created["note"]) == (201, "events.k8s.io/v1", "it is ready")
    _, new, _ = await http.ask("GET", f"{NEW}/old")
    assert (new["apiVersion"], new["regarding"]["name"], new["deprecatedCount"]) == ("events.k8s.io/v1", "p", 3)
    assert new["deprecatedSource"] == {"component": "kubelet", "host": "laptop"}
    _, old, _ = await http.ask("GET", f"{OLD}/new")
    assert (old["apiVersion"], old["involvedObject"]["name"], old["message"]) == ("v1", "q", "it is ready")
    assert old["reportingComponent"] == "example.org/operator"
    for path, version in ((OLD, "v1"), (NEW, "events.k8s.io/v1")):
        _, found, _ = await http.ask("GET", path)
        assert {(each["metadata"]["name"], each["apiVersion"]) for each in found["items"]} == {
            ("new", version), ("old", version),
        }  # fmt: skip
        assert (found["kind"], found["apiVersion"]) == ("EventList", version)


async def test_each_form_selects_by_its_own_fields(http: Http) -> None:
    await http.ask("POST", OLD, old_event())
    await http.ask("POST", NEW, new_event())
    for path, selector in ((OLD, "involvedObject.name=q"), (NEW, "regarding.name=q")):
        _, found, _ = await http.ask("GET", f"{path}?fieldSelector={selector}")
        assert [each["metadata"]["name"] for each in found["items"]] == ["new"]
    assert (await http.ask("GET", f"{OLD}?fieldSelector=regarding.name=q"))[0] == 400
    assert (await http.ask("GET", f"{NEW}?fieldSelector=involvedObject.name=q"))[0] == 400


async def test_a_watch_has_the_form_that_it_asked_for(http: Http) -> None:
    async with http.stream(f"{NEW}?watch=true&fieldSelector=regarding.name=p") as answer:
        await http.ask("POST", NEW, new_event())
        await http.ask("POST", OLD, old_event())
        first = msgspec.json.decode(await answer.content.readline())
    assert (first["type"], first["object"]["apiVersion"]) == ("ADDED", "events.k8s.io/v1")
    assert first["object"]["note"] == "it started"


async def test_a_change_of_one_form_is_one_of_the_object(http: Http) -> None:
    await http.ask("POST", OLD, old_event())
    merge = {"Content-Type": "application/merge-patch+json"}
    code, patched, _ = await http.ask(
        "PATCH", f"{NEW}/old", data=b'{"note":"again","series":{"count":9}}', headers=merge
    )
    assert (code, patched["note"], patched["regarding"]["name"]) == (200, "again", "p")
    _, old, _ = await http.ask("GET", f"{OLD}/old")
    assert (old["message"], old["series"], old["count"]) == ("again", {"count": 9}, 3)
    same = await http.ask("PATCH", f"{NEW}/old", data=b'{"note":"again"}', headers=merge)
    assert same[1]["metadata"]["resourceVersion"] == old["metadata"]["resourceVersion"]
    code, _, _ = await http.ask("PUT", f"{NEW}/old", {**patched, "note": "third"})
    assert (code, (await http.ask("GET", f"{OLD}/old"))[1]["message"]) == (200, "third")
    assert (await http.ask("DELETE", f"{NEW}/old"))[0] == 200
    assert (await http.ask("GET", f"{OLD}/old"))[0] == 404


async def test_a_new_event_needs_what_its_group_demands(http: Http) -> None:
    """As a real server: the sentences are those of Kubernetes' ValidateEventCreate."""
    event = new_event(deprecatedCount=1)
    del event["action"]
    code, answer, _ = await http.ask("POST", NEW, event)
    causes = {(cause["field"], cause["message"]) for cause in answer["details"]["causes"]}
    assert code == 422
    assert causes == {("action", "Required value"), ("deprecatedCount", "Invalid value: needs to be unset")}
    assert (await http.ask("POST", OLD, old_event()))[0] == 201


async def test_a_table_has_the_same_cells(http: Http) -> None:
    await http.ask("POST", OLD, old_event())
    _, old, _ = await http.ask("GET", OLD, headers=TABLE)
    _, new, _ = await http.ask("GET", NEW, headers=TABLE)
    assert old["columnDefinitions"] == new["columnDefinitions"]
    assert old["rows"][0]["cells"][2:] == new["rows"][0]["cells"][2:]
    assert "pod/p" in new["rows"][0]["cells"]


async def test_its_schema_has_the_new_names(http: Http) -> None:
    _, document, _ = await http.ask("GET", "/openapi/v3/apis/events.k8s.io/v1")
    found = document["components"]["schemas"]["io.k8s.api.events.v1.Event"]
    assert {"regarding", "note", "deprecatedSource"} < set(found["properties"])
    assert "involvedObject" not in found["properties"]
