"""Asks the console of a cluster for what it keeps: by its address, or through a port that is forwarded to its pod.

The reader proves who they are by the token of their kubeconfig, which goes to the console alone, over HTTPS, loopback
or the API server's own connection to the pod. What they see is up to the API: the console asks it with the same token.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from paddock.cli.cluster.console_option import read_console
from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.cluster.rbac import explain_forbidden
from paddock.cli.follow.forwarding import Forward, Forwarder, listen
from paddock.history.answers import LARGEST_ANSWER, PREFIX, KeptFile, Logs, Refusal, Runs
from paddock.install.console import NAME, NAMESPACE, PORT, VISITOR_RIGHTS
from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.kube.errors import ApiError, Forbidden
from paddock.kube.meta import PODS, Manifest, is_deleting, name_of
from paddock.kube.validation.names import DNS_LABEL
from paddock.words.phrases import Foreign, Phrase, phrase

if TYPE_CHECKING:
    import aiohttp

    from paddock.cli.cluster.places import ClusterChoice
    from paddock.client.client import Client

TOKEN = "PADDOCK_CONSOLE_TOKEN"  # noqa: S105 - the name of the variable
"""The environment variable of who has no token in their kubeconfig."""
_LABELS = "app.kubernetes.io/name=paddock,app.kubernetes.io/component=console"
_INSTALL = "paddock manifests console --image IMAGE --keep CLAIM"
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_NOBODY = "-"
"""A name that nothing can have: the API looks at rights first."""
_CHUNK = 2**18
_SECONDS = 60.0
"""Without a byte from the console."""
T = TypeVar("T")


class NoKeeper(Failed):
    """There is no console that keeps, or none that this reader can reach."""


class Unseen(Failed):
    """What is kept is not for this reader's eyes."""


class NoToken(UserError):
    """The kubeconfig has no token that a console could ask the API with."""


@dataclass(frozen=True, slots=True)
class Where:
    """Of a console: its address, or the namespace of its pod."""

    url: str = ""
    namespace: str = NAMESPACE


def read_where(text: str) -> Where:
    """Raises `UserError` for an address to which no token is sent. Pure."""
    if not text:
        return Where()
    if "://" not in text:
        if DNS_LABEL.allows(text):
            return Where(namespace=text)
        raise UserError(phrase("--console {text} is neither an address (https://…) nor a namespace", text=repr(text)))
    try:
        parts = urlsplit(text)
        host = parts.hostname or ""
    except ValueError:
        parts, host = urlsplit(""), ""
    if parts.scheme == "https" and host:
        return Where(url=text.rstrip("/"))
    if parts.scheme == "http" and host in _LOOPBACK:
        return Where(url=text.rstrip("/"))
    raise UserError(
        phrase(
            "--console {text}: your token would go there unencrypted, so it is sent to https:// alone, or to http:// "
            "of this machine, as through `kubectl port-forward`",
            text=repr(text),
        )
    )


def explain_no_keeper(why: Phrase) -> Phrase:
    """Pure."""
    return phrase(
        "the history of this cluster cannot be read: {why}. Who administers the cluster installs a console that keeps "
        "it by `{command}`; --console names one that is elsewhere",
        why=why, command=_INSTALL,
    )  # fmt: skip


def explain_no_way(namespace: str, error: Forbidden) -> tuple[Phrase | str, ...]:
    """What grants the way to a console in this namespace, whether or not one is there: lines. Pure."""
    said = phrase(
        "The history of a cluster is read through a port of the console that keeps it, here in namespace {namespace}. "
        "Where none keeps it, who administers the cluster installs one by `{command}`; --console names one that is "
        "elsewhere",
        namespace=namespace, command=_INSTALL,
    )  # fmt: skip
    return explain_forbidden(error, VISITOR_RIGHTS), "", said


