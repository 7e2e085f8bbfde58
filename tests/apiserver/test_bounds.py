"""Requests that would grow without bound: each is answered, in time and in memory, and the server serves on.

Each row is one attack on a server in a process of its own. A new one is a function of the table: it sends what it wants
and returns the statuses of the answers. Time is bounded with a large margin: without its bound each of these takes
minutes, all memory, or both.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import ssl
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yarl

from apiserver.embedded import config_map, pod
from apiserver.served import Served
from support.tiers import keep_light

SECONDS = 120.0
"""For all requests of a row."""
STALL_SECONDS = 10.0
"""For which the loop may run nothing else."""
MEBIBYTE = 2**20

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
JSON, YAML = "application/json", "application/yaml"
JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH = (
    f"application/{kind}-patch+json" for kind in ("json", "merge", "strategic-merge")
)
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


class Attacker:
    def __init__(self, served: Served, session: aiohttp.ClientSession, prefix: str) -> None:
        self._served = served
        self._session = session
        self._prefix = prefix
        self._kinds = 0

    async def send(self, method: str, path: str, body: Any = None, media: str = JSON, **headers: str) -> int:
        """The status of the answer, which is read to its end."""
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        sent = {"Authorization": f"Bearer {self._served.token}", "Content-Type": media, **headers}
        url = yarl.URL(self._served.url + path, encoded=True)
        async with self._session.request(method, url, data=data, headers=sent) as answer:
            async for _ in answer.content.iter_chunked(MEBIBYTE):
                pass
            return answer.status

    async def define(self, schema: Any, **version: Any) -> tuple[int, str]:
        """Creates a kind of this schema of `spec`. Returns the status, and the path of its objects."""
        self._kinds += 1
        plural = f"{self._prefix}{self._kinds}s"
        spec = {
            "group": "example.org", "scope": "Namespaced", "names": {"kind": plural.capitalize(), "plural": plural},
            "versions": [{"name": "v1", "served": True, "storage": True, **version,
                          "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": schema}}}}],
        }  # fmt: skip
        crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}
        status = await self.send("POST", CRDS, crd | {"metadata": {"name": f"{plural}.example.org"}})
        return status, f"/apis/example.org/v1/namespaces/default/{plural}"

    async def fill(self, schema: Any, spec: Any) -> list[int]:
        """Creates a kind, and an object of it. Returns both statuses."""
        status, path = await self.define(schema)
        return [status, await self.send("POST", path, custom(path, spec))]

    async def watch_unread(self, path: str) -> asyncio.StreamWriter:
        """A watch whose client never reads."""
        context = ssl.create_default_context(cafile=str(self._served.certificate_authority))
        port = int(self._served.url.rpartition(":")[2])
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, limit=1_024)
        host, token = f"127.0.0.1:{port}", self._served.token
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        return writer


def custom(path: str, spec: Any, name: str = "w") -> Any:
    kind = path.rpartition("/")[2].capitalize()
    return {"apiVersion": "example.org/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def _list_of(items: Any) -> Any:
    return {"type": "object", "properties": {"x": {"type": "array", "items": items}}}


Attack = Callable[[Attacker], Awaitable[list[int]]]


@dataclass(frozen=True)
class Row:
    run: Attack
    statuses: list[int]
    mebibytes: int


ROWS: dict[str, Row] = {}


def row(*statuses: int, mebibytes: int = 250) -> Callable[[Attack], Attack]:
    def add(run: Attack) -> Attack:
        ROWS[run.__name__.replace("_", " ")] = Row(run, list(statuses), mebibytes)
        return run

    return add


# Patches


@row(201, 422)
async def a_json_patch_whose_copies_double_the_object(attacker: Attacker) -> list[int]:
    made = await attacker.send("POST", CONFIG_MAPS, config_map("copies"))
    patch = [{"op": "copy", "from": "", "path": f"/d{i}"} for i in range(30)]
    return [made, await attacker.send("PATCH", f"{CONFIG_MAPS}/copies", patch, JSON_PATCH)]


@row(201, 413)
async def a_json_patch_of_too_many_operations(attacker: Attacker) -> list[int]:
    made = await attacker.send("POST", CONFIG_MAPS, config_map("operations"))
    patch = [{"op": "add", "path": "/data", "value": {}}] * 10_001
    return [made, await attacker.send("PATCH", f"{CONFIG_MAPS}/operations", patch, JSON_PATCH)]


@row(201, 413)
async def a_json_patch_at_the_front_of_a_long_list(attacker: Attacker) -> list[int]:
    made = await attacker.send("POST", CONFIG_MAPS, config_map("front", annotations={}))
    numbers = [{"op": "add", "path": "/x", "value": [0] * 1_000_000}]
    patch = numbers + [{"op": "add", "path": "/x/0", "value": 1}] * 9_000
    return [made, await attacker.send("PATCH", f"{CONFIG_MAPS}/front", patch, JSON_PATCH)]


@row(201, 400)
async def a_json_patch_that_nests_the_object(attacker: Attacker) -> list[int]:
    made = await attacker.send("POST", CONFIG_MAPS, config_map("nested"))
    patch = [{"op": "add", "path": "/x0", "value": {}}]
    for i in range(1, 4_900):
        patch.append({"op": "add", "path": f"/x{i}", "value": {}})
        patch.append({"op": "move", "from": f"/x{i - 1}", "path": f"/x{i}/a"})
    return [made, await attacker.send("PATCH", f"{CONFIG_MAPS}/nested", patch, JSON_PATCH)]


@row(201, 422)
async def a_strategic_patch_of_a_long_list_with_keys(attacker: Attacker) -> list[int]:
    long = pod("keys")
    long["spec"]["containers"][0]["env"] = [{"name": f"E{i}"} for i in range(60_000)]
    made = await attacker.send("POST", PODS, long)
    patch = {"spec": {"containers": [{"name": "main", "env": [{"name": f"F{i}"} for i in range(60_000)]}]}}
    return [made, await attacker.send("PATCH", f"{PODS}/keys", patch, STRATEGIC_PATCH)]


@row(201, 200)
async def a_strategic_patch_of_a_long_set(attacker: Attacker) -> list[int]:
    made = await attacker.send("POST", CONFIG_MAPS, config_map("set"))
    patch = {"metadata": {"finalizers": [f"a/f{i}" for i in range(150_000)]}}
    status = await attacker.send("PATCH", f"{CONFIG_MAPS}/set", patch, STRATEGIC_PATCH)
    return [made, status]


@row(201, 200)
async def a_strategic_patch_that_retains_many_keys(attacker: Attacker) -> list[int]:
    made = await attacker.send("POST", CONFIG_MAPS, config_map("kept") | {"data": {f"k{i}": "" for i in range(50_000)}})
    patch = {"data": {"$retainKeys": [f"k{i}" for i in range(150_000)]}}
    return [made, await attacker.send("PATCH", f"{CONFIG_MAPS}/kept", patch, STRATEGIC_PATCH)]


@row(201, 201, 200, 413, 413)
async def merge_patches_that_each_add_to_the_object(attacker: Attacker) -> list[int]:
    status, path = await attacker.define(OPEN)
    statuses = [status, await attacker.send("POST", path, custom(path, {}))]
    for i in range(3):
        statuses.append(await attacker.send("PATCH", f"{path}/w", {"spec": {f"k{i}": "x" * 2_000_000}}, MERGE_PATCH))
    return statuses


# Bodies


@row(413)
async def a_yaml_body_of_many_keys(attacker: Attacker) -> list[int]:
    body = b"x:\n" + b"".join(b" a%d: 1\n" % i for i in range(240_000))
    return [await attacker.send("POST", CONFIG_MAPS, body, YAML)]


@row(413)
async def a_yaml_body_of_a_long_list(attacker: Attacker) -> list[int]:
    return [await attacker.send("POST", CONFIG_MAPS, b"x: [" + b"a," * 1_500_000 + b"]", YAML)]


@row(400)
async def a_yaml_body_of_aliases_of_aliases(attacker: Attacker) -> list[int]:
    lines = [b"a0: &a0 [x]"] + [b"a%d: &a%d [%s]" % (i, i, b",".join([b"*a%d" % (i - 1)] * 10)) for i in range(1, 12)]
    return [await attacker.send("POST", CONFIG_MAPS, b"\n".join(lines), YAML)]


@row(201, 201, 201, 413, mebibytes=92)
async def bodies_of_3_megabytes_of_small_values(attacker: Attacker) -> list[int]:
    """Twenty times the bytes of one, and 32 MiB that any may take: read, checked, written and answered."""
    status, path = await attacker.define(OPEN)
    answers = [status]
    for name, unit in (("a", b'"abc",'), ("b", b'{"name":"abcdef","value":"x y z"},'), ("c", b'{"":{}},')):
        data = json.dumps(custom(path, {"x": []}, name)).encode()
        body = data.replace(b"[]", b"[" + (unit * (2_900_000 // len(unit)))[:-1] + b"]")
        answers.append(await attacker.send("POST", path, body))
    return answers


@row(400, 400, 400)
async def bodies_that_nest(attacker: Attacker) -> list[int]:
    bodies = ((b"[" * 150_000, JSON), (b"[" * 150_000, YAML), (b"- " * 1_000_000, YAML))
    return [await attacker.send("POST", CONFIG_MAPS, body, media) for body, media in bodies]


@row(201, 201)
async def numbers_to_base_60(attacker: Attacker) -> list[int]:
    head = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: base-%d}\nx: 1"
    bodies = (head % 1 + b":1" * 300_000, head % 2 + b":1" * 300_000 + b".5")
    return [await attacker.send("POST", CONFIG_MAPS, body, YAML) for body in bodies]


@row(400)
async def a_body_that_would_be_decompressed(attacker: Attacker) -> list[int]:
    body = gzip.compress(b" " * (200 * MEBIBYTE), 1)
    return [await attacker.send("POST", CONFIG_MAPS, body, **{"Content-Encoding": "gzip"})]


@row(*[201] + [409] * 99, mebibytes=350)
async def many_large_bodies_at_once(attacker: Attacker) -> list[int]:
    body = json.dumps(config_map("large") | {"x": "y" * 2_900_000}).encode()
    return sorted(await asyncio.gather(*(attacker.send("POST", CONFIG_MAPS, body) for _ in range(100))))


# Objects and their schemas


@row(201, 422)
async def a_pattern_with_exponentially_many_ways(attacker: Attacker) -> list[int]:
    schema = {"type": "object", "properties": {"x": {"type": "string", "pattern": "^(a+)+$"}}}
    return await attacker.fill(schema, {"x": "a" * 40 + "b"})


@row(201, 422)
async def a_pattern_with_polynomially_many_ways(attacker: Attacker) -> list[int]:
    schema = {"type": "object", "properties": {"x": {"type": "string", "pattern": "a*a*a*b"}}}
    return await attacker.fill(schema, {"x": "a" * 100_000})


@row(201, 413)
async def a_long_text_for_a_pattern_with_many_states(attacker: Attacker) -> list[int]:
    schema = {"type": "object", "properties": {"x": {"type": "string", "pattern": "[^!]{1,1000}$"}}}
    return await attacker.fill(schema, {"x": "".join(map(chr, range(1_000, 50_000))) * 5})


@row(422)
async def a_pattern_of_repeated_repetitions(attacker: Attacker) -> list[int]:
    schema = {"type": "object", "properties": {"x": {"type": "string", "pattern": "((a{1,1000}){1,1000}){1,1000}"}}}
    return [(await attacker.define(schema))[0]]


@row(413)
async def a_definition_of_many_patterns(attacker: Attacker) -> list[int]:
    patterns = {f"p{i}": {"type": "string", "pattern": f"^[a-z{i}]+(a|b|c)*$"} for i in range(30_000)}
    return [(await attacker.define({"type": "object", "properties": patterns}))[0]]


@row(201, 413)
async def a_long_default_for_each_item_of_a_list(attacker: Attacker) -> list[int]:
    items = {"type": "object", "properties": {"s": {"type": "string", "default": "x" * 100_000}}}
    return await attacker.fill(_list_of(items), {"x": [{}] * 300_000})


@row(201, 413)
async def defaults_whose_items_have_defaults(attacker: Attacker) -> list[int]:
    schema: Any = {"type": "object", "properties": {"v": {"type": "string", "default": "x" * 100}}}
    for _ in range(8):
        schema = {"type": "object", "properties": {"n": {"type": "array", "default": [{}] * 10, "items": schema}}}
    return await attacker.fill(schema, {})


@row(201, 422)
async def many_required_fields_of_many_items(attacker: Attacker) -> list[int]:
    items = {"type": "object", "required": [f"r{i}" for i in range(3_000)]}
    return await attacker.fill(_list_of(items), {"x": [{}] * 190_000})


@row(201, 413)
async def many_allowed_values_of_many_items(attacker: Attacker) -> list[int]:
    return await attacker.fill(_list_of({"type": "integer", "enum": list(range(100_000))}), {"x": [99_999] * 300_000})


@row(201, 413)
async def many_choices_of_many_items(attacker: Attacker) -> list[int]:
    items = {"type": "integer", "anyOf": [{"minimum": i + 2} for i in range(3_000)]}
    return await attacker.fill(_list_of(items), {"x": [1] * 300_000})


@row(201, 422)
async def wrong_values_under_a_long_name(attacker: Attacker) -> list[int]:
    schema = {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "integer"}}}
    return await attacker.fill(schema, {"n" * 1_000_000: ["x"] * 300_000})


@row(400)
async def many_unknown_fields_that_are_refused(attacker: Attacker) -> list[int]:
    body = config_map("strict") | {f"dat{i}": 1 for i in range(150_000)}
    return [await attacker.send("POST", f"{CONFIG_MAPS}?fieldValidation=Strict", body)]


@row(201)
async def many_unknown_fields_that_are_warned_of(attacker: Attacker) -> list[int]:
    return [await attacker.send("POST", CONFIG_MAPS, config_map("warned") | {f"dat{i}": 1 for i in range(150_000)})]


@row(422)
async def many_wrong_annotations(attacker: Attacker) -> list[int]:
    wrong = config_map("wrong", annotations={f"-{i}": "" for i in range(190_000)})
    return [await attacker.send("POST", CONFIG_MAPS, wrong)]


@row(422)
async def many_wrong_containers(attacker: Attacker) -> list[int]:
    wrong = pod("wrong")
    wrong["spec"]["containers"] = [{"name": "-"}] * 150_000
    return [await attacker.send("POST", PODS, wrong)]


@row(422)
async def an_amount_of_a_megabyte(attacker: Attacker) -> list[int]:
    wrong = pod("amount")
    wrong["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "1" * 1_000_000 + "!"}}
    return [await attacker.send("POST", PODS, wrong)]


@row(422)
async def a_definition_of_many_columns(attacker: Attacker) -> list[int]:
    column = {"name": "x", "type": "string", "jsonPath": ".spec"}
    return [(await attacker.define(OPEN, additionalPrinterColumns=[column] * 20_000))[0]]


@row(422)
async def a_path_of_spaces(attacker: Attacker) -> list[int]:
    column = {"name": "x", "type": "string", "jsonPath": "[" + " " * 1_000_000 + "x"}
    return [(await attacker.define(OPEN, additionalPrinterColumns=[column]))[0]]


@row(201, 201, 200)
async def a_table_of_columns_that_show_the_whole_object(attacker: Attacker) -> list[int]:
    column = {"name": "x", "type": "string", "jsonPath": ".spec"}
    status, path = await attacker.define(OPEN, additionalPrinterColumns=[column] * 100)
    made = await attacker.send("POST", path, custom(path, {"x": ["y" * 2_900] * 1_000}))
    table = await attacker.send("GET", path, Accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    return [status, made, table]


# Lists and watches


@row(*[200] * 11, mebibytes=250)
async def lists_and_watches_of_50_megabytes(attacker: Attacker) -> list[int]:
    """Ten lists at once, and then forty watches that nobody reads."""
    _, path = await attacker.define(OPEN)
    for i in range(18):
        await attacker.send("POST", path, custom(path, {"x": "y" * 2_900_000}, f"w{i}"))
    statuses = await asyncio.gather(*(attacker.send("GET", path) for _ in range(10)))
    unread = [await attacker.watch_unread(f"{path}?watch=true") for _ in range(40)]
    await asyncio.sleep(1)
    statuses.append(await attacker.send("GET", f"{path}?limit=1"))
    for writer in unread:
        writer.close()
    return statuses


@row(*[200] * 40, mebibytes=350)
async def changes_of_80_megabytes_for_fifty_watches_that_nobody_reads(attacker: Attacker) -> list[int]:
    _, path = await attacker.define(OPEN)
    await attacker.send("POST", path, custom(path, {}))
    unread = [await attacker.watch_unread(f"{path}?watch=true") for _ in range(50)]
    statuses = []
    for i in range(40):
        patch = {"spec": {"x": f"{i}" * 1_000_000}}
        statuses.append(await attacker.send("PATCH", f"{path}/w", patch, MERGE_PATCH))
    for writer in unread:
        writer.close()
    return statuses


@row(400, 400, 400)
async def selectors_without_end(attacker: Attacker) -> list[int]:
    label, field = ",".join(f"!k{i}" for i in range(1_000)), ",".join(["metadata.name!=x"] * 400)
    queries = (f"labelSelector={label}", f"fieldSelector={field}", "labelSelector=a" + "%20" * 2_500 + "!")
    return [await attacker.send("GET", f"{CONFIG_MAPS}?{query}") for query in queries]


@row(400, 400)
async def many_parameters_and_headers(attacker: Attacker) -> list[int]:
    query = "&".join(f"a{i}=1" for i in range(2_000))
    return [
        await attacker.send("GET", f"{CONFIG_MAPS}?{query}"),
        await attacker.send("GET", CONFIG_MAPS, **{f"X-{i}": "y" for i in range(5_000)}),
    ]


# The test


class Servers:
    """The server under attack; a new one if it has ended."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._count = 0
        self._now: Served | None = None

    def get(self) -> Served:
        if self._now is None or self._now.ended:
            self.end()
            self._count += 1
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
            self._now = Served(self._directory / str(self._count), environment)
            self._now.__enter__()
        return self._now

    def end(self) -> None:
        if self._now is not None:
            self._now.__exit__(None, None, None)
            self._now = None


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    made = Servers(tmp_path_factory.mktemp("bounds"))
    made.get()
    yield made
    made.end()


