"""One repository of a registry over HTTP: what is there, what comes down, what goes up. I/O.

Source: OCI distribution specification 1.1. Every byte that comes is checked against its digest before it is used. What
is cut goes on where it was: a download by a range, an upload where the registry says that it stands. Memory is bounded:
blobs go by files, a piece at a time. A user is told to the registry alone, and to the address that it names for tokens,
never over plain HTTP unless the registry itself is spoken to so.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
from yarl import URL

from paddock.images.answers import Cut, explain_connection, explain_denied, explain_status, explain_wrong, read_text
from paddock.images.challenges import Challenge, build_scope, read_challenge
from paddock.images.credentials import Login
from paddock.images.errors import ImageError
from paddock.images.manifests import ACCEPTED, LARGEST_MANIFEST, Blob, compute_digest
from paddock.images.references import DOCKER_HUB, Repository, is_loopback
from paddock.serving.http_proxies import find_proxy
from paddock.words.phrases import phrase

T = TypeVar("T")
Count = Callable[[int], None]
"""Called with the number of bytes that have gone or come since it was called before."""

_PIECE = 2**20
_LONGEST_ERROR = 64 * 2**10
_TRIES = 5
"""Without a byte of progress between them."""
_BACKOFF = (0.5, 1.0, 2.0, 4.0)
"""Seconds after the first try, the second and so on."""
_TIMES = aiohttp.ClientTimeout(total=None, connect=30, sock_read=120)
_STALLED = 240.0
"""Seconds in which a registry takes no piece of an upload: longer than it may take for its answer."""
_MOST_REDIRECTS = 10
_REDIRECTS = (301, 302, 303, 307, 308)
_CERTIFICATES = Path("/etc/docker/certs.d")
_CUT = (aiohttp.ClientError, TimeoutError, ConnectionError, ssl.SSLError)


@dataclass(slots=True)
class Registry:
    """A repository, and where its registry is. Opened by `open_registry`."""

    session: aiohttp.ClientSession
    repository: Repository
    base: URL
    """`https://registry.example.com`."""
    login: Login | None
    scopes: tuple[str, ...]
    """What tokens are asked for."""
    had_to_say_who: bool = False
    """Whether the user of `docker login` was needed so far."""
    _challenge: Challenge | None = None
    _authorization: str = field(default="", repr=False)

    @property
    def host(self) -> str:
        return self.repository.host

    async def fetch_manifest(self, version: str, *, may_lack: bool = False) -> tuple[bytes, str] | None:
        """The bytes and the media type. `version`: a tag or a digest; None where it is not there and `may_lack`."""
        return await self._retry(lambda: self._fetch_manifest(version, may_lack=may_lack))

    async def _fetch_manifest(self, version: str, *, may_lack: bool) -> tuple[bytes, str] | None:
        path = f"manifests/{version}"
        async with self._ask("GET", path, headers={"Accept": ", ".join(ACCEPTED)}) as answer:
            if answer.status == 404 and may_lack:
                return None
            if answer.status == 404:
                raise self._lack(version)
            await self._expect(answer, 200)
            content = await _read_bounded(answer, LARGEST_MANIFEST)
            if content is None:
                raise ImageError(phrase("{registry}: the manifest of {image} is too large: at most 4 MiB are read",
                                        registry=self.host, image=str(self.repository)))  # fmt: skip
            said = version if version.startswith("sha256:") else answer.headers.get("Docker-Content-Digest", "")
            self._check(content, said if said.startswith("sha256:") else compute_digest(content))
            return content, answer.content_type

    def _lack(self, version: str) -> ImageError:
        image = f"{self.repository}{'@' if ':' in version else ':'}{version}"
        said = phrase("{registry} has no {image}: check its name and its tag", registry=self.host, image=image)
        return ImageError(said, is_mistake=True)

    def _check(self, content: bytes, digest: str) -> None:
        if compute_digest(content) != digest:
            raise self._lie(digest)

    def _lie(self, digest: str) -> ImageError:
        return ImageError(
            phrase(
                "{registry} has sent other bytes than those of {digest}: nothing of it is used; somebody between here "
                "and there may have changed them, or its disk is damaged",
                registry=self.host, digest=digest,
            )
        )  # fmt: skip

    async def fetch_blob(self, blob: Blob) -> bytes:
        """A small one, such as a configuration."""
        return await self._retry(lambda: self._fetch_blob(blob))

    async def _fetch_blob(self, blob: Blob) -> bytes:
        async with self._ask("GET", f"blobs/{blob.digest}") as answer:
            await self._expect(answer, 200)
            content = await _read_bounded(answer, LARGEST_MANIFEST)
        if content is None:
            raise self._lie(blob.digest)
        self._check(content, blob.digest)
        return content

    async def download(self, blob: Blob, place: Path, count: Count) -> None:
        """The blob as a file, checked. Raises `ImageError`, OSError of the file."""
        digest, got, tries = hashlib.sha256(), 0, 0
        with place.open("wb") as file:
            while got < blob.size or not got:
                before = got
                try:
                    async for piece, begins in self._read_blob(blob, got):
                        if begins and got:  # the registry knows no ranges: it begins anew
                            digest, got = hashlib.sha256(), 0
                            file.seek(0)
                            file.truncate()
                        got += len(piece)
                        if got > blob.size:
                            raise self._lie(blob.digest)
                        await asyncio.to_thread(_take, piece, file, digest)
                        count(len(piece))
                    if got < blob.size:
                        raise Cut(self.host, aiohttp.ClientPayloadError())
                    break
                except Cut as error:
                    tries = 1 if got > before else tries + 1
                    await self._pause(error, tries)
        if f"sha256:{digest.hexdigest()}" != blob.digest:
            raise self._lie(blob.digest)

    async def _read_blob(self, blob: Blob, offset: int) -> AsyncIterator[tuple[bytes, bool]]:
        """Pieces from `offset` on; with the first one, whether it is the blob's first."""
        headers = {"Range": f"bytes={offset}-"} if offset else {}
        async with self._ask("GET", f"blobs/{blob.digest}", headers=headers) as answer:
            if answer.status != 206:
                await self._expect(answer, 200)
            begins = answer.status == 200
            async for piece in answer.content.iter_chunked(_PIECE):
                yield piece, begins
                begins = False

    async def has_blob(self, digest: str) -> bool:
        return await self._retry(lambda: self._has_blob(digest))

    async def _has_blob(self, digest: str) -> bool:
        async with self._ask("HEAD", f"blobs/{digest}") as answer:
            if answer.status in (401, 403):
                await self._refuse(answer)
            return answer.status == 200

    async def mount(self, blob: Blob, source: str) -> bool:
        """Whether the registry has the blob now, of its own repository `source`. Nothing is sent."""
        query = {"mount": blob.digest, "from": source}
        async with self._ask("POST", "blobs/uploads/", query=query) as answer:
            if answer.status == 201:
                return True
            if answer.status == 202:  # it wants the bytes
                await self._cancel(self._locate(answer))
            return False

    async def check_push(self) -> None:
        """Begins an upload and ends it. Raises `ImageError` where the user may not push."""
        await self._cancel(await self._begin())

    async def _begin(self) -> URL:
        async with self._ask("POST", "blobs/uploads/", headers={"Content-Length": "0"}) as answer:
            await self._expect(answer, 202)
            return self._locate_upload(answer)

    async def _cancel(self, place: URL) -> None:
        with suppress(ImageError):
            async with self._ask("DELETE", place):
                pass  # a registry that keeps it clears it away by itself

    def _locate(self, answer: aiohttp.ClientResponse) -> URL:
        """Where the upload goes on. Behind a proxy that ends TLS a registry may name itself by http."""
        try:
            place = answer.url.join(URL(answer.headers.get("Location", ""), encoded=True))
        except ValueError as error:
            doing = phrase("pulling") if answer.method in ("GET", "HEAD") else phrase("pushing to")
            raise explain_status(self.host, self.repository.name, doing, answer.status, "") from error
        if self.base.scheme == "https" and place.scheme == "http" and place.host == self.base.host:
            place = place.with_scheme("https").with_port(self.base.port)
        return place

    def _locate_upload(self, answer: aiohttp.ClientResponse) -> URL:
        """Code is not sent in clear text by whoever was asked by https. What is read is known by its digest."""
        place = self._locate(answer)
        if self.base.scheme == "https" and place.scheme != "https":
            raise ImageError(
                phrase("{registry} would have layers sent to {place}, in clear text, so none is sent: its "
                       "administrator can give its own address by https (in distribution, http.host)",
                       registry=self.host, place=str(place.origin()))
            )  # fmt: skip
        return place

    async def upload(self, blob: Blob, file: Path, count: Count) -> None:
        """Sends the file, whose bytes are the blob's. Raises `ImageError`, OSError of the file."""
        place, sent, tries = await self._begin(), 0, 0
        while sent < blob.size:
            reached = 0

            def note(size: int) -> None:
                nonlocal reached
                reached += size
                count(size)

            try:
                place = await self._patch(place, blob, file, sent, note)
                break
            except Cut as error:
                before = sent
                await self._pause(error, tries + 1)
                place, sent = await self._find_offset(place)
                count(sent - before - reached)
                tries = 0 if sent > before else tries + 1
        await self._finish(place, blob)

    async def _patch(self, place: URL, blob: Blob, file: Path, offset: int, count: Count) -> URL:
        """aiohttp has no bound on the time in which nothing is taken."""
        loop = asyncio.get_running_loop()

        def note(size: int) -> None:
            stalled.reschedule(loop.time() + _STALLED)
            count(size)

        try:
            async with asyncio.timeout(_STALLED) as stalled:
                return await self._send_rest(place, blob, file, offset, note)
        except TimeoutError as error:
            raise Cut(self.host, error) from error

    async def _send_rest(self, place: URL, blob: Blob, file: Path, offset: int, count: Count) -> URL:
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(blob.size - offset)}
        if offset:
            headers["Content-Range"] = f"{offset}-{blob.size - 1}"
        async with self._ask("PATCH", place, headers=headers, data=lambda: _read_file(file, offset, count)) as answer:
            if answer.status in (408, 416, 429) or answer.status >= 500:
                raise Cut(self.host, aiohttp.ClientPayloadError(str(answer.status)))
            await self._expect(answer, 202)
            return self._locate_upload(answer)

    async def _find_offset(self, place: URL) -> tuple[URL, int]:
        """Where an upload that was cut goes on, and how many bytes of it the registry has; a new one where it knows
        nothing of it."""
        for each in (place, place.with_query(None)):  # distribution's own state in the query is that of before the cut
            if found := await self._ask_offset(each):
                return found
        return await self._begin(), 0

    async def _ask_offset(self, place: URL) -> tuple[URL, int] | None:
        async with self._ask("GET", place) as answer:
            first, _, last = answer.headers.get("Range", "").rpartition("=")[2].partition("-")
            if answer.status == 204 and first == "0" and last.isdecimal():
                # `0-0` is what a registry says of no byte, and of one
                place = self._locate_upload(answer) if "Location" in answer.headers else place
                return place, int(last) + 1 if last != "0" else 0
        return None

    async def _finish(self, place: URL, blob: Blob) -> None:
        async with self._ask("PUT", place.update_query(digest=blob.digest), headers={"Content-Length": "0"}) as answer:
            await self._expect(answer, 201, 204)
            said = answer.headers.get("Docker-Content-Digest", blob.digest)
        if said != blob.digest:
            raise self._lie(blob.digest)

    async def put_manifest(self, version: str, content: bytes, media_type: str) -> None:
        """Under a tag or its digest."""
        headers = {"Content-Type": media_type}
        async with self._ask("PUT", f"manifests/{version}", headers=headers, data=lambda: content) as answer:
            await self._expect(answer, 201, 200, 202)
            said = answer.headers.get("Docker-Content-Digest", "")
        if said.startswith("sha256:") and said != compute_digest(content):
            raise self._lie(compute_digest(content))

    async def _retry(self, work: Callable[[], Awaitable[T]]) -> T:
        """A request that changes nothing, again where its connection was cut."""
        tries = 0
        while True:
            try:
                return await work()
            except Cut as error:
                if not error.was_made:
                    raise
                tries += 1
                await self._pause(error, tries)

    async def _pause(self, error: Cut, tries: int) -> None:
        """Before the next try; raises the error where there is none. `tries`: those in vain, this one among them."""
        if tries >= _TRIES or not error.helps:
            raise error
        await asyncio.sleep(_BACKOFF[min(tries, len(_BACKOFF)) - 1])

    async def _expect(self, answer: aiohttp.ClientResponse, *statuses: int) -> None:
        if answer.status in statuses:
            return
        await self._refuse(answer)

    async def _refuse(self, answer: aiohttp.ClientResponse) -> None:
        text = read_text(await _read_bounded(answer, _LONGEST_ERROR) or b"")
        push = answer.method not in ("GET", "HEAD")
        name = self.repository.name
        is_own = answer.url.origin() == self.base.origin()
        if answer.status == 401 and is_own and self._authorization.startswith("Basic "):
            raise explain_wrong(self.host, text)
        if answer.status in (401, 403) or (answer.status == 404 and push):
            raise explain_denied(self.host, name, push=push, user=self.login is not None, text=text)
        doing = phrase("pushing to") if push else phrase("pulling")
        raise explain_status(self.host, name, doing, answer.status, text)

    @asynccontextmanager
    async def _ask(
        self,
        method: str,
        where: str | URL,
        *,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        data: Callable[[], Any] | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """A request, a second time with who asks where the registry wants to know. `data` is called for each."""
        url = self.base / f"v2/{self.repository.name}/{where}" if isinstance(where, str) else where
        if isinstance(where, str) and where.endswith("/"):
            url = URL(str(self.base / f"v2/{self.repository.name}/{where.rstrip('/')}") + "/")
        url = url.update_query(query) if query else url
        for is_last in (False, True):
            try:
                async with self._request(method, url, headers or {}, data) as answer:
                    if answer.status != 401 or is_last or not await self._introduce(answer):
                        yield answer
                        return
            except _CUT as error:
                raise Cut(self.host, error) from error

    @asynccontextmanager
    async def _request(
        self, method: str, url: URL, headers: Mapping[str, str], data: Callable[[], Any] | None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """What is read may lie elsewhere. Who asks is told to the registry alone."""
        for redirects in range(_MOST_REDIRECTS + 1):
            own = bool(self._authorization) and url.origin() == self.base.origin()
            async with self.session.request(
                method, url, headers={**headers, **({"Authorization": self._authorization} if own else {})},
                data=data() if data is not None else None, allow_redirects=False, proxy=find_proxy(url),
            ) as answer:  # fmt: skip
                is_elsewhere = method in ("GET", "HEAD") and answer.status in _REDIRECTS
                if not is_elsewhere or "Location" not in answer.headers or redirects == _MOST_REDIRECTS:
                    yield answer
                    return
                url = self._locate(answer)

    async def _introduce(self, answer: aiohttp.ClientResponse) -> bool:
        """Whether there is an authorization now that the last request did not have."""
        challenge = read_challenge(answer.headers.getall("WWW-Authenticate", []))
        before = self._authorization
        if challenge is None or answer.url.origin() != self.base.origin():
            return False
        if challenge.kind == "basic":
            if self.login is None or not self.login.user:
                return False
            self.had_to_say_who = True
            self._authorization = _basic(self.login)
        else:
            self._authorization = await self._fetch_token(challenge)
        return self._authorization != before

    async def _fetch_token(self, challenge: Challenge) -> str:
        try:
            realm = URL(challenge.realm)
        except ValueError:  # its refusal stands
            return ""
        if realm.scheme != "https" and self.base.scheme == "https":
            raise ImageError(
                phrase("{registry} names {address} for tokens, which is no https: nobody's user is told there",
                       registry=self.host, address=str(realm.origin() if realm.is_absolute() else realm))
            )  # fmt: skip
        if self.login is not None:
            self.had_to_say_who = True
        try:
            async with self._ask_for_token(realm, challenge.service) as answer:
                body = await _read_bounded(answer, LARGEST_MANIFEST) or b""
                if answer.status != 200:
                    text = read_text(body)
                    push = any(scope.endswith("push") for scope in self.scopes)
                    if answer.status == 401 and self.login is not None:
                        raise explain_wrong(self.host, text)
                    if answer.status in (400, 401, 403):
                        raise explain_denied(self.host, self.repository.name, push=push, user=self.login is not None,
                                             text=text)  # fmt: skip
                    raise explain_status(self.host, self.repository.name, phrase("pulling"), answer.status, text)
        except _CUT as error:
            raise explain_connection(realm.host or self.host, error) from error
        try:
            parsed = json.loads(body)
            token = str(parsed.get("token") or parsed.get("access_token") or "")
        except (ValueError, AttributeError, RecursionError):
            token = ""
        return f"Bearer {token}" if token and token.isprintable() else ""

    def _ask_for_token(self, realm: URL, service: str) -> Any:
        """By an identity token as OAuth 2 has it, else by user and password, else as nobody."""
        if self.login is not None and self.login.identity_token:
            form = {
                "grant_type": "refresh_token", "service": service, "client_id": "paddock",
                "scope": " ".join(self.scopes), "refresh_token": self.login.identity_token,
            }  # fmt: skip
            return self.session.post(realm, data=form, allow_redirects=False, proxy=find_proxy(realm))
        query = [*realm.query.items(), *((("service", service),) if service else ())]
        url = realm.with_query([*query, *(("scope", scope) for scope in self.scopes)])
        headers = {"Authorization": _basic(self.login)} if self.login is not None else {}
        return self.session.get(url, headers=headers, allow_redirects=False, proxy=find_proxy(url))


def _basic(login: Login) -> str:
    return f"Basic {base64.b64encode(f'{login.user}:{login.password}'.encode()).decode()}"


def _take(piece: bytes, file: Any, digest: Any) -> None:
    file.write(piece)
    digest.update(piece)


async def _read_file(file: Path, offset: int, count: Count) -> AsyncIterator[bytes]:
    with file.open("rb") as stream:
        stream.seek(offset)
        while piece := await asyncio.to_thread(stream.read, _PIECE):
            yield piece
            count(len(piece))


async def _read_bounded(answer: aiohttp.ClientResponse, most: int) -> bytes | None:
    """The body; None if it is longer."""
    pieces, size = [], 0
    async for piece in answer.content.iter_chunked(64 * 2**10):
        size += len(piece)
        if size > most:
            return None
        pieces.append(piece)
    return b"".join(pieces)


def build_scopes(repository: Repository, source: Repository | None, *, push: bool) -> tuple[str, ...]:
    """Of a repository, and of the one of the same registry from which layers are mounted. Pure."""
    scope = build_scope(repository.name, push=push)
    if source is None or source.host != repository.host or source.name == repository.name:
        return (scope,)
    return scope, build_scope(source.name, push=False)


def build_tls(host: str) -> ssl.SSLContext:
    """This machine's certificates, and those that Docker has for the registry (/etc/docker/certs.d)."""
    context = ssl.create_default_context()
    for file in sorted((_CERTIFICATES / host).glob("*.crt")):
        with suppress(OSError, ssl.SSLError):
            context.load_verify_locations(file)
    return context


@asynccontextmanager
async def open_registry(
    repository: Repository, login: Login | None, scopes: tuple[str, ...]
) -> AsyncIterator[Registry]:
    """The repository, where its registry answers. Raises `ImageError`, also in the block."""
    host = repository.host
    connector = aiohttp.TCPConnector(ssl=build_tls(host), limit=8)
    async with aiohttp.ClientSession(
        connector=connector, timeout=_TIMES, auto_decompress=False,
        headers={"User-Agent": "paddock", "Accept-Encoding": "identity"},
    ) as session:  # fmt: skip
        yield Registry(session, repository, await _find_base(session, repository), login, scopes)


async def _find_base(session: aiohttp.ClientSession, repository: Repository) -> URL:
    """As Docker: https, and plain HTTP for a registry of this machine that has no TLS."""
    host = "registry-1.docker.io" if repository.host == DOCKER_HUB else repository.host
    if repository.scheme or not is_loopback(host):
        return _read_base(f"{repository.scheme or 'https'}://{host}", repository)
    try:
        async with session.get(_read_base(f"https://{host}", repository) / "v2" / ""):
            return URL(f"https://{host}")
    except aiohttp.ClientConnectorCertificateError as error:
        raise explain_connection(host, error) from error
    except _CUT:
        return URL(f"http://{host}")


def _read_base(text: str, repository: Repository) -> URL:
    try:
        return URL(text)
    except ValueError as error:
        said = phrase("{host} is no address of a registry", host=repository.host)
        raise ImageError(said, is_mistake=True) from error
