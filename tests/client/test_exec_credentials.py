"""Requests with what a credential plug-in gives: real scripts, and servers that take the right token or certificate."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from cryptography.hazmat.primitives import serialization

from client.plugins import build_answer, build_plugin, count_runs, write_script
from client.test_client import page, pod, refusal
from client.tls_server import make_certificate, serve
from paddock.client.client import Client
from paddock.client.connection import Connection
from paddock.client.credentials import open_credentials
from paddock.client.errors import ConfigError, PluginError, Said
from paddock.client.exec_credentials import PluginCredentials
from paddock.client.exec_plugin import ExecPlugin
from paddock.client.identity import Credential
from paddock.client.kubeconfig import Config
from paddock.client.requests import build, build_watch
from paddock.kube.calls import Get, List
from paddock.kube.errors import Unauthorized, Unavailable
from paddock.kube.meta import PODS
from paddock.kube.times import format_time
from support.waiting import until

START = 1_900_000_000.0
ONE, TWO, THREE = (f"k8s-token-{number}-0123456789abcdef" for number in "123")
GET = build(Get(PODS, "n", "a"))


@dataclass
class Guard:
    """A server that takes some tokens. `seen`: the token of each request."""

    taken: set[str]
    seen: list[str] = field(default_factory=list)
    held: list[str] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        self.seen.append(token)
        if token not in self.taken:
            return refusal(401, "Unauthorized")
        if "watch" not in request.query:
            return web.json_response(pod("a"))
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"{}")
        self.held.append(token)
        await asyncio.Event().wait()
        raise AssertionError


class Plugin:
    """A plug-in whose answer a test changes. It counts its runs, and waits while there is a file `wait`."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.answer = directory, directory / "answer"
        self.script = write_script(
            directory / "plugin",
            f"os.chdir({str(directory)!r})",
            "open('runs', 'a').write('run\\n')",
            "while os.path.exists('wait'): time.sleep(0.01)",
            "if os.path.exists('fails'): sys.exit(open('fails').read())",
            "print(open('answer').read())",
        )

    @property
    def runs(self) -> int:
        return count_runs(self.directory)

    def gives(self, **status: Any) -> None:
        (self.directory / "fails").unlink(missing_ok=True)
        self.answer.write_text(json.dumps(build_answer(**status)))

    def gives_token(self, token: str, until: float | None = None) -> None:
        self.gives(token=token, **({} if until is None else {"expirationTimestamp": format_time(until)}))

    def fails(self, why: str) -> None:
        (self.directory / "fails").write_text(why)

    def waits(self) -> None:
        (self.directory / "wait").touch()

    def goes_on(self) -> None:
        (self.directory / "wait").unlink()

    async def until_runs(self, count: int) -> None:
        async def look() -> bool:
            return self.runs >= count

        await until(look)


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    return Plugin(tmp_path)


def with_plugin(config: Config, plugin: Plugin) -> Config:
    return replace(config, token="", plugin=build_plugin(command=str(plugin.script)))


@dataclass
class Scene:
    """A connection with a plug-in, at a moment of a virtual clock. `told`: the notices."""

    connection: Connection
    credentials: PluginCredentials
    now: list[float]
    told: list[str]

    async def get(self) -> None:
        await self.connection.send(GET)

    async def settle(self) -> None:
        """Until no plug-in runs."""

        async def idle() -> bool:
            return self.credentials._running is None or self.credentials._running.done()

        await until(idle)


@asynccontextmanager
async def connected(config: Config, plugin: Plugin) -> AsyncIterator[Scene]:
    now, told = [START], list[str]()
    credentials = PluginCredentials(
        build_plugin(command=str(plugin.script)), now=lambda: now[0], notify=lambda said: told.append(str(said))
    )
    connection = Connection(replace(config, token=""), credentials=credentials)
    await connection.open()
    try:
        async with asyncio.timeout(120):
            yield Scene(connection, credentials, now, told)
    finally:
        await connection.close()
        await credentials.close()


async def test_many_requests_wait_for_one_run(plugin: Plugin, tmp_path: Path) -> None:
    guard = Guard({ONE})
    plugin.gives_token(ONE, START + 900)
    async with serve(guard.handle, tmp_path) as config, connected(config, plugin) as scene:
        await asyncio.gather(*(scene.get() for _ in range(50)))
        await scene.get()
    assert (guard.seen, plugin.runs) == ([ONE] * 51, 1)


