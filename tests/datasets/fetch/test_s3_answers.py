"""What a bucket answers that moto never does: refusals, spoilt bytes, ETags that are no MD5, 10^5 objects."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from aiohttp import web

from datasets.fetch.buckets import KEYS
from datasets.fetch.calls import fetch, must_fail, must_fetch, read_tree, start
from datasets.fetch.web import Server, build_bytes, serve
from paddock.datasets.fetch.fences import Fence, open_fence
from paddock.datasets.fetching import Fault, Report, Request

LARGE = build_bytes(400_000)
ERROR = '<?xml version="1.0"?><Error><Code>%s</Code><Message>no</Message></Error>'


@dataclass
class Bucket:
    """The bucket "words", by hand. `tags`: ETags that differ from the MD5; `spoils`: how often an object comes wrong;
    `sizes`: what the listing says in place of the true ones;
    `answers`: given instead of objects, as (status, code), one for each request."""

    objects: dict[str, bytes]
    tags: dict[str, str] = field(default_factory=dict)
    spoils: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    answers: list[tuple[int, str]] = field(default_factory=list)
    always: tuple[int, str] | None = None
    page: int = 1000
    seen: list[str] = field(default_factory=list)

    def answer(self, request: web.Request) -> web.Response:
        self.seen.append(request.headers.get("Authorization", ""))
        if self.always:
            return web.Response(status=self.always[0], text=ERROR % self.always[1])
        key = request.path.removeprefix("/words").strip("/")
        if not key:
            return self._list(request)
        if self.answers:
            status, code = self.answers.pop(0)
            return web.Response(status=status, text=ERROR % code)
        return self._give(request, key)

    def _tag(self, key: str) -> str:
        return self.tags.get(key) or f'"{hashlib.md5(self.objects[key]).hexdigest()}"'

    def _list(self, request: web.Request) -> web.Response:
        prefix, after = request.query.get("prefix", ""), request.query.get("continuation-token", "")
        names = [key for key in self.objects if key.startswith(prefix) and key > after][: self.page]
        more = len(names) == self.page
        entry = "<Contents><Key>%s</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>%s</ETag>"
        entry += "<Size>%d</Size><StorageClass>STANDARD</StorageClass></Contents>"
        sizes = {key: len(data) for key, data in self.objects.items()} | self.sizes
        found = "".join(entry % (escape(key), escape(self._tag(key)), sizes[key]) for key in names)
        next_page = f"<NextContinuationToken>{escape(names[-1])}</NextContinuationToken>" if more else ""
        text = f"<ListBucketResult><Name>words</Name><IsTruncated>{str(more).lower()}</IsTruncated>{found}{next_page}"
        return web.Response(text=f'<?xml version="1.0"?>{text}</ListBucketResult>', content_type="application/xml")

    def _give(self, request: web.Request, key: str) -> web.Response:
        if key not in self.objects:
            return web.Response(status=404, text=ERROR % "NoSuchKey")
        data, tag = self.objects[key], self._tag(key)
        headers = {"ETag": tag, "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT"}
        if request.headers.get("If-Match", tag) != tag:
            return web.Response(status=412, text=ERROR % "PreconditionFailed")
        if self.spoils.get(key, 0) > 0:
            data = bytes([(data[0] + self.spoils[key]) % 256]) + data[1:]
            self.spoils[key] -= 1
        begin = int(request.headers.get("Range", "bytes=0-")[6:].rstrip("-"))
        if begin:
            headers["Content-Range"] = f"bytes {begin}-{len(data) - 1}/{len(data)}"
        return web.Response(status=206 if begin else 200, body=data[begin:], headers=headers)


def build(server: Server, tmp_path: Path, **options: object) -> Request:
    usual = {"uri": "s3://words/train/", "target": str(tmp_path / "t"), "secret": KEYS}
    return Request(**{**usual, "endpoint": server.url("").rstrip("/"), **options})


@pytest.mark.parametrize("data", [b"small", LARGE], ids=["small", "large"])
class TestChecksums:
    async def test_bytes_that_were_spoilt_on_the_way_come_again(self, tmp_path: Path, data: bytes) -> None:
        bucket = Bucket({"train/a": data}, spoils={"train/a": 1})
        async with serve(Server(check=bucket.answer)) as server:
            end = await must_fetch(build(server, tmp_path))
        assert read_tree(tmp_path / "t") == {"a": data}
        assert (end.size, end.fetched) == (len(data), 2 * len(data))

    async def test_bytes_that_differ_each_time_are_refused(self, tmp_path: Path, data: bytes) -> None:
        bucket = Bucket({"train/a": data}, spoils={"train/a": 99})
        async with serve(Server(check=bucket.answer)) as server:
            end = await must_fail(build(server, tmp_path))
        assert end.fault == Fault.SOURCE
        assert f"the bucket says {hashlib.md5(data).hexdigest()}: its bytes change on the way" in end.message
        assert read_tree(tmp_path / "t") == {}

    async def test_tags_that_are_no_checksums_are_known_by_the_same_bytes(self, tmp_path: Path, data: bytes) -> None:
        """Objects that a key service encrypts. One comes twice, and the others once."""
        keys = [f"train/{number:02}" for number in range(30)]
        bucket = Bucket(dict.fromkeys(keys, data), tags=dict.fromkeys(keys, f'"{"a" * 32}"'))
        async with serve(Server(check=bucket.answer)) as server:
            end = await must_fetch(build(server, tmp_path))
            assert set(read_tree(tmp_path / "t").values()) == {data}
            assert end.size == 30 * len(data) and end.fetched <= 38 * len(data)
            assert end.tags_differ
            again = await must_fetch(build(server, tmp_path, round=1))
            assert (again.fetched, again.tags_differ) == (0, True), "what was found once is said by the next process"

    async def test_tags_that_are_checksums_are_not_doubted(self, tmp_path: Path, data: bytes) -> None:
        async with serve(Server(check=Bucket({"train/a": data}, spoils={"train/a": 1}).answer)) as server:
            assert not (await must_fetch(build(server, tmp_path))).tags_differ


@pytest.mark.parametrize(
    "size", [-5, pytest.param(2**63, marks=pytest.mark.slow), pytest.param(2**70, marks=pytest.mark.slow)]
)
async def test_a_size_that_is_none_is_refused_where_it_is_listed(tmp_path: Path, size: int) -> None:
    bucket = Bucket({"train/a": b"a"}, sizes={"train/a": size})
    async with serve(Server(check=bucket.answer)) as server:
        end = await must_fail(build(server, tmp_path))
    assert (end.fault, len(bucket.seen)) == (Fault.SOURCE, 1)
    assert str(size) in end.message and "a file has 0 to 9223372036854775807 bytes: correct it there" in end.message


@pytest.mark.parametrize("data", [b"small", pytest.param(LARGE, marks=pytest.mark.slow)], ids=["small", "large"])
@pytest.mark.parametrize("size", [1, 500_000])
async def test_an_object_of_another_size_than_listed_is_looked_at_again(tmp_path: Path, data: bytes, size: int) -> None:
    """Without If-Match nothing else tells that it has changed; the object's own answer has its size."""
    bucket = Bucket({"train/a": data}, sizes={"train/a": size})
    async with serve(Server(check=bucket.answer)) as server:
        end = await must_fetch(build(server, tmp_path))
    assert (end.size, end.length_unknown) == (len(data), False)
    assert read_tree(tmp_path / "t") == {"a": data}