@asynccontextmanager
async def open_keeper(place: ClusterChoice) -> AsyncIterator[Keeper]:
    """Raises `NoKeeper`, `NoToken`, `Failed`, `ApiError`, `ConfigError`."""
    from paddock.client.client import Client
    from paddock.client.credentials import open_credentials

    where, config = read_where(read_console()), place.read_config()
    async with open_credentials(config, interactive=True) as credentials:
        given = os.environ.get(TOKEN, "")
        token = given or (await credentials.get()).token
        if not token:
            raise NoToken(explain_no_token(place))
        async with (
            Client(config, credentials=credentials) as client,
            _reach(client, where) as url,
            _session(token) as session,
        ):
            yield Keeper(session, url, None if given else client)


@asynccontextmanager
async def _reach(client: Client, where: Where) -> AsyncIterator[str]:
    if where.url:
        yield where.url
        return
    async with _forwarded(client, where.namespace, await find_pod(client, where.namespace)) as url:
        yield url


def explain_no_token(place: ClusterChoice) -> Phrase:
    """Pure."""
    return phrase(
        "a console knows its readers by a token, and your kubeconfig has none, but a certificate. Put a token of the "
        "cluster into {variable}: `{command}` prints one of a service account, and you see what that account may",
        variable=TOKEN, command=f"{place.flags.kubectl} create token NAME",
    )  # fmt: skip


async def find_pod(client: Client, namespace: str) -> str:
    """The name of a console's pod. Raises `NoKeeper`."""
    try:
        pods = (await client.list(PODS, namespace, labels=_LABELS)).items
    except Forbidden as error:
        raise NoKeeper(*explain_no_way(namespace, error)) from None
    ready = [pod for pod in pods if is_ready(pod)]
    if not ready and pods:
        raise NoKeeper(phrase("the console in namespace {namespace} is not ready: try again in a moment",
                              namespace=namespace))  # fmt: skip
    if not ready:
        said = phrase("no console runs in namespace {namespace}", namespace=namespace)
        raise NoKeeper(explain_no_keeper(said))
    return name_of(ready[0])


