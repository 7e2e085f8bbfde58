"""Asks a server the requests of a case; an answer is a value, without what no two servers say alike."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import ssl
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
from multidict import MultiMapping
from yarl import URL

from apiserver.conformance.cases import Ask, Case
from paddock.apiserver.http.server import Server
from paddock.apiserver.objects.in_process import LocalApi
from paddock.client.kubeconfig import read_config

Answer = Mapping[str, Any]
"""`status`, and where they are: `body` or `text`, `type` of what is no JSON, `heads`, `warnings`."""

_AT_ONCE = 16
PATIENCE = 120.0
"""Seconds in which a controller has done what a case waits for."""
_PATIENCE_WITH_CONTROLLERS = 400.0
"""The namespace controller of a real server fails while a definition of another case comes or goes, and tries again
after twice as long, up to a minute."""
_PLACE = re.compile("@([a-z0-9][A-Za-z0-9_.\\-\\[\\]]*)@")
_UID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_CHOSEN = "6f0e4b9c-"
"""How the uids begin that cases choose themselves, which no server gives."""
_TIME = re.compile(r"(?!2001-)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_VERSIONS = re.compile(r"(resource ?[vV]ersion\D{0,60}|current: |compacted: |in object meta: |in record \()\d+")
_DRAWN = re.compile('-[bcdfghjklmnpqrstvwxz2456789]{5}("|$)')
"""The end of a generated name, also where a sentence quotes it."""
_ADDRESS = re.compile("0xc[0-9a-f]{9}")
"""Of a value in the memory of a server in Go, which some of its sentences show."""
_OF_THIS_CLUSTER = re.compile("nothing acts on them in this cluster")
"""A warning that no answer of the corpus is about: which controllers there are here."""
_STEP = re.compile(r"([^.\[\]]+)|\[([^\]]*)\]")
"""Of a path: a name, or an index, `*` or `key=value` in brackets."""


@dataclass(frozen=True, slots=True)
class Place:
    """A server, and who asks."""

    url: str
    headers: Mapping[str, str]
    tls: ssl.SSLContext


def build_namespace(name: str) -> str:
    """Of a case: the same in each run, so that what is made of it is too."""
    return f"c-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


async def ask_all(place: Place, cases: Iterable[Case], patience: float = PATIENCE) -> dict[str, list[Answer]]:
    """The answers by the name of the case. The cases do not know of each other, so some are asked at once. A case that
    could not be asked to its end has one answer, with status 0 and why."""
    room = asyncio.Semaphore(_AT_ONCE)
    connector = aiohttp.TCPConnector(ssl=place.tls, limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(90)) as session:

        async def one(each: Case) -> tuple[str, list[Answer]]:
            async with room:
                try:
                    return each.name, await _Talk(place, session, each, patience).run()
                except (AssertionError, LookupError, ValueError, TimeoutError) as error:
                    return each.name, [{"status": 0, "text": f"{type(error).__name__}: {error}"}]

        return dict(await asyncio.gather(*map(one, cases)))


class _Talk:
    """The requests of one case, one after the other."""

    def __init__(self, place: Place, session: aiohttp.ClientSession, case: Case, patience: float) -> None:
        self._place, self._session, self._case, self._patience = place, session, case, patience
        self._namespace = build_namespace(case.name)
        self._bodies: list[Any] = []

    async def run(self) -> list[Answer]:
        made = Ask("POST", "/api/v1/namespaces", {"metadata": {"name": self._namespace}})
        assert (await self._send(made))[0] == 201, self._case.name
        if any("/pods" in ask.path or "/deployments" in ask.path for ask in self._case.asks):
            await self._let_pods_in()
        told = []
        for number, ask in enumerate(self._case.asks):
            status, heads, raw = await self._ask(ask)
            body = _read_body(heads.get("Content-Type", ""), raw, watch=ask.lines is not None)
            self._bodies.append(body)
            if not ask.quiet:
                told.append(build_answer(ask, status, heads, body, self._namespace))
            else:
                assert status < 400, f"{self._case.name}, step {number}: {raw[:500]!r}"
        return told

    async def _ask(self, ask: Ask) -> tuple[int, MultiMapping[str], bytes]:
        async with asyncio.timeout(self._patience):
            while True:
                found = await self._send(ask)
                if ask.until is None or found[0] == ask.until:
                    return found
                await asyncio.sleep(0.02)

    async def _let_pods_in(self) -> None:
        """A real server makes no pod before its namespace has an account for pods, which a controller makes sometime,
        and before 1.24 not before that account has a token, unless no pod is to have it."""
        account = {"metadata": {"name": "default"}, "automountServiceAccountToken": False}
        path = f"/api/v1/namespaces/{self._namespace}/serviceaccounts"
        if (await self._send(Ask("POST", path, account)))[0] == 409:
            changed = Ask("PATCH", f"{path}/default", account, {"Content-Type": "application/merge-patch+json"})
            assert (await self._send(changed))[0] == 200, self._case.name

    async def _send(self, ask: Ask) -> tuple[int, MultiMapping[str], bytes]:
        url = URL(self._place.url + self._fill(ask.path), encoded=True)
        headers = {**self._place.headers, **{name: self._fill(value) for name, value in ask.headers.items()}}
        data = None
        if isinstance(ask.body, bytes):
            data = ask.body
        elif ask.body is not None:
            text = ask.body if isinstance(ask.body, str) else json.dumps(ask.body)
            data = self._fill(text).encode()
            headers.setdefault("Content-Type", "application/json")
        skipped = [] if "Content-Type" in headers else ["Content-Type"]
        async with self._session.request(
            ask.method, url, data=data, headers=headers, skip_auto_headers=skipped, allow_redirects=False
        ) as answer:
            if ask.lines is not None and ask.lines >= 0 and answer.status == 200:
                return (
                    answer.status,
                    answer.headers,
                    b"".join([await answer.content.readline() for _ in range(ask.lines)]),
                )
            return answer.status, answer.headers, await answer.read()

    def _fill(self, text: str) -> str:
        return _PLACE.sub(lambda found: self._value(found[1]), text)

    def _value(self, path: str) -> str:
        if path == "ns":
            return self._namespace
        number, _, rest = path.partition(".")
        (found,) = find(self._bodies[int(number)], rest)
        return str(found)


def _read_body(media: str, raw: bytes, *, watch: bool) -> Any:
    if not media.startswith("application/json"):
        return raw
    if watch:
        lines = [json.loads(line) for line in raw.splitlines() if line.strip()]
        return lines[0] if len(lines) == 1 and lines[0].get("kind") == "Status" else lines
    return json.loads(raw) if raw else None


def build_answer(ask: Ask, status: int, heads: MultiMapping[str], body: Any, namespace: str) -> dict[str, Any]:
    """What of an answer is compared."""
    told: dict[str, Any] = {"status": status}
    media = heads.get("Content-Type", "").partition(";")[0]
    if isinstance(body, bytes):
        told["type"] = media
        if not ask.see:
            told["text"] = _clean_text(body.decode(errors="replace"), namespace)
    elif isinstance(body, list) and ask.lines is not None:
        told["events"] = [see(clean(each, namespace), ask.see) for each in body]
    elif body is not None:
        is_error = isinstance(body, dict) and body.get("kind") == "Status" and status >= 400
        told["body"] = see(clean(body, namespace), () if is_error else ask.see)
    if ask.heads:
        told["heads"] = {name: clean(heads.get(name), namespace) for name in ask.heads}
    if warnings := [text for text in heads.getall("Warning", []) if not _OF_THIS_CLUSTER.search(text)]:
        told["warnings"] = [_clean_text(text, namespace) for text in warnings]
    return told


_SECRET_KEYS = frozenset({"managedFields", "selfLink"})
_MARKS = {"uid": "UID", "resourceVersion": "RV", "continue": "TOKEN"}


def clean(value: Any, namespace: str) -> Any:
    """Without uids, times, revisions, owners of fields, names that the server drew, and nulls."""
    if isinstance(value, dict):
        value = _mask_generated(value)
        return {
            _clean_text(key, namespace): _mask(key, item, namespace)
            for key, item in value.items()
            if key not in _SECRET_KEYS and item is not None
        }
    if isinstance(value, list):
        return [clean(each, namespace) for each in value]
    return _clean_text(value, namespace) if isinstance(value, str) else value


def _mask(key: str, value: Any, namespace: str) -> Any:
    if key in _MARKS and value and isinstance(value, str):
        return value if value.startswith(_CHOSEN) else _MARKS[key]
    return clean(value, namespace)


def _mask_generated(value: dict[str, Any]) -> dict[str, Any]:
    prefix, name = value.get("generateName"), value.get("name")
    if isinstance(prefix, str) and isinstance(name, str) and name.startswith(prefix[:58]):
        return value | {"name": f"{prefix[:58]}*{len(name)}"}
    return value


def _clean_text(text: str, namespace: str) -> str:
    text = _TIME.sub("TIME", _UID.sub("UID", text.replace(namespace, "NS")))
    text = _ADDRESS.sub("ADDRESS", _DRAWN.sub(r"-*\1", text))
    return _VERSIONS.sub(lambda found: f"{found[1]}N", text)


def see(body: Any, paths: Sequence[str]) -> Any:
    """The body, or what is at these paths of it."""
    if not paths:
        return body
    return {
        path: found[0] if len(found) == 1 and "*" not in path else found
        for path in paths
        for found in (find(body, path),)
    }


def find(value: Any, path: str) -> list[Any]:
    """The values at a path; none where there is none."""
    values = [value]
    for name, inside in _STEP.findall(path):
        values = [inner for each in values for inner in _step(each, name, inside)]
    return values


def _step(value: Any, name: str, inside: str) -> list[Any]:
    if name:
        return [value[name]] if isinstance(value, dict) and name in value else []
    if isinstance(value, dict):
        return [value[inside]] if inside in value else []
    if not isinstance(value, list):
        return []
    if inside == "*":
        return value
    if "=" in inside:
        key, _, wanted = inside.partition("=")
        return [each for each in value if isinstance(each, dict) and str(each.get(key)) == wanted]
    return value[int(inside) : int(inside) + 1]


PARTS = ("status", "reason", "message", "details", "body", "text", "type", "events", "heads", "warnings")
"""Of an answer: what a difference is about."""


def read_parts(answer: Answer) -> dict[str, Any]:
    """The parts of an answer; those of an error one by one, and all its sentences as one."""
    parts = {name: value for name, value in answer.items() if name != "body"}
    body = answer.get("body")
    if not (isinstance(body, dict) and body.get("kind") == "Status" and answer["status"] >= 400):
        return parts if body is None else parts | {"body": body}
    details = dict(body.get("details") or {})
    causes = [dict(cause) for cause in details.get("causes") or ()]
    said = [body.get("message"), *(cause.pop("message", None) for cause in causes)]
    if causes:
        details["causes"] = causes
    return parts | {"reason": body.get("reason"), "message": said, "details": details}


def list_messages(answers: Sequence[Answer]) -> list[Any]:
    """The sentences of the errors of a case, None for each answer that is none."""
    return [read_parts(answer).get("message") for answer in answers]


def compare(found: Sequence[Answer], wanted: Sequence[Answer]) -> set[str]:
    """The parts in which two rows of answers differ."""
    if len(found) != len(wanted):
        return {"status"}
    return {
        name
        for mine, theirs in zip(map(read_parts, found), map(read_parts, wanted), strict=True)
        for name in PARTS
        if mine.get(name) != theirs.get(name)
    }


def ask_real(kubeconfig: Path, cases: Sequence[Case]) -> dict[str, list[Answer]]:
    """A real server is asked all of it, by an administrator."""

    async def run() -> dict[str, list[Answer]]:
        config = read_config(str(kubeconfig))
        place = Place(
            config.server, {"Authorization": f"Bearer {config.token}"}, ssl.create_default_context(cadata=config.ca)
        )
        return await ask_all(place, cases, _PATIENCE_WITH_CONTROLLERS)

    return asyncio.run(run())


def ask_embedded(directory: Path, cases: Sequence[Case], patience: float = PATIENCE) -> dict[str, list[Answer]]:
    """A new embedded server is asked all of it."""

    async def run() -> dict[str, list[Answer]]:
        api = await LocalApi.open(directory)
        server = Server(api, directory)
        await server.start()
        try:
            tls = ssl.create_default_context(cafile=str(server.certificate_authority))
            place = Place(server.url, {"Authorization": f"Bearer {server.token}"}, tls)
            return await ask_all(place, cases, patience)
        finally:
            await server.stop()
            await api.close()

    return asyncio.run(run())
