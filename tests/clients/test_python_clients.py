"""kubernetes_asyncio, lightkube and kr8s."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from clients.in_pods import run_in_pod
from e2e.commands import Cluster

pytestmark = pytest.mark.slow
Ask = Callable[..., Any]

CHANGES = [["ADDED", "c"], ["MODIFIED", "c"], ["DELETED", "c"]]
LINES = ["line 1", "line 2", "line 3"]
CERTIFICATE = "kube-root-ca.crt"
"""A ConfigMap that each namespace has."""


@pytest.mark.parametrize("client", ["kubernetes_asyncio", "lightkube", "kr8s"])
def test_in_a_pod_it_has_the_rights_of_the_pods_account(client: str, laptop: Cluster, namespace: str) -> None:
    found = run_in_pod(laptop, namespace, client, "in_cluster")
    assert found["listed"] == [CERTIFICATE]
    assert found["secrets"][0] == 403 and 'cannot list resource "secrets"' in found["secrets"][-1]


class TestKubernetesAsyncio:
    def test_an_object_is_created_replaced_listed_and_deleted(self, ask: Ask) -> None:
        found = ask("kubernetes_asyncio", "crud")
        assert found == {"replaced": {"a": "2"}, "none": [], "missing": [404, 'configmaps "c" not found']}

    def test_each_kind_of_patch_that_the_client_sends(self, ask: Ask) -> None:
        found = ask("kubernetes_asyncio", "patches")
        assert (found["dict"], found["list"]) == ({"a": "2", "b": "1"}, {"a": "2"})
        # It calls a dict for a custom object a JSON patch, which a real server refuses too.
        assert found["custom"] == [400, "a JSON patch is a list of operations: found an object"]
        assert (found["merged"], found["applied"]) == ({"x": "y"}, "me")

    def test_a_watch_goes_on_from_where_another_one_ended(self, ask: Ask) -> None:
        assert ask("kubernetes_asyncio", "watching") == CHANGES

    def test_logs_are_followed(self, ask: Ask) -> None:
        assert ask("kubernetes_asyncio", "logs") == LINES

    def test_a_command_runs_in_a_pod_over_a_websocket(self, ask: Ask) -> None:
        assert ask("kubernetes_asyncio", "entering") == {"out": "out\n", "exit": 3}

    def test_its_election_leads_by_a_lease(self, ask: Ask) -> None:
        assert ask("kubernetes_asyncio", "electing") == {"led": ["led"], "holder": "first"}


class TestLightkube:
    def test_an_object_is_created_replaced_and_deleted(self, ask: Ask) -> None:
        found = ask("lightkube", "crud")
        assert (found["replaced"], found["stale"][:2]) == ({"a": "2"}, [409, "Conflict"])
        assert found["missing"] == [404, "NotFound", 'configmaps "c" not found']

    def test_a_list_comes_in_pages_and_by_selectors(self, ask: Ask) -> None:
        found, made = ask("lightkube", "pages"), [f"c{number}" for number in range(7)]
        assert (found["all"], found["has"]) == ([*made, CERTIFICATE], made)
        assert (found["odd"], found["one"]) == (["c1", "c3", "c5"], ["c5"])

    def test_a_watch_begins_at_the_version_of_a_list(self, ask: Ask) -> None:
        assert ask("lightkube", "watching") == CHANGES

    def test_each_kind_of_patch_that_the_client_sends(self, ask: Ask) -> None:
        found = ask("lightkube", "patches")
        assert (found["strategic"], found["json"]) == ({"a": "2", "b": "1"}, {"a": "2"})
        assert (found["merge"], found["custom"][:2]) == ({"x": "y"}, [415, "UnsupportedMediaType"])

    def test_server_side_apply(self, ask: Ask) -> None:
        found = ask("lightkube", "applying")
        assert (found["dropped"], found["forced"], found["job"]) == ({"a": "1"}, {"a": "2"}, 1)
        assert found["conflict"][:2] == [409, "Conflict"] and 'conflict with "first"' in found["conflict"][2]
        assert (found["dry"], found["stored"][0]) == ("never", 404)

    def test_kinds_are_read_from_the_definitions_of_the_cluster(self, ask: Ask) -> None:
        assert ask("lightkube", "definitions") == {"scale": 1, "workers": 2}

    def test_a_pod_is_waited_for_and_its_log_followed(self, ask: Ask) -> None:
        assert ask("lightkube", "logs") == LINES

    def test_a_command_runs_in_a_pod(self, ask: Ask) -> None:
        assert ask("lightkube", "entering") == {"out": "got it\n", "err": "oh\n", "exit": 3}


class TestKr8s:
    def test_an_object_is_created_patched_labelled_and_deleted(self, ask: Ask) -> None:
        found = ask("kr8s", "crud")
        assert (found["data"], found["labels"], found["annotations"]) == ({"a": "2"}, {"team": "a"}, {"note": "first"})
        assert (found["exists"], found["missing"]) == (False, "NotFoundError")

    def test_an_error_is_the_clients_own_with_what_is_wrong(self, ask: Ask) -> None:
        assert ask("kr8s", "errors") == [409, 'configmaps "c" already exists']

    def test_lists_by_kind_short_name_class_and_selector(self, ask: Ask) -> None:
        found = ask("kr8s", "lists")
        assert (found["odd"], found["one"]) == (["c1", "c3"], ["c2"])
        assert found["jobs"] == found["class"] == ["j"]
        assert (found["version"], found["whoami"], found["resource"]) == ("1", "paddock", True)

    def test_a_watch_tells_what_is_there_and_then_what_changes(self, ask: Ask) -> None:
        found = ask("kr8s", "watching")
        assert found == [["ADDED", "before"], ["ADDED", CERTIFICATE], *CHANGES]

    def test_a_pod_is_waited_for_read_entered_and_reached(self, ask: Ask) -> None:
        found = ask("kr8s", "running")
        assert (found["ready"], found["logs"]) == (True, LINES)
        assert (found["exec"], found["exit"], found["page"]) == ([0, "out\n", "oh\n"], 3, "page\n")

    def test_a_job_is_resumed_and_waited_for(self, ask: Ask) -> None:
        found = ask("kr8s", "jobs")
        assert {"Created", "Suspended", "Succeeded"} <= set(found["conditions"]) and found["pods"] == ["j-worker-0"]

    def test_it_works_with_asyncio(self, ask: Ask) -> None:
        assert ask("kr8s", "asynchronous") == ["c", CERTIFICATE]