@pytest.mark.parametrize(
    ("status", "code", "fault", "words"),
    [
        (
            403,
            "AccessDenied",
            Fault.SOURCE,
            "is refused (AccessDenied): spec.source.secretName names",
        ),
        (403, "InvalidAccessKeyId", Fault.SOURCE, "is refused (InvalidAccessKeyId)"),
        pytest.param(401, "Unauthorized", Fault.SOURCE, "is refused (Unauthorized)", marks=pytest.mark.slow),
        pytest.param(
            404, "NoSuchBucket", Fault.SOURCE, "there is no bucket words at http://127.0.0.1", marks=pytest.mark.slow
        ),
        pytest.param(
            400,
            "AuthorizationHeaderMalformed",
            Fault.SOURCE,
            "400 Bad Request AuthorizationHeaderMalformed: correct",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            503, "SlowDown", Fault.NETWORK, "answers 503 Service Unavailable; tried 4 times", marks=pytest.mark.slow
        ),
        pytest.param(
            500,
            "InternalError",
            Fault.NETWORK,
            "answers 500 Internal Server Error; tried 4 times",
            marks=pytest.mark.slow,
        ),
    ],
)
async def test_what_a_bucket_refuses_is_told(tmp_path: Path, status: int, code: str, fault: Fault, words: str) -> None:
    async with serve(Server(check=Bucket({}, always=(status, code)).answer)) as server:
        end = await must_fail(build(server, tmp_path))
    assert (end.fault, words in end.message) == (fault, True), end.message
    assert "hush" not in end.message and "Debug" not in end.message and end.message.isprintable()


