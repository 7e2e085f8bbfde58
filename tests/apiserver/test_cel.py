"""CEL rules of custom kinds as a client of the API meets them: refused, warned of, never stalled."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

import pytest

from apiserver.embedded import WIDGETS, Http, widget, widget_crd
from paddock.apiserver.objects.cel_runner import MOST_STALLS, CelRunner, is_installed
from paddock.apiserver.objects.in_process import LocalApi
from paddock.kube.errors import Invalid
from paddock.kube.meta import CRDS
from support.waiting import until

WIDGETS_PATH = "/apis/example.org/v1/namespaces/default/widgets"
CRDS_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
needs_cel = pytest.mark.skipif(
    not is_installed(), reason="the extra `cel` is not installed: its library has no wheel here"
)
# Thousands of long patterns on a long text: nothing counts it but the clock.
ENDLESS = "!has(self.names) || self.names.all(x, self.names.all(y, self.text.matches('(a|b|ab)*c(d|e)*' + y) || true))"


def definition(*rules: Any, **properties: Any) -> dict[str, Any]:
    crd = widget_crd()
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    spec = schema["properties"]["spec"]
    spec["properties"] |= {
        "text": {"type": "string"}, "names": {"type": "array", "items": {"type": "string"}}, **properties,
    }  # fmt: skip
    spec["x-kubernetes-validations"] = [{"rule": one} if isinstance(one, str) else one for one in rules]
    return crd


async def define(http: Http, *rules: Any, **properties: Any) -> tuple[int, Any, list[str]]:
    crd = definition(*rules, **properties)
    _, stored, _ = await http.ask("GET", f"{CRDS_PATH}/widgets.example.org")
    crd["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"]
    status, answer, headers = await http.ask("PUT", f"{CRDS_PATH}/widgets.example.org", crd)
    return status, answer, headers.getall("Warning", [])


async def create(http: Http, name: str, **spec: Any) -> tuple[int, Any, list[str]]:
    status, answer, headers = await http.ask("POST", WIDGETS_PATH, widget(name, **spec))
    return status, answer, headers.getall("Warning", [])


async def merge(http: Http, name: str, patch: Any, subresource: str = "") -> tuple[int, Any, list[str]]:
    kind = {"Content-Type": "application/merge-patch+json"}
    path = f"{WIDGETS_PATH}/{name}{subresource}"
    status, answer, headers = await http.ask("PATCH", path, patch, headers=kind)
    return status, answer, headers.getall("Warning", [])


@needs_cel
async def test_an_object_is_refused_warned_of_and_compared_with_what_it_was(http: Http) -> None:
    status, _, warnings = await define(
        http,
        {"rule": "!has(self.replicas) || self.replicas <= self.size", "message": "more replicas than its size"},
        {"rule": "!has(oldSelf.text) || self.text == oldSelf.text", "messageExpression": "'was ' + oldSelf.text"},
        "self.notYetInvented() || true",
    )
    assert status == 200
    assert [text for text in warnings if "x-kubernetes-validations[2].rule is not evaluated here" in text], warnings

    status, answer, _ = await create(http, "a", replicas=9)
    assert (status, answer["reason"]) == (422, "Invalid")
    said = 'spec: Invalid value: "object": more replicas than its size'
    assert answer["message"] == f'Widget.example.org "a" is invalid: {said}'
    cause = {"reason": "FieldValueInvalid", "message": said.removeprefix("spec: "), "field": "spec"}
    assert answer["details"]["causes"] == [cause]

    status, _, warnings = await create(http, "a", replicas=2, text="one")
    assert status == 201
    assert any("'self.notYetInvented() || true' of spec was not evaluated" in text for text in warnings), warnings
    assert (await merge(http, "a", {"spec": {"text": "two"}}))[1]["details"]["causes"][0]["message"].endswith("was one")
    assert (await merge(http, "a", {"spec": {"replicas": 3}}))[0] == 200
    assert (await merge(http, "a", {"spec": {"replicas": 4}}))[0] == 422
    assert (await merge(http, "a", {"spec": {"replicas": 4}}, "/scale"))[0] == 422
    assert (await merge(http, "a", {"status": {"ready": True}}, "/status"))[0] == 200
    # Who defines a rule later refuses nothing that is there already and does not change.
    await define(http, "self.size > 100")
    status, _, warnings = await merge(http, "a", {"metadata": {"labels": {"a": "b"}}})
    assert (status, ['spec: Invalid value: \\"object\\": failed rule: self.size > 100' in warnings[0]]) == (200, [True])
    assert (await merge(http, "a", {"spec": {"size": 4}}))[0] == 422


@needs_cel
async def test_a_rule_that_is_no_cel_is_refused_with_its_definition(http: Http) -> None:
    for rule, said in (("self.size >", "Syntax error"), ("'text'", "must evaluate to a bool")):
        status, answer, _ = await define(http, rule)
        (cause,) = answer["details"]["causes"]
        path = "spec.versions[0].schema.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule"
        assert (status, cause["field"], said in cause["message"]) == (422, path, True)
    assert (await define(http, {"rule": " "}))[0] == 422


@needs_cel
async def test_a_rule_without_an_end_stalls_nobody_and_is_given_up(widgets: LocalApi) -> None:
    objects = widgets.objects
    objects.rules = CelRunner(cpu_seconds=0.2)
    await widgets.delete(CRDS, "", "widgets.example.org")
    await widgets.create(CRDS, definition(ENDLESS, "self.size < 5"))
    served = objects.served(WIDGETS)
    spec = {"names": [f"x{n}" for n in range(90)], "text": "ab" * 200_000, "size": 3}
    asked = asyncio.ensure_future(objects.create(served, widget("a", **spec), namespace="default"))
    await until(lambda: objects.rules.pid is not None)
    await widgets.list(WIDGETS, "default")  # others are served meanwhile
    for number in range(MOST_STALLS):
        answer = await asked if number == 0 else await objects.create(
            served, widget(f"b{number}", **spec), namespace="default"
        )  # fmt: skip
        assert "it took more than 0.2 s of CPU" in answer.warnings[0], answer.warnings
        assert "ended before it came to it" in answer.warnings[1]
        assert objects.rules.pid is None
    # It is not asked a third time, and the other rule is evaluated again.
    answer = await objects.create(served, widget("c", **spec), namespace="default")
    assert len(answer.warnings) == 1 and "it took more than" in answer.warnings[0]
    with pytest.raises(Invalid, match=r"failed rule: self\.size < 5"):
        await objects.create(served, widget("d", **spec | {"size": 5}), namespace="default")


@needs_cel
async def test_a_child_that_is_killed_is_started_again(widgets: LocalApi) -> None:
    await widgets.delete(CRDS, "", "widgets.example.org")
    await widgets.create(CRDS, definition(ENDLESS, "self.size < 5"))
    objects = widgets.objects
    served = objects.served(WIDGETS)
    spec = {"names": [f"x{n}" for n in range(90)], "text": "ab" * 200_000, "size": 3}
    asked = asyncio.ensure_future(objects.create(served, widget("a", **spec), namespace="default"))
    await until(lambda: objects.rules.pid is not None)
    os.kill(objects.rules.pid or 0, signal.SIGKILL)
    assert any("was not evaluated" in text for text in (await asked).warnings)
    # Idle, it may be killed too: the next object has another.
    assert (await objects.create(served, widget("b", size=3), namespace="default")).warnings == ()
    os.kill(objects.rules.pid or 0, signal.SIGKILL)
    await until(lambda: objects.rules.pid is None)
    with pytest.raises(Invalid, match=r"failed rule: self\.size < 5"):
        await objects.create(served, widget("c", size=5), namespace="default")
    # Who goes away while it computes leaves no answer behind for the next.
    asked = asyncio.ensure_future(objects.create(served, widget("d", **spec), namespace="default"))
    await asyncio.sleep(0)
    asked.cancel()
    assert (await objects.create(served, widget("e", size=3), namespace="default")).warnings == ()


async def test_without_cel_a_warning_names_the_rules_and_what_to_install(http: Http, widgets: LocalApi) -> None:
    widgets.objects.rules = CelRunner(installed=lambda: False)
    status, _, warnings = await define(http, "self.size < 5", "self.size >")
    assert (status, len(warnings), "pip install 'paddock-jobs[cel]'" in warnings[0]) == (200, 1, True)
    status, _, (warning,) = await create(http, "a", size=9)
    assert status == 201
    assert "rule 'self.size < 5' of spec" in warning and "pip install 'paddock-jobs[cel]'" in warning
    assert widgets.objects.rules.pid is None
    # What needs no CEL to be found is refused here too.
    assert (await define(http, {"rule": "self.size < 5", "reason": "Odd"}))[0] == 422


async def test_kinds_without_rules_start_no_child(http: Http, widgets: LocalApi) -> None:
    status, _, warnings = await create(http, "a", size=9)
    assert (status, warnings) == (201, [])
    assert widgets.objects.rules.pid is None
