"""The console as in a pod, at a real Kubernetes API server: each reader sees and does what their own token may."""

from __future__ import annotations

import asyncio
import html
import json
import os
import re
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from yarl import URL

from paddock.app.consoles.cluster import Options, Shown, run_readers
from paddock.app.health import Address
from paddock.app.home import Home
from paddock.client.kubeconfig import read_server
from paddock.kube.meta import Manifest
from support.deployed import Kubectl
from support.operator_seam import JOBS, build_job
from support.readers import Reader, reading
from support.worlds import ControlPlane, World, create_namespace, open_real, remove_namespace

pytestmark = [pytest.mark.kubernetes]

_SERIAL = count()
FROM_HERE = {"Sec-Fetch-Site": "same-origin"}


@dataclass(frozen=True, slots=True)
class Page:
    status: int
    address: str
    text: str

    def says(self, text: str) -> bool:
        return text in re.sub(r"\s+", " ", self.text)


class Browser:
    """One reader's, with the cookies of one console."""

    def __init__(self, session: Reader) -> None:
        self.session = session

    async def get(self, path: str) -> Page:
        async with self.session.get(path) as answer:
            return Page(answer.status, answer.within, await answer.text())

    async def post(self, path: str, **fields: str) -> Page:
        async with self.session.post(path, data=fields, headers=FROM_HERE) as answer:
            return Page(answer.status, answer.within, await answer.text())

    async def enter(self, token: str) -> None:
        form = {"token": token}
        async with self.session.post("/sign-in", data=form, headers=FROM_HERE, allow_redirects=False) as answer:
            assert answer.status == 303, await answer.text()
            self.session.begin(answer)


@dataclass(frozen=True, slots=True)
class Place:
    """`url`: of the console. `mine`, `theirs`: namespaces, each with a job."""

    url: str
    kubectl: Kubectl
    mine: str
    theirs: str

    @asynccontextmanager
    async def browse(self, token: str = "") -> AsyncIterator[Browser]:
        async with reading(self.url) as session:
            browser = Browser(session)
            if token:
                await browser.enter(token)
            yield browser

    async def let_in(self, name: str, verbs: str, *, everywhere: bool = False) -> str:
        """The token of a new service account that may do this with jobs, in `mine` or everywhere."""
        return await asyncio.to_thread(self._let_in, name, verbs, everywhere)

    def _let_in(self, name: str, verbs: str, everywhere: bool) -> str:
        account = f"{self.mine}:{name}"
        kind, where = ("cluster", ()) if everywhere else ("", ("-n", self.mine))
        self.kubectl("create", "serviceaccount", name, "-n", self.mine)
        rights = (f"--verb={verbs}", f"--resource={JOBS.plural}.{JOBS.group}")
        role = f"{self.mine}-{name}"
        self.kubectl("create", f"{kind}role", role, *where, *rights)
        self.kubectl(
            "create", f"{kind}rolebinding", role, *where, f"--{kind}role={role}", f"--serviceaccount={account}"
        )
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        address = f"/api/v1/namespaces/{self.mine}/serviceaccounts/{name}/token"
        answer = self.kubectl("create", "--raw", address, "-f", "-", stdin=json.dumps(request))
        return str(json.loads(answer)["status"]["token"])


@asynccontextmanager
async def serving(control_plane: ControlPlane, directory: Path) -> AsyncIterator[str]:
    """The console as a pod runs it: with the server's address and certificate, and no credential. Its address."""
    stop, started = asyncio.Event(), asyncio.get_running_loop().create_future()
    server = read_server(str(control_plane.kubeconfig))
    assert (server.token, server.certificate, server.key, server.plugin) == ("", None, None, None)
    options = Options(Address("127.0.0.1", 0))
    home, shown = Home(directory, directory), Shown("prod", " --context prod")
    task = asyncio.create_task(run_readers(server, shown, options, home, stop, started.set_result))
    try:
        yield f"http://{await started}"
    finally:
        stop.set()
        await task


