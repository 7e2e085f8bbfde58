"""Who is told: the routes as they are written, and what is wrong in them; never an address in what is said."""

from __future__ import annotations

import importlib.util
import json
import sys
from typing import Any

import pytest
import yaml

from paddock.jobs.ended import End
from paddock.operator import notice_routes
from paddock.operator.notice_routes import MOST_ROUTES, WrongRoutes, read_routes

URL = "https://hooks.slack.com/services/SECRET"
END = End("demo", "team-a", "Failed", "worker-0 failed", 3.0)


def read(**fields: Any) -> Any:
    (route,) = read_routes(json.dumps([{"url": URL, **fields}]))
    return route


@pytest.mark.parametrize(
    ("fields", "takes"),
    [
        ({}, True),
        ({"namespace": "team-a"}, True),
        ({"namespaces": ["team-b", "team-a"]}, True),
        ({"namespaces": ["team-b"]}, False),
        ({"match": {"phases": ["Failed", "Cancelled"]}}, True),
        ({"match": {"phases": "Completed"}}, False),
        ({"match": {"labels": {"tier": "prod"}}}, True),
        ({"match": {"labels": {"tier": "prod", "x": "y"}}}, False),
        ({"match": None, "namespace": None}, True),
    ],
)
def test_a_route_takes_what_fits_all_of_it(fields: dict[str, Any], takes: bool) -> None:
    assert read(**fields).takes(END, {"tier": "prod"}) is takes


WRONG: dict[str, tuple[Any, str]] = {
    "a map": ({"url": URL}, "a list of at most 200 is wanted"),
    "too many": ([{"url": URL}] * (MOST_ROUTES + 1), "a list of at most 200 is wanted"),
    "a text": ([URL], "route 1 of notices: fields are wanted"),
    "no address": ([{"url": URL}, {}], "route 2 of notices: url is to be a web address with a host"),
    "no host": ([{"url": "https:///SECRET"}], "url is to be a web address with a host"),
    "another scheme": ([{"url": "ftp://h/SECRET"}], "url is to be a web address with a host"),
    "with a line": ([{"url": "https://h/SECRET\nx"}], "url is to be a web address with a host"),
    "in the clear": ([{"url": "http://example.org/SECRET"}], "http:// is allowed for this machine alone"),
    "another field": ([{"url": URL, "uri": "SECRET"}], "found the field 'uri'; match, name, namespace, "),
    "another match": ([{"url": URL, "match": {"phase": "Failed"}}], "found the field 'phase'; labels, phases are"),
    "another phase": ([{"url": URL, "match": {"phases": ["failed"]}}], "found the phase 'failed'; Completed, Failed"),
    "no names": ([{"url": URL, "namespaces": []}], "namespaces has names, or is left out for all"),
    "numbers": ([{"url": URL, "match": {"labels": {"a": 1}}}], "labels are texts: put each in quotes"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named_without_the_address(name: str) -> None:
    raw, said = WRONG[name]
    with pytest.raises(WrongRoutes) as refused:
        read_routes(json.dumps(raw))
    assert said in str(refused.value.said) and "SECRET" not in str(refused.value.said)


@pytest.mark.parametrize(
    "text",
    ["- {url: https://h/SECRET", "\x00SECRET", "SECRET: [", "!!python/object:x {}", "- !!bool SECRET", "[" * 200_000],
)
def test_what_is_no_yaml_is_not_quoted(text: str) -> None:
    with pytest.raises(WrongRoutes) as refused:
        read_routes(text)
    assert str(refused.value) == "the routes of notices are no YAML and no JSON"


@pytest.mark.skipif(not hasattr(yaml, "CSafeLoader"), reason="this PyYAML has no libyaml")
def test_the_parser_is_the_fast_one() -> None:
    assert issubclass(notice_routes._Loader, yaml.CSafeLoader)  # that in Python takes seconds for the largest text


@pytest.mark.slow
def test_a_pyyaml_without_libyaml_reads_them_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    path = notice_routes.__spec__.origin
    assert path is not None
    spec = importlib.util.spec_from_file_location("routes_without_libyaml", path)
    assert spec is not None and spec.loader is not None
    slow = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, slow)
    spec.loader.exec_module(slow)
    assert [route.url for route in slow.read_routes(f"- url: {URL}\n")] == [URL]
    with pytest.raises(slow.WrongRoutes):
        slow.read_routes("[" * 20_000)


def test_this_machine_needs_no_tls_and_an_empty_file_has_no_routes() -> None:
    assert read_routes("") == read_routes("# none yet\n") == read_routes("[]") == ()
    for host in ("localhost:80", "127.0.0.1:9", "[::1]:9"):
        assert read(url=f"http://{host}/x").host == host
    assert "SECRET" not in repr(read())
