"""Suspend, resume, cancel, clone and delete: typed, and by the buttons of the console, as a browser sends them."""

from __future__ import annotations

import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from http.cookiejar import CookieJar, DefaultCookiePolicy

import pytest

from e2e.commands import Cluster, until
from e2e.manifests import build_light_job

GOING = "echo ready; exec sleep 1000"
Press = Callable[..., tuple[int, str]]


@pytest.fixture
def job(served: Cluster, request: pytest.FixtureRequest) -> str:
    """The name of a job that runs."""
    name = request.node.name.partition("[")[0].removeprefix("test_").replace("_", "-")[:30]
    assert served.paddock("submit", served.write(build_light_job(name, GOING))).code == 0
    until("it runs", lambda: served.phase(name) == "Running")
    return name


@pytest.fixture
def press(served: Cluster) -> Press:
    """A signed-in browser without scripts: what a page says, or what a button does. (status, text), with addresses as
    they are within the session."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar(DefaultCookiePolicy())))
    with opener.open(served.link()) as entered:
        base = entered.url.rstrip("/")
    root = urllib.parse.urlsplit(base).path

    def send(path: str, **posted: str) -> tuple[int, str]:
        data = urllib.parse.urlencode(posted).encode() if posted else None
        request = urllib.request.Request(f"{base}{path}", data, headers={"Sec-Fetch-Site": "same-origin"})
        try:
            with opener.open(request) as answer:
                return answer.status, answer.read().decode().replace(root, "")
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode().replace(root, "")

    return send


def address(name: str, page: str = "") -> str:
    return f"/jobs/default/paddlejobs.batch.paddlepaddle.org/{name}{page}"


def test_typed(served: Cluster, job: str) -> None:
    assert str(served.paddock("suspend", job)).startswith(f"exit code 0\n--- stdout\npaddlejob/{job} suspended\n")
    assert served.phase(job) == "Suspended"
    assert not [pod for pod in served.pods(job).values() if pod["status"]["phase"] not in ("Succeeded", "Failed")]
    until("its pods are deleted, which follows their end", lambda: not served.pods(job))
    assert served.paddock("suspend", job).lines == [f"{job} is suspended already"]
    assert served.paddock("resume", f"paddlejob/{job}").lines == [f"paddlejob/{job} resumed"]
    until("it runs again", lambda: served.phase(job) == "Running")
    assert served.paddock("cancel", job).lines == [f"paddlejob/{job} cancelled"]
    assert served.phase(job) == "Failed" and "cancelled by " in served.paddock("explain", job).out
    refused = served.paddock("resume", job)
    assert (refused.code, refused.err) == (2, f"{job} has ended\n")
    cloned = served.paddock("clone", job)
    assert cloned.lines == [f"paddlejob/{job}-2 created"]
    until("its clone runs", lambda: served.phase(f"{job}-2") == "Running")
    taken = served.paddock("clone", job, job)
    assert taken.code == 2
    assert taken.err == (f"paddlejob/{job} exists already: `paddock clone {job} {job}-3` takes a name that is free\n")
    printed = served.paddock("clone", job, "other", "--print").out
    assert "name: other" in printed and "paddock.dev/cancel" not in printed and "status" not in printed
    assert served.paddock("cancel", f"{job}-2", "nope").code == 2
    assert served.phase(f"{job}-2") == "Running", "all names are looked up before one is cancelled"
    assert served.paddock("delete", job, f"{job}-2", "--now").code == 0


def test_pressed(served: Cluster, job: str, press: Press) -> None:
    code, page = press(address(job, "/suspend"), sent="1")
    assert code == 200 and f'action="{address(job)}/resume"' in page, "the page of the job, where it goes on"
    until("it rests", lambda: served.phase(job) == "Suspended")
    press(address(job, "/resume"), sent="1")
    until("it runs again", lambda: served.phase(job) == "Running")
    assert "it never trains again" in press(address(job, "/cancel"))[1]
    press(address(job, "/cancel"), sent="1")
    until("it has ended", lambda: served.phase(job) == "Failed")
    code, page = press(address(job, "/suspend"), sent="1")
    assert code == 409 and f"{job} has ended" in page and f'href="{address(job)}"' in page
    assert "cancelled by " in press(address(job))[1]
    assert "name: " + job + "-2" in press(f"/new?from=default/paddlejobs.batch.paddlepaddle.org/{job}")[1]


def test_deleted(served: Cluster, job: str, press: Press) -> None:
    page = press(address(job, "/delete"))[1]
    assert "1 pod" in page and "its outputs and checkpoints" in page and f"paddock delete paddlejob/{job}" in page
    code, page = press(address(job, "/delete"), name="deletd")
    assert code == 200 and "nothing was deleted: found &#39;deletd&#39;" in page
    code, page = press(address(job, "/delete"), name=job, uid="of-another")
    assert "this is another job of the same name" in page and served.phase(job) == "Running"
    code, page = press(address(job, "/delete"), name=f" {job} ")
    assert code == 200
    until("it is gone", lambda: served.paddock("get", "jobs", job).code == 2)
    assert press(address(job, "/delete"))[0] == 404