async def test_a_bucket_that_is_ill_for_a_while_is_waited_for(tmp_path: Path) -> None:
    bucket = Bucket({"train/a": b"a", "train/large": LARGE}, answers=[(503, "SlowDown"), (500, "InternalError")])
    async with serve(Server(check=bucket.answer)) as server:
        said: list[Report] = []
        await must_fetch(build(server, tmp_path), said)
    assert read_tree(tmp_path / "t") == {"a": b"a", "large": LARGE}
    assert any("answers 503" in each.reason for each in said)


async def test_without_credentials_nothing_is_signed(tmp_path: Path) -> None:
    bucket = Bucket({"train/a": b"a"})
    async with serve(Server(check=bucket.answer)) as server:
        await must_fetch(build(server, tmp_path, secret={}))
    assert set(bucket.seen) == {""}


async def test_with_credentials_all_is_signed_for_the_region(tmp_path: Path) -> None:
    bucket = Bucket({"train/a": b"a"})
    async with serve(Server(check=bucket.answer)) as server:
        # As `echo key | base64` gives them, with the end of a line.
        secret = {key: f"{value}\n" for key, value in KEYS.items()}
        await must_fetch(build(server, tmp_path, region="cn-north-4", secret=secret))
    assert all("/cn-north-4/s3/aws4_request" in each for each in bucket.seen)


async def test_an_object_that_is_removed_under_way_is_told(tmp_path: Path) -> None:
    bucket = Bucket({"train/a": b"a", "train/b": b"b"})

    class Removes(list):
        def append(self, report: Report) -> None:
            bucket.objects.pop("train/b", None) if getattr(report, "phase", "") == "fetching" else None

    async with serve(Server(check=bucket.answer)) as server:
        end = await fetch(build(server, tmp_path), Removes())
    assert end.message == "s3://words/train/b was removed while the dataset was fetched: fetch it again"


@pytest.mark.slow
async def test_many_objects_are_listed_with_little_memory(tmp_path: Path) -> None:
    """10^5 names, of which none is wanted: the listing alone, in a process that tells its largest size."""
    names = {f"train/{number:06}/a-rather-long-name-of-an-image.jpg": b"" for number in range(100_000)}
    code = (
        "import os, re, runpy, sys\n"
        "leave = os._exit\n"
        "def end(code):\n"
        "    found = re.search('VmHWM:\\\\s+(\\\\d+)', open('/proc/self/status').read())\n"
        "    print(found[1], file=sys.__stdout__, flush=True)\n"
        "    leave(code)\n"
        "os._exit = end\n"
        "runpy.run_module('paddock.datasets.fetch', run_name='__main__')\n"
    )
    async with serve(Server(check=Bucket(names, page=5000).answer)) as server:
        child = await start(build(server, tmp_path, include=("*.none",)), code=code)
        _, end = await child.end()
        assert child.process.stdout is not None
        size = int((await child.process.stdout.read()).split()[0])
    assert "has 100000 objects, and spec.source.include and exclude leave none of them" in end.message
    assert 20_000 < size < 55_000, size