@pytest.fixture
async def place(control_plane: ControlPlane, tmp_path: Path) -> AsyncIterator[Place]:
    async with open_real(control_plane) as world, serving(control_plane, tmp_path) as url:
        theirs = await create_namespace(world.api)
        await _submit(world, world.namespace, "mine")
        await _submit(world, theirs, "theirs")
        yield Place(url, Kubectl(control_plane), world.namespace, theirs)
        await remove_namespace(world.api, theirs)


async def _submit(world: World, namespace: str, name: str) -> Manifest:
    return await world.api.create(JOBS, build_job(name, ps=0, worker=1, namespace=namespace))


async def test_who_has_not_signed_in_sees_nothing_and_a_wrong_token_says_so(place: Place) -> None:
    async with place.browse() as browser:
        asked = await browser.get(f"/jobs/{place.mine}/paddlejobs.{JOBS.group}/mine")
        assert asked.status == 401
        assert asked.says('name="token"')
        wrong = await browser.post("/sign-in", token="no.such.token")
        assert wrong.status == 401
        assert wrong.says("the cluster does not take this token: it is wrong, or it has expired")
        assert (await browser.get("/")).status == 401
        assert (await browser.get("/healthz")).text == "ok\n"


async def test_each_reader_sees_what_their_token_may_see(place: Place) -> None:
    all_rights = await place.let_in("admin", "*", everywhere=True)
    few_rights = await place.let_in("viewer", "get,list,watch")
    async with place.browse(all_rights) as admin, place.browse(few_rights) as viewer:
        seen = await admin.get("/")
        assert seen.status == 200
        assert seen.says(f"/jobs/{place.mine}/") and seen.says(f"/jobs/{place.theirs}/")
        seen = await viewer.get("/")
        assert not seen.says(f"/jobs/{place.mine}/") and not seen.says(f"/jobs/{place.theirs}/")
        assert seen.says("You may not look into all namespaces of this cluster. Name one:")
        assert not seen.says("There is no job yet")
        seen = await viewer.get(f"/?namespace={place.mine}")
        assert seen.says(f"/jobs/{place.mine}/") and not seen.says(place.theirs)
        theirs = await viewer.get(f"/jobs/{place.theirs}/paddlejobs.{JOBS.group}/theirs")
        assert not theirs.says("batch.paddlepaddle.org/v1")
        assert (await viewer.get(f"/?namespace={place.theirs}")).says(f"/jobs/{place.theirs}/") is False


async def test_what_a_viewer_may_not_do_is_refused_with_a_sentence(place: Place) -> None:
    token = await place.let_in("looker", "get,list,watch")
    job = f"/jobs/{place.mine}/paddlejobs.{JOBS.group}/mine"
    async with place.browse(token) as viewer:
        shown = await viewer.get(job)
        assert shown.status == 200
        assert shown.says(f"you may not patch {JOBS.qualified} in namespace {place.mine}"), "greyed, with the reason"
        assert shown.says(f"you may not delete {JOBS.qualified} in namespace {place.mine}")
        refused = await viewer.post(f"{job}/suspend")
        assert refused.status == 403
        assert refused.says("cannot patch resource")
    stored = json.loads(place.kubectl("get", f"paddlejob.{JOBS.group}", "mine", "-n", place.mine, "-o", "json"))
    assert not (stored["spec"].get("runPolicy") or {}).get("suspend")


async def test_a_token_that_is_taken_back_ends_the_session(place: Place) -> None:
    token = await place.let_in("gone", "get,list,watch")
    async with place.browse(token) as reader:
        assert (await reader.get(f"/?namespace={place.mine}")).status == 200
        place.kubectl("delete", "serviceaccount", "gone", "-n", place.mine)
        async with asyncio.timeout(180):
            # a page that nobody has looked at yet asks the API, which remembers a token for ten seconds
            while (page := await reader.get(f"/?namespace=other-{next(_SERIAL)}")).status == 200:
                await asyncio.to_thread(place.kubectl, "get", "--raw", "/version")
        assert page.status == 401
        assert page.says("your session has ended")
        assert (await reader.get(f"/?namespace={place.mine}")).status == 401, "what was cached is not shown any more"