async def test_after_a_401_it_runs_once_and_the_request_is_sent_again(plugin: Plugin, tmp_path: Path) -> None:
    """A credential without an end is used until then."""
    guard = Guard({ONE})
    plugin.gives_token(ONE)
    async with serve(guard.handle, tmp_path) as config, connected(config, plugin) as scene:
        await scene.get()
        scene.now[0] += 1e6
        await scene.get()
        assert plugin.runs == 1
        guard.taken = {TWO}
        plugin.gives_token(TWO)
        await asyncio.gather(*(scene.get() for _ in range(10)))
    assert plugin.runs == 2
    assert set(guard.seen[2:12]) == {ONE} and guard.seen[12:] == [TWO] * 10


async def test_a_credential_that_the_server_never_takes_is_not_asked_for_at_each_request(
    plugin: Plugin, tmp_path: Path
) -> None:
    guard = Guard(set())
    plugin.gives_token(ONE, START + 900)
    async with serve(guard.handle, tmp_path) as config, connected(config, plugin) as scene:
        for _ in range(5):
            with pytest.raises(Unauthorized) as caught:
                await scene.get()
            assert not isinstance(caught.value, PluginError)
        assert (plugin.runs, len(guard.seen)) == (2, 5)
        scene.now[0] += 60
        plugin.gives_token(TWO, START + 900)
        guard.taken = {TWO}
        await scene.get()
    assert (plugin.runs, scene.told) == (3, [])


async def test_it_is_renewed_before_its_end_while_requests_go_on(plugin: Plugin, tmp_path: Path) -> None:
    guard = Guard({ONE, TWO})
    plugin.gives_token(ONE, START + 900)
    async with serve(guard.handle, tmp_path) as config, connected(config, plugin) as scene:
        await scene.get()
        plugin.gives_token(TWO, START + 1800)
        scene.now[0] = START + 850
        plugin.waits()
        await scene.get()
        await scene.get()
        await plugin.until_runs(2)
        await scene.get()
        plugin.goes_on()
        await scene.settle()
        await scene.get()
    assert (guard.seen, plugin.runs) == ([ONE] * 4 + [TWO], 2)


async def test_a_renewal_that_fails_leaves_the_old_one_until_its_end(plugin: Plugin, tmp_path: Path) -> None:
    guard = Guard({ONE, TWO})
    plugin.gives_token(ONE, START + 900)
    async with serve(guard.handle, tmp_path) as config, connected(config, plugin) as scene:
        await scene.get()
        plugin.fails("signed out")
        for seconds in (850, 870, 890):
            scene.now[0] = START + seconds
            await scene.get()
            await scene.settle()
        assert guard.seen == [ONE] * 4 and plugin.runs > 2
        (told,) = scene.told
        assert told.startswith(f"cannot renew the credential, which ends at {format_time(START + 900)}; trying again: ")
        assert "failed with exit code 1" in told and "signed out" in told
        scene.now[0] = START + 990
        with pytest.raises(PluginError, match="signed out"):
            await scene.get()
        plugin.gives_token(TWO, START + 1800)
        scene.now[0] += 60
        await scene.get()
        assert len(scene.told) == 1
        plugin.fails("signed out")
        scene.now[0] = START + 1750
        await scene.get()
        await scene.settle()
    assert guard.seen == [ONE] * 4 + [TWO] * 2
    assert len(scene.told) == 2, "another failure is another notice"


async def test_a_plugin_that_fails_at_first_fails_the_request_which_is_not_sent(plugin: Plugin, tmp_path: Path) -> None:
    guard = Guard({ONE})
    plugin.fails("signed out")
    async with serve(guard.handle, tmp_path) as config, connected(config, plugin) as scene:
        for _ in range(3):
            with pytest.raises(PluginError) as caught:
                await scene.get()
        assert str(plugin.script) in str(caught.value) and str(caught.value).endswith("It wrote:\nsigned out")
    assert (guard.seen, plugin.runs, scene.told) == ([], 1, [])