_LIGHT = (
    "a json patch whose copies double the object",
    "a json patch of too many operations",
    "merge patches that each add to the object",
    "a yaml body of aliases of aliases",
    "bodies that nest",
    "numbers to base 60",
    "a body that would be decompressed",
    "a pattern with exponentially many ways",
    "a pattern of repeated repetitions",
    "a long default for each item of a list",
    "many required fields of many items",
    "an amount of a megabyte",
    "selectors without end",
    "many parameters and headers",
)
"""One or two of each sort."""


@pytest.mark.parametrize("name", keep_light(ROWS, _LIGHT))
def test_a_request_is_answered_within_its_bounds(servers: Servers, name: str) -> None:
    attack, served = ROWS[name], servers.get()
    served.begin()
    try:
        statuses = asyncio.run(_attack(served, attack.run, f"kind{list(ROWS).index(name)}x"))
    except BaseException:
        servers.end()
        raise
    assert statuses == attack.statuses
    assert served.take_longest_stall() < STALL_SECONDS
    assert served.read_growth() < attack.mebibytes


async def _attack(served: Served, run: Attack, prefix: str) -> list[int]:
    context = ssl.create_default_context(cafile=str(served.certificate_authority))
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context, limit=0)) as session:
        attacker = Attacker(served, session, prefix)
        async with asyncio.timeout(SECONDS):
            statuses = await run(attacker)
            assert await attacker.send("GET", "/readyz") == 200
        return statuses
