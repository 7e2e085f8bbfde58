"""Requests and limits of a job as lines of its charts."""

from __future__ import annotations

from typing import Any

from paddock.console.charts.asked import Asked, read_asked
from paddock.jobs.model import Role


def build_role(name: str, *resources: dict[str, Any]) -> Role:
    return Role(name, 2, {"spec": {"containers": [{"resources": each} for each in resources]}})


ONE = build_role("worker", {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"cpu": 2}})


def test_each_amount_is_a_line() -> None:
    assert read_asked([ONE], ["worker-0"]) == {
        "cpu": [Asked(("worker",), False, 0.5), Asked(("worker",), True, 2.0)],
        "memory": [Asked(("worker",), False, 2.0**30)],
    }


def test_a_request_that_is_its_limit_is_the_limit_alone() -> None:
    role = build_role("worker", {"requests": {"cpu": "2000m"}, "limits": {"cpu": 2}})
    assert read_asked([role], ["worker-0"])["cpu"] == [Asked(("worker",), True, 2.0)]


def test_containers_of_a_pod_are_summed_and_have_no_bound_where_one_has_none() -> None:
    both = build_role("worker", {"limits": {"cpu": 1, "memory": "1Gi"}}, {"limits": {"cpu": 2}})
    assert read_asked([both], ["worker-0"]) == {"cpu": [Asked(("worker",), True, 3.0)], "memory": []}


def test_roles_with_the_same_amount_have_one_line_and_those_that_are_not_drawn_none() -> None:
    roles = [ONE, build_role("Master", {"limits": {"cpu": 2}}), build_role("ps", {"limits": {"cpu": 9}})]
    found = read_asked(roles, ["master-0", "worker-1"])["cpu"]
    assert found[-1] == Asked(("worker", "Master"), True, 2.0) and len(found) == 2


def test_what_is_no_quantity_is_no_line() -> None:
    assert read_asked([build_role("worker", {"limits": {"cpu": "two", "memory": "0"}})], ["worker-0"]) == {
        "cpu": [],
        "memory": [],
    }