@dataclass
class FakeFetch:
    """Gives credentials that last 900 s. `lent`: whether each run had the terminal; `detached`: its own session."""

    now: list[float]
    lent: list[bool] = field(default_factory=list)
    detached: list[bool] = field(default_factory=list)

    async def __call__(self, plugin: ExecPlugin, *, terminal: bool, detached: bool) -> Credential:
        self.lent.append(terminal)
        self.detached.append(detached)
        return Credential(f"token-{len(self.lent)}", expires=self.now[0] + 900)


@pytest.mark.parametrize(
    ("mode", "interactive", "lent"),
    [
        pytest.param("IfAvailable", True, [True, False, True], id="a renewal before the end asks nobody"),
        pytest.param("Always", True, [True, True], id="one that always asks is not renewed before the end"),
        pytest.param("IfAvailable", False, [False, False, False], id="an operator lends nothing"),
    ],
)
async def test_the_terminal_is_lent_while_a_request_waits(mode: Any, interactive: bool, lent: list[bool]) -> None:
    now = [START]
    fetch = FakeFetch(now)
    credentials = PluginCredentials(build_plugin(mode=mode), interactive=interactive, now=lambda: now[0], fetch=fetch)
    for seconds in (0, 850, 900 if mode == "Always" else 1750):
        now[0] = START + seconds
        await credentials.get()
        await asyncio.sleep(0)
    assert fetch.lent == lent and set(fetch.detached) == {not interactive}
    await credentials.close()


async def test_a_request_that_is_cancelled_does_not_end_the_run_of_the_others(plugin: Plugin, tmp_path: Path) -> None:
    guard = Guard({ONE})
    plugin.gives_token(ONE)
    plugin.waits()
    async with serve(guard.handle, tmp_path) as config, connected(config, plugin) as scene:
        first, second = asyncio.create_task(scene.get()), asyncio.create_task(scene.get())
        await plugin.until_runs(1)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        plugin.goes_on()
        await second
    assert (guard.seen, plugin.runs) == ([ONE], 1)


async def test_who_closes_the_connection_ends_the_run(plugin: Plugin, tmp_path: Path) -> None:
    """The guard of all tests finds a process that is left."""
    plugin.waits()
    async with serve(Guard(set()).handle, tmp_path) as config:
        async with Client(with_plugin(config, plugin)) as api:
            request = asyncio.ensure_future(api.get(PODS, "n", "a"))
            await plugin.until_runs(1)
        with pytest.raises(Unavailable, match="the connection was closed"):
            await request


async def test_a_watch_goes_on_with_the_old_token_and_the_next_takes_the_new_one(
    plugin: Plugin, tmp_path: Path
) -> None:
    guard = Guard({ONE})
    plugin.gives_token(ONE, START + 900)
    watch = build_watch(List(PODS), "1", seconds=60)
    async with serve(guard.handle, tmp_path) as config, connected(config, plugin) as scene:
        first = scene.connection.stream(watch)
        await anext(first)
        guard.taken = {TWO}
        plugin.gives_token(TWO, START + 1800)
        scene.now[0] += 900
        second = scene.connection.stream(watch)
        await anext(second)
        assert guard.held == [ONE, TWO]
        await first.aclose()  # type: ignore[attr-defined]
        await second.aclose()  # type: ignore[attr-defined]


async def test_a_watch_that_is_answered_401_is_begun_again(plugin: Plugin, tmp_path: Path) -> None:
    guard = Guard({TWO})
    plugin.gives_token(ONE, START + 900)
    async with serve(guard.handle, tmp_path) as config, connected(config, plugin) as scene:
        await scene.credentials.get()
        plugin.gives_token(TWO, START + 900)
        stream = scene.connection.stream(build_watch(List(PODS), "1", seconds=60))
        await anext(stream)
        await stream.aclose()  # type: ignore[attr-defined]
    assert guard.seen == [ONE, TWO]


async def test_clients_that_share_their_credentials_run_it_once(plugin: Plugin, tmp_path: Path) -> None:
    guard = Guard({ONE})
    plugin.gives_token(ONE)
    async with serve(guard.handle, tmp_path) as config:
        own = with_plugin(config, plugin)
        async with (
            open_credentials(own) as credentials,
            Client(own, credentials=credentials) as one,
            Client(own, credentials=credentials) as two,
        ):
            await asyncio.gather(one.get(PODS, "n", "a"), two.get(PODS, "n", "a"))
    assert (guard.seen, plugin.runs) == ([ONE] * 2, 1)