async def test_who_loses_the_right_to_look_is_told_on_the_open_page_and_sees_nothing_more(place: Place) -> None:
    """A server looks at rights when a watch begins: a page begins a new one before the minute is over."""
    token = await place.let_in("loser", "get,list,watch")
    job = f"/jobs/{place.mine}/paddlejobs.{JOBS.group}/mine"
    async with place.browse(token) as reader:
        assert (await reader.get(job)).says("batch.paddlepaddle.org")
        async with reader.session.get(f"/live{job}") as stream:
            place.kubectl("delete", "rolebinding", f"{place.mine}-loser", "-n", place.mine)
            sent = b""
            async with asyncio.timeout(180):
                while b"rights on the cluster do not allow this" not in sent:
                    sent += await stream.content.readany()
        assert (await reader.get(job)).status == 403, "what was cached is not shown any more"


async def test_who_may_do_it_suspends_a_job(place: Place) -> None:
    token = await place.let_in("editor", "get,list,watch,patch")
    job = f"/jobs/{place.mine}/paddlejobs.{JOBS.group}/mine"
    async with place.browse(token) as editor:
        shown = await editor.get(job)
        assert not shown.says("you may not patch")
        assert shown.says(f"you may not delete {JOBS.qualified} in namespace {place.mine}")
        assert (await editor.post(f"{job}/suspend")).address == job
    stored = json.loads(place.kubectl("get", f"paddlejob.{JOBS.group}", "mine", "-n", place.mine, "-o", "json"))
    assert stored["spec"]["runPolicy"]["suspend"] is True


async def test_signing_out_forgets_the_token(place: Place) -> None:
    token = await place.let_in("leaver", "get,list,watch")
    async with place.browse(token) as reader:
        (copied,) = reader.session.cookie_jar
        assert (await reader.post("/sign-out")).address == "/sign-in"
        assert (await reader.get("/")).status == 401
        async with reader.session.get("/", headers={"Cookie": f"{copied.key}={copied.value}"}) as answer:
            assert answer.status == 401, "a copy of the cookie is worth nothing"


async def test_a_context_is_served_with_the_rights_of_its_user(
    control_plane: ControlPlane, place: Place, tmp_path: Path
) -> None:
    """`paddock console --context … --url`: the link alone; Ctrl-C ends it."""
    context = place.kubectl("config", "current-context").strip()
    words = ("console", "--kubeconfig", str(control_plane.kubeconfig), "--context", context, "--url")
    async with started(tmp_path, *words) as process, asyncio.timeout(60):
        assert process.stdout is not None
        link = (await process.stdout.readline()).decode().strip()
        async with reading(URL(link).origin()) as session:
            assert (await session.enter(link)).following == "/"
            async with session.get("/") as answer:
                text = await answer.text()
            assert f"/jobs/{place.mine}/" in text
            assert f"/jobs/{place.theirs}/" in text
            async with session.get(f"/jobs/{place.mine}/paddlejobs.{JOBS.group}/mine") as answer:
                text = await answer.text()
        assert f"--kubeconfig {control_plane.kubeconfig} --context {context}" in html.unescape(text), "in its commands"
        process.send_signal(signal.SIGINT)
        _, said = await process.communicate()
    assert (process.returncode, b"Traceback" in said) == (130, False), said.decode()
    assert not (tmp_path / "home" / "cluster.json").exists(), "no local cluster was started"


@asynccontextmanager
async def started(directory: Path, *words: str) -> AsyncIterator[Process]:
    """`paddock` with these words; it is killed at the end if it still runs."""
    environment = {"PATH": os.environ["PATH"], "PADDOCK_HOME": str(directory / "home"), "LANG": "C.UTF-8"}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "paddock.cli.main", *words, env=environment, stdout=PIPE, stderr=PIPE
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()
