"""`kubernetes`, the official client of Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from clients.in_pods import run_in_pod
from e2e.commands import Cluster

pytestmark = pytest.mark.slow
Ask = Callable[..., Any]


def test_an_object_is_created_read_replaced_and_deleted(ask: Ask) -> None:
    found = ask("kubernetes", "crud")
    assert (found["replaced"], found["read"]) == ({"a": "2"}, {"a": "2"})
    assert "stale" not in found, "a replace of an older version is a conflict"
    assert (found["deleted"], found["left"]) == ("Success", ["kube-root-ca.crt"])


def test_errors_are_the_clients_own_with_what_is_wrong(ask: Ask) -> None:
    found = ask("kubernetes", "errors")
    assert found["missing"] == [404, "NotFound", 'configmaps "none" not found']
    assert found["again"] == [409, "AlreadyExists", 'configmaps "c" already exists']
    assert found["wrong"][:2] == [422, "Invalid"] and 'metadata.name: Invalid value: "A_B"' in found["wrong"][2]
    assert found["job"][:2] == [422, "Invalid"] and "spec.runPolicy.backoffLimit" in found["job"][2]


def test_a_list_comes_in_pages_and_by_selectors(ask: Ask) -> None:
    found = ask("kubernetes", "pages")
    assert found["pages"] == [["c0", "c1", "c2"], ["c3", "c4", "c5"], ["c6", "kube-root-ca.crt"]]
    assert (found["odd"], found["one"]) == (["c1", "c3", "c5"], ["c5"])


def test_a_watch_begins_at_a_version_and_goes_on_after_a_break(ask: Ask) -> None:
    found = ask("kubernetes", "watching")
    assert found == {"events": [["ADDED", "c"], ["MODIFIED", "c"], ["DELETED", "c"]], "quiet": [], "ended": True}


def test_each_kind_of_patch_that_the_client_sends(ask: Ask) -> None:
    assert ask("kubernetes", "patches") == {"strategic": {"a": "2", "b": "1"}, "json": {"a": "2"}, "merge": {"x": "y"}}


def test_server_side_apply_by_the_dynamic_client(ask: Ask) -> None:
    found = ask("kubernetes", "applying")
    assert found["dropped"] == {"a": "1"}
    assert 'conflict with "first"' in found["conflict"] and ".data.a" in found["conflict"]
    assert (found["forced"], found["job"], found["listed"]) == ({"a": "2"}, "applied", ["applied"])


def test_logs_are_followed(ask: Ask) -> None:
    lines = ["line 1", "line 2", "line 3"]
    assert ask("kubernetes", "logs") == {"followed": lines, "tail": "line 3\n", "exit": 0}


def test_a_command_runs_in_a_pod_over_a_websocket(ask: Ask) -> None:
    assert ask("kubernetes", "entering") == {"out": "got it\n", "err": "oh\n", "exit": 3}


def test_its_election_leads_by_a_lease(ask: Ask) -> None:
    assert ask("kubernetes", "electing") == {"led": ["first"], "holder": "first", "renewed by": ["first"]}


def test_in_a_pod_it_has_the_rights_of_the_pods_account(laptop: Cluster, namespace: str) -> None:
    found = run_in_pod(laptop, namespace, "kubernetes", "in_cluster")
    assert found["who"] == f"system:serviceaccount:{namespace}:reader" and found["listed"] is True
    assert found["secrets"][:2] == [403, "Forbidden"] and 'cannot list resource "secrets"' in found["secrets"][2]