async def test_no_request_no_run(plugin: Plugin, tmp_path: Path) -> None:
    async with serve(Guard(set()).handle, tmp_path) as config, Client(with_plugin(config, plugin)):
        pass
    assert plugin.runs == 0


async def test_following_ends_with_a_plugin_that_never_worked(plugin: Plugin, tmp_path: Path) -> None:
    plugin.fails("signed out")
    async with serve(Guard(set()).handle, tmp_path) as config, Client(with_plugin(config, plugin)) as api:
        with pytest.raises(PluginError, match="signed out"):
            await anext(aiter(api.follow(PODS)))


async def test_following_survives_a_plugin_that_fails_for_a_while(plugin: Plugin, tmp_path: Path) -> None:
    guard, told = Guard({ONE}), list[Said]()

    async def handle(request: web.Request) -> web.StreamResponse:
        if "watch" in request.query and not plugin.runs > 1 and ONE in guard.taken:
            guard.taken = set()
            plugin.fails("signed out")
            return web.Response()  # this watch ends, and the token is not taken any more
        answer = await guard.handle(request)
        return page(version=5) if answer.status == 200 else answer

    async def pause(_: float) -> None:
        await asyncio.sleep(0.01)
        if told:
            plugin.gives_token(TWO)
            guard.taken = {TWO}

    plugin.gives_token(ONE)
    async with serve(handle, tmp_path) as config, asyncio.timeout(120):
        own = with_plugin(config, plugin)
        async with (
            open_credentials(own, notify=told.append) as credentials,
            Client(own, credentials=credentials, sleep=pause) as api,
        ):
            events = api.follow(PODS)
            assert (await anext(events)).type == "SYNCED"
            following = asyncio.ensure_future(anext(events))

            async def watches() -> bool:
                return guard.held == [TWO]

            await until(watches)
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
    (notice,) = told
    assert str(notice).startswith("cannot renew the credential, which is no longer valid; trying again: ")


@dataclass(frozen=True)
class Pair:
    certificate: str
    key: str

    @property
    def status(self) -> dict[str, str]:
        return {"clientCertificateData": self.certificate, "clientKeyData": self.key}


def make_pair(directory: Path) -> Pair:
    directory.mkdir()
    path, certificate = make_certificate(directory, directory.name)
    return Pair(certificate, path.read_text().removeprefix(certificate))


def shown(request: web.Request) -> str:
    """The serial number of the client's certificate."""
    assert request.transport is not None
    return str(request.transport.get_extra_info("peercert")["serialNumber"])


async def test_a_certificate_is_shown_and_a_new_one_makes_new_connections(plugin: Plugin, tmp_path: Path) -> None:
    one, two = make_pair(tmp_path / "one"), make_pair(tmp_path / "two")
    serials, held, renewed = list[str](), list[str](), asyncio.Event()

    async def handle(request: web.Request) -> web.StreamResponse:
        serials.append(shown(request))
        if "watch" not in request.query:
            return web.json_response(pod("a"))
        response = web.StreamResponse()
        await response.prepare(request)
        for text in (b"0", b"1"):
            await response.write(text)
            held.append(shown(request))
            await renewed.wait()
        return response

    plugin.gives(**one.status, expirationTimestamp=format_time(START + 900))
    clients = one.certificate + two.certificate
    async with serve(handle, tmp_path, clients=clients) as config, connected(config, plugin) as scene:
        await scene.get()
        await scene.get()
        stream = scene.connection.stream(build_watch(List(PODS), "1", seconds=60))
        assert await anext(stream) == b"0"
        plugin.gives(**two.status, expirationTimestamp=format_time(START + 1800))
        scene.now[0] += 900
        await scene.get()
        await scene.get()
        renewed.set()
        assert await anext(stream) == b"1", "the old watch goes on"
        await stream.aclose()  # type: ignore[attr-defined]
    old, new = serials[0], serials[-1]
    assert old != new and serials == [old] * 3 + [new] * 2 and held == [old] * 2
    assert plugin.runs == 2