def is_ready(pod: Manifest) -> bool:
    """Pure."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    ready = any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)
    return ready and not is_deleting(pod)


@asynccontextmanager
async def _session(token: str) -> AsyncIterator[aiohttp.ClientSession]:
    import aiohttp

    timeout = aiohttp.ClientTimeout(total=None, sock_connect=_SECONDS, sock_read=_SECONDS)
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"}, timeout=timeout) as session:
        yield session


@asynccontextmanager
async def _forwarded(client: Client, namespace: str, pod: str) -> AsyncIterator[str]:
    """The address here of the port of a console's pod. What kept it from working is raised in place of the error of
    who used it."""
    notes: list[Phrase] = []
    listening = listen("127.0.0.1", Forward(0, PORT), notes.append)
    forwarder = Forwarder(client, namespace, pod, NAME, notes.append)
    work = asyncio.create_task(forwarder.run([(listening, PORT)]))
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    except Unreached as error:
        await asyncio.wait([work], timeout=0.1)
        if work.done() and isinstance(why := work.exception(), Forbidden):
            raise NoKeeper(*explain_no_way(namespace, why)) from why
        if work.done() and isinstance(why := work.exception(), ApiError):
            raise why from None
        raise Failed(notes[0] if notes else error.reason) from None
    finally:
        work.cancel()
        with suppress(asyncio.CancelledError, ApiError):
            await work


class Unreached(Failed):
    """The console did not answer, or broke off."""

    def __init__(self, why: str) -> None:
        self.reason = phrase("the console of the cluster does not answer: {why}", why=Foreign(why))
        super().__init__(self.reason)


class Keeper:
    """One console, with the token of its reader. `client`: of the same token. Raises `NoKeeper`, `Unseen`, `Failed`."""

    def __init__(self, session: aiohttp.ClientSession, url: str, client: Client | None = None) -> None:
        self._session, self._url, self._client = session, url, client

    async def fetch_runs(self, namespace: str, name: str = "") -> Runs:
        """Of a namespace, or of one name."""
        query = urlencode({"name": name})
        async with self._naming_grants(PADDLEPADDLE.resource.path(namespace, _NOBODY)):
            return await self._fetch(f"namespaces/{quote(namespace)}/runs?{query}", Runs)

    async def fetch_logs(self, namespace: str, name: str, uid: str = "") -> Logs:
        """Of the runs of a name, or of one of them."""
        query = urlencode({"name": name, "uid": uid})
        async with self._naming_grants(PODS.path(namespace, _NOBODY, "log")):
            return await self._fetch(f"namespaces/{quote(namespace)}/logs?{query}", Logs)

    @asynccontextmanager
    async def _naming_grants(self, path: str) -> AsyncIterator[None]:
        """Where the console may not show something, the API is asked for the like of it: its refusal names the user,
        whom an administrator grants the right."""
        try:
            yield
        except Unseen as error:
            if self._client is None:
                raise
            try:
                await self._client.fetch(path)
            except Forbidden as refusal:
                raise Unseen(explain_forbidden(refusal), "", *error.said) from None
            except ApiError:
                pass
            raise

    async def download(self, namespace: str, file: KeptFile, name: str, into: Path) -> None:
        """`name`: of the log, or of the marks beside it. A file that is not kept leaves an empty one."""
        path = f"namespaces/{quote(namespace)}/logs/{quote(file.directory)}/{quote(file.container)}/{quote(name)}"
        async with self._open(path) as answer:
            with into.open("wb") as out:
                if answer.status == 404:
                    return
                await self._check(answer)
                async for chunk in answer.content.iter_chunked(_CHUNK):
                    out.write(chunk)

    async def _fetch(self, path: str, form: type[T]) -> T:
        async with self._open(path) as answer:
            await self._check(answer)
            body = await answer.content.read(LARGEST_ANSWER + 1) if not answer.content.at_eof() else b""
            chunks = [body]
            while sum(map(len, chunks)) <= LARGEST_ANSWER and (more := await answer.content.read(_CHUNK)):
                chunks.append(more)
        try:
            return msgspec.json.decode(b"".join(chunks), type=form)
        except msgspec.MsgspecError as error:
            raise Failed(phrase("the console of the cluster sent what is no answer: {why}", why=Foreign(str(error)))
                         ) from None  # fmt: skip

    @asynccontextmanager
    async def _open(self, path: str) -> AsyncIterator[aiohttp.ClientResponse]:
        """No redirect is followed: a token goes where it was meant to go."""
        import aiohttp
        from yarl import URL

        try:
            address = URL(self._url + PREFIX + path, encoded=True)
            async with self._session.get(address, allow_redirects=False) as answer:
                yield answer
        except (aiohttp.ClientError, TimeoutError, ConnectionError) as error:
            raise Unreached(str(error) or type(error).__name__) from None

    async def _check(self, answer: aiohttp.ClientResponse) -> None:
        if answer.status == 200:
            return
        try:
            refusal = msgspec.json.decode(await answer.content.read(_CHUNK), type=Refusal)
        except msgspec.MsgspecError:
            refusal = Refusal()
        raise _explain(answer.status, refusal)


def _explain(status: int, refusal: Refusal) -> Failed:
    """Pure."""
    if refusal.reason == "NotKept" or (not refusal.reason and status in (303, 401, 404)):
        return NoKeeper(explain_no_keeper(phrase("its console keeps nothing")))
    if refusal.reason == "Unauthorized":
        return Failed(phrase("the cluster does not take your token at its console: it is wrong, or it has expired"))
    if refusal.reason == "Forbidden":
        return Unseen(phrase("the console shows what the cluster lets you see: {why}", why=Foreign(refusal.message)))
    why = refusal.message or f"HTTP {status}"
    return Failed(phrase("the console of the cluster does not answer: {why}", why=Foreign(why)))