class TestRedirects:
    @pytest.mark.parametrize("what", ["list", "object"])
    async def test_another_host_gets_no_token_and_gives_no_object(self, tmp_path: Path, what: str) -> None:
        bucket, other = Bucket({"train/a": b"a"}), Bucket({"train/a": b"evil"})
        async with serve(Server(check=other.answer)) as elsewhere, serve(Server()) as server:

            def lead(request: web.Request) -> web.Response:
                if what == "object" and "list-type" in request.query:
                    return bucket.answer(request)
                location = f"http://localhost:{elsewhere.port}{request.path_qs}"
                return web.Response(status=307, headers={"Location": location})

            server.check = lead
            end = await must_fail(build(server, tmp_path, secret={**KEYS, "sessionToken": "token"}))
            assert end.fault == Fault.SOURCE
            assert f"leads to localhost:{elsewhere.port}: objects of another host are not taken" in end.message
            assert elsewhere.requests == [] and read_tree(tmp_path / "t") == {}

    async def test_by_https_as_well(self, tmp_path: Path) -> None:
        location = {"Location": "https://localhost/words"}
        async with serve(Server(check=lambda request: web.Response(status=307, headers=location))) as server:
            end = await must_fail(build(server, tmp_path))
        assert "leads to localhost: objects of another host are not taken" in end.message

    async def test_a_password_in_the_address_of_another_host_is_not_told(self, tmp_path: Path) -> None:
        location = {"Location": "http://ann:hush@localhost:9/words"}
        async with serve(Server(check=lambda request: web.Response(status=307, headers=location))) as server:
            end = await must_fail(build(server, tmp_path))
        assert "leads to localhost:9: objects" in end.message and "hush" not in end.message

    @pytest.mark.parametrize("direct", ["127.0.0.1,localhost", "127.0.0.0/8,localhost", "*"])
    async def test_another_host_gets_no_token_where_a_proxy_is_not_asked_for_the_bucket(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, direct: str
    ) -> None:
        async with serve(Server()) as elsewhere, serve(Server()) as proxy, serve(Server()) as server:
            monkeypatch.setenv("http_proxy", proxy.url("").rstrip("/"))
            monkeypatch.setenv("no_proxy", direct)
            location = {"Location": f"http://localhost:{elsewhere.port}/words"}
            server.check = lambda request: web.Response(status=307, headers=location)
            end = await must_fail(build(server, tmp_path, secret={**KEYS, "sessionToken": "token"}))
        assert f"leads to localhost:{elsewhere.port}: objects of another host are not taken" in end.message
        assert (len(server.requests), elsewhere.requests, proxy.requests) == (1, [], [])

    async def test_nothing_goes_around_the_proxy_by_which_the_bucket_is_reached(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with serve(Server()) as elsewhere, serve(Server()) as proxy:
            monkeypatch.setenv("http_proxy", proxy.url("").rstrip("/"))
            monkeypatch.setenv("no_proxy", "localhost")
            location = {"Location": f"http://localhost:{elsewhere.port}/words"}

            def answer(request: web.Request) -> web.Response:
                if request.headers["Host"] == "nobody.invalid":
                    return web.Response(status=307, headers=location)
                return web.Response(status=403)

            proxy.check = answer
            secret = {**KEYS, "sessionToken": "token"}
            end = await must_fail(build(proxy, tmp_path, endpoint="http://nobody.invalid", secret=secret))
        assert "is refused (access denied)" in end.message
        assert elsewhere.requests == []
        assert [each["Host"] for each in proxy.requests] == ["nobody.invalid", f"localhost:{elsewhere.port}"]

    async def test_the_same_host_may_lead_on(self, tmp_path: Path) -> None:
        bucket = Bucket({"train/a": b"a"})

        def lead(request: web.Request) -> web.Response:
            if request.path.startswith("/words"):
                return web.Response(status=307, headers={"Location": f"/other{request.path_qs}"})
            return bucket.answer(request.clone(rel_url=request.path_qs.removeprefix("/other")))

        async with serve(Server(check=lead)) as server:
            await must_fetch(build(server, tmp_path, secret={}))
        assert read_tree(tmp_path / "t") == {"a": b"a"}

    async def test_a_proxy_of_the_environment_is_asked(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        bucket = Bucket({"train/a": b"a"})
        async with serve(Server(check=bucket.answer)) as proxy:
            monkeypatch.setenv("http_proxy", proxy.url("").rstrip("/"))
            await must_fetch(build(proxy, tmp_path, endpoint="http://nobody.invalid"))
        assert {each["Host"] for each in proxy.requests} == {"nobody.invalid"}


class TestFence:
    @pytest.mark.parametrize(
        ("endpoint", "excluded"),
        [
            ("https://minio.example.com:9000", "minio.example.com"),
            ("http://[0:0::1]:9000", "::1"),
            ("https://例子.example", "xn--fsqu00a.example"),
        ],
    )
    def test_the_host_of_a_bucket_is_asked_without_a_proxy(self, endpoint: str, excluded: str) -> None:
        assert Fence(port=9, agent="paddock/1").build_options(endpoint) == {
            "proxy_url": "http://127.0.0.1:9",
            "proxy_excludes": excluded,
            "user_agent": "paddock/1",
        }

    @pytest.mark.parametrize(
        ("endpoint", "environ", "proxy"),
        [
            ("http://10.1.2.3:9000", {"http_proxy": "http://proxy:3128"}, "http://proxy:3128"),
            ("http://10.1.2.3:9000", {"http_proxy": "proxy:3128"}, "http://proxy:3128"),
            ("http://10.1.2.3:9000", {"all_proxy": "socks5h://proxy"}, "socks5h://proxy"),
            ("http://10.1.2.3:9000", {"https_proxy": "http://proxy:3128"}, ""),
            ("http://10.1.2.3:9000", {"http_proxy": "ftp://proxy"}, ""),
            ("http://10.1.2.3:9000", {"http_proxy": "http://proxy:99999"}, ""),
            ("http://10.1.2.3:9000", {"http_proxy": "http://"}, ""),
            ("http://10.1.2.3:9000", {"http_proxy": "http://p", "no_proxy": "a b, 10.0.0.0/8 ,,"}, ""),
            ("http://10.1.2.3:9000", {"http_proxy": "http://p", "no_proxy": "10.1.2.3/8"}, ""),
            ("http://10.1.2.3:9000", {"http_proxy": "http://p", "no_proxy": "11.0.0.0/8,fc00::/7,/8"}, "http://p"),
            ("http://[fc00::1]", {"http_proxy": "http://p", "no_proxy": "10.0.0.0/8,fc00::/7"}, ""),
            ("http://minio.svc", {"http_proxy": "http://p", "no_proxy": "10.0.0.0/8,.svc"}, ""),
        ],
    )
    def test_a_proxy_is_the_way_to_every_host_or_to_none(
        self, monkeypatch: pytest.MonkeyPatch, endpoint: str, environ: dict[str, str], proxy: str
    ) -> None:
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        options = Fence(port=9).build_options(endpoint)
        assert options == {"proxy_url": proxy} if proxy else "proxy_excludes" in options

    @pytest.mark.parametrize("said", ["", "User-Agent: paddock/1\r\n", "User-Agent: \xff\r\n"])
    async def test_a_stranger_of_the_machine_changes_nothing(self, said: str) -> None:
        async with open_fence() as fence:
            assert await ask(fence, f"GET http://elsewhere.example/ HTTP/1.1\r\n{said}") == "HTTP/1.1 403 Forbidden"
            assert fence.led_to == ""

    async def test_a_line_that_is_no_request_is_answered(self) -> None:
        async with open_fence() as fence:
            assert await ask(fence, "GET\r\n") == "HTTP/1.1 403 Forbidden"


async def ask(fence: Fence, head: str) -> str:
    """The first line of the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", fence.port)
    writer.write(head.encode("latin-1") + b"\r\n")
    answer = await reader.read()
    writer.close()
    return answer.decode().partition("\r\n")[0]