async def test_a_401_brings_a_new_certificate(plugin: Plugin, tmp_path: Path) -> None:
    """An API server does not refuse an old certificate in the handshake."""
    one, two = make_pair(tmp_path / "one"), make_pair(tmp_path / "two")
    serials = list[str]()

    async def handle(request: web.Request) -> web.StreamResponse:
        serials.append(shown(request))
        if len(serials) == 1:
            plugin.gives(**two.status)
            return refusal(401, "Unauthorized")
        return web.json_response(pod("a"))

    plugin.gives(**one.status)
    clients = one.certificate + two.certificate
    async with serve(handle, tmp_path, clients=clients) as config, connected(config, plugin) as scene:
        await scene.get()
    assert len(set(serials)) == 2 and plugin.runs == 2


def encrypt(key: str) -> str:
    form = serialization.BestAvailableEncryption(b"password")
    loaded = serialization.load_pem_private_key(key.encode(), None)
    return loaded.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, form).decode()


@pytest.mark.parametrize(
    "build",
    [
        lambda one, two: Pair("no PEM", "no PEM"),
        lambda one, two: Pair(one.certificate, two.key),
        lambda one, two: Pair(one.certificate, encrypt(one.key)),
        lambda one, two: Pair(one.certificate[:200], one.key),
    ],
    ids=["no PEM", "another's key", "a key with a password", "broken"],
)
async def test_a_certificate_that_cannot_be_shown_is_an_error(
    plugin: Plugin, tmp_path: Path, build: Callable[[Pair, Pair], Pair]
) -> None:
    pair = build(make_pair(tmp_path / "one"), make_pair(tmp_path / "two"))
    plugin.gives(**pair.status)
    async with serve(Guard(set()).handle, tmp_path) as config, connected(config, plugin) as scene:
        with pytest.raises(PluginError, match="its certificate and key cannot be used: ") as caught:
            await scene.get()
    for line in (*pair.certificate.splitlines(), *pair.key.splitlines()):
        assert len(line) < 20 or line not in str(caught.value)


async def test_no_token_comes_into_an_error_or_a_log(
    plugin: Plugin, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    errors = list[str]()
    async with serve(Guard(set()).handle, tmp_path) as config, connected(config, plugin) as scene:
        for answer in (
            json.dumps(build_answer(token=ONE)),
            json.dumps(build_answer(token=ONE, expirationTimestamp=TWO)),
            f"your token is {THREE} for now",
            json.dumps(build_answer(token=[ONE])),
        ):
            plugin.answer.write_text(answer)
            scene.now[0] += 100
            with pytest.raises(Unauthorized) as caught:
                await scene.get()
            errors += [str(caught.value), repr(caught.value)]
        plugin.fails(f"refused: {ONE}")
        scene.now[0] += 100
        with pytest.raises(Unauthorized) as caught:
            await scene.get()
        errors += [str(caught.value), repr(scene.credentials._held), repr(scene.connection.config)]
    whole = "\n".join([*errors, caplog.text, *scene.told])
    assert plugin.runs >= 5 and not [token for token in (ONE, TWO, THREE) if token in whole]


async def test_a_token_file_is_read_again_after_a_401(tmp_path: Path) -> None:
    guard, file = Guard({ONE}), tmp_path / "token"
    file.write_text(ONE)
    async with serve(guard.handle, tmp_path) as config, Client(replace(config, token="", token_file=file)) as api:
        await api.get(PODS, "n", "a")
        guard.taken = {TWO}
        file.write_text(f"{TWO}\n")
        await api.get(PODS, "n", "a")
        guard.taken = set()
        with pytest.raises(Unauthorized):
            await api.get(PODS, "n", "a")
    assert guard.seen == [ONE, ONE, TWO, TWO]


@pytest.mark.parametrize(
    ("content", "why"),
    [(b"", "it is empty"), (b"\xff", "it is not a text"), (b"a\nb", "a character in it can be carried by no request")],
)
async def test_a_token_file_that_has_no_token_is_named(tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "token").write_bytes(content)
    async with Client(Config("https://127.0.0.1:1", token_file=tmp_path / "token")) as api:
        with pytest.raises(Unauthorized, match=f"cannot use the token in {tmp_path}/token: {why}"):
            await api.get(PODS, "n", "a")


def test_a_token_that_no_request_can_carry_is_named() -> None:
    with pytest.raises(ConfigError, match="/k, context c: its token has a space or another character"):
        Client(Config("https://127.0.0.1:1", source="/k, context c", token="a\nb"))
