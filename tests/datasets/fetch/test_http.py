"""One file by http, from servers that cut, change, refuse and lie."""

from __future__ import annotations

import hashlib
import ssl
from pathlib import Path

import pytest
from aiohttp import web

from client.tls_server import make_certificate
from datasets.fetch.calls import fetch, must_fail, must_fetch, read_tree, start
from datasets.fetch.raw import build_answer, serve_raw
from datasets.fetch.web import Server, build_bytes, serve, serve_until_closed
from paddock.datasets.fetch.target import Target
from paddock.datasets.fetching import Failed, Fault, Progress, Report, Request

DATA = build_bytes(600_000)
CHECKSUM = hashlib.sha256(DATA).hexdigest()


def build(server: Server, tmp_path: Path, **options: object) -> Request:
    return Request(uri=server.url(), target=str(tmp_path / "t"), **options)


def redirect(location: str) -> web.Response:
    return web.Response(status=302, headers={"Location": location})


def leave_part(tmp_path: Path, data: bytes, etag: str = '"one"') -> None:
    """What a process that was killed leaves."""
    target = Target(str(tmp_path / "t"))
    part = target.open_part("words.bin")
    part.begin(etag)
    part.append(data)
    part.close()
    target.close()


@pytest.mark.parametrize(
    "behaviour",
    [
        pytest.param({}, id="as servers should be"),
        pytest.param({"length": False}, id="without Content-Length"),
        pytest.param({"etag": ""}, id="without a validator"),
        pytest.param({"etag": "", "last_modified": "Wed, 21 Oct 2026 07:28:00 GMT"}, id="with a date alone"),
        pytest.param({"cuts": [100_000, 200_000, 1]}, id="cut three times"),
        pytest.param({"cuts": [100_000, 200_000], "length": False}, id="cut, without Content-Length"),
        pytest.param({"cuts": [400_000, 300_000], "ranges": False}, id="cut, from its first byte each time"),
        pytest.param({"cuts": [400_000, 300_000], "etag": ""}, id="cut, without a validator"),
        pytest.param({"cuts": [0, 0, 0]}, id="cut before the first byte"),
    ],
)
async def test_a_file_comes_whole(tmp_path: Path, behaviour: dict) -> None:
    async with serve(Server(data=DATA, **behaviour)) as server:
        end = await must_fetch(build(server, tmp_path, sha256=CHECKSUM))
    assert (end.size, end.files) == (len(DATA), 1)
    assert read_tree(tmp_path / "t") == {"words.bin": DATA}


async def test_a_cut_file_goes_on_where_it_was(tmp_path: Path) -> None:
    async with serve(Server(data=DATA, cuts=[300_000])) as server:
        said: list[Report] = []
        end = await must_fetch(build(server, tmp_path), said)
    assert server.sent == end.fetched == len(DATA)
    assert server.requests[1]["Range"].startswith("bytes=3") and server.requests[1]["If-Range"] == '"one"'
    assert server.requests[0]["Accept-Encoding"] == "identity"
    phases = [each.phase for each in said if isinstance(each, Progress)]
    assert [each for at, each in enumerate(phases) if each not in phases[at - 1 : at]] == [
        "listing",
        "fetching",
        "retrying",
        "fetching",
    ]
    assert "cut the connection" in next(each.reason for each in said if each.phase == "retrying")


NOW, BEFORE, SKEWED = "Wed, 21 Oct 2026 07:28:01 GMT", "Wed, 21 Oct 2026 07:28:00 GMT", "Mon, 21 Oct 2026 07:28:00 GMT"


@pytest.mark.parametrize(
    ("modified", "date", "condition"),
    [
        pytest.param(BEFORE, NOW, BEFORE, id="a second ago"),
        pytest.param(SKEWED, NOW, SKEWED, id="a second ago, with a wrong weekday"),
        pytest.param(NOW, NOW, "", id="within this second"),
        pytest.param(NOW, BEFORE, "", id="later than now"),
        pytest.param("yesterday", NOW, "", id="no date"),
    ],
)
async def test_a_date_says_that_a_file_is_the_same_if_it_was_so_for_a_second(
    tmp_path: Path, modified: str, date: str, condition: str
) -> None:
    options = {"etag": "", "last_modified": modified, "date": date, "cuts": [300_000]}
    async with serve(Server(data=DATA, **options)) as server:  # type: ignore[arg-type]
        end = await must_fetch(build(server, tmp_path))
        assert (server.requests[1].get("If-Range", ""), "Range" in server.requests[1]) == (condition, bool(condition))
        assert end.revision == condition
        server.data = build_bytes(600_000, seed=1)  # in the same second
        await must_fetch(build(server, tmp_path, round=1))
        assert server.requests[2].get("If-Modified-Since", "") == condition
    if not condition:
        assert read_tree(tmp_path / "t") == {"words.bin": server.data}


async def test_a_body_that_ends_with_its_connection_is_taken_and_told(tmp_path: Path) -> None:
    async with serve_until_closed(DATA) as url:
        end = await must_fetch(Request(uri=url, target=str(tmp_path / "t")))
        assert (end.size, end.length_unknown) == (len(DATA), True)
        checked = await must_fetch(Request(uri=url, target=str(tmp_path / "u"), sha256=CHECKSUM))
        assert not checked.length_unknown
    async with serve_until_closed(DATA[:1000]) as url:
        cut = await must_fail(Request(uri=url, target=str(tmp_path / "v"), sha256=CHECKSUM))
        assert CHECKSUM in cut.message


@pytest.mark.parametrize("length", [True, False])
async def test_a_length_or_chunks_tell_where_a_body_ends(tmp_path: Path, length: bool) -> None:
    async with serve(Server(data=DATA, length=length)) as server:
        assert not (await must_fetch(build(server, tmp_path))).length_unknown


async def test_a_part_of_another_content_is_thrown_away(tmp_path: Path) -> None:
    """The server's file has changed since: by If-Range it sends all of the new one."""
    leave_part(tmp_path, b"old" * 100_000, '"old"')
    async with serve(Server(data=DATA)) as server:
        await must_fetch(build(server, tmp_path))
    assert read_tree(tmp_path / "t") == {"words.bin": DATA}


async def test_a_server_that_ignores_if_range_is_noticed_by_its_etag(tmp_path: Path) -> None:
    leave_part(tmp_path, b"old" * 100_000, '"old"')

    def lie(request: web.Request) -> web.Response | None:
        if "Range" not in request.headers:
            return None
        headers = {"ETag": '"one"', "Content-Range": f"bytes 300000-{len(DATA) - 1}/{len(DATA)}"}
        return web.Response(status=206, body=DATA[300_000:], headers=headers)

    async with serve(Server(data=DATA, check=lie)) as server:
        await must_fetch(build(server, tmp_path))
    assert read_tree(tmp_path / "t") == {"words.bin": DATA}


async def test_a_part_that_a_checksum_refuses_is_fetched_anew_once(tmp_path: Path) -> None:
    """Without a validator the rest was asked for all the same, and the content had changed."""
    leave_part(tmp_path, b"old" * 100_000, "")
    async with serve(Server(data=DATA, etag="")) as server:
        await must_fetch(build(server, tmp_path, sha256=CHECKSUM))
    assert [each.get("Range", "") for each in server.requests] == ["bytes=300000-", ""]
    assert read_tree(tmp_path / "t") == {"words.bin": DATA}


async def test_a_part_that_is_whole_already_is_taken(tmp_path: Path) -> None:
    """The process was killed between the last byte and the name: the server answers 416."""
    leave_part(tmp_path, DATA)
    async with serve(Server(data=DATA)) as server:
        end = await must_fetch(build(server, tmp_path, sha256=CHECKSUM))
    assert (server.sent, end.fetched) == (0, 0)
    assert read_tree(tmp_path / "t") == {"words.bin": DATA}


async def test_a_part_longer_than_the_file_is_fetched_anew(tmp_path: Path) -> None:
    leave_part(tmp_path, DATA + b"more")
    async with serve(Server(data=DATA)) as server:
        await must_fetch(build(server, tmp_path))
    assert read_tree(tmp_path / "t") == {"words.bin": DATA}


async def test_a_file_that_changes_each_time_is_no_dataset(tmp_path: Path) -> None:
    async with serve(Server(data=DATA, cuts=[100_000] * 20)) as server:

        async def change(number: int) -> None:
            server.etag = f'"{number}"'

        server.before = change
        server.ranges = True
        end = await fetch(build(server, tmp_path))
    assert isinstance(end, Failed)
    assert read_tree(tmp_path / "t") == {}


async def test_a_wrong_checksum_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    async with serve(Server(data=DATA)) as server:
        end = await must_fail(build(server, tmp_path, sha256="0" * 64))
    assert end.fault == Fault.SOURCE
    assert CHECKSUM in end.message and "0" * 64 in end.message
    assert read_tree(tmp_path / "t") == {}
    assert list((tmp_path / "t/.paddock/parts").iterdir()) == []


@pytest.mark.parametrize(
    ("status", "fault", "words"),
    [
        (401, Fault.SOURCE, "refuses http://127.0.0.1:PORT/words.bin (401 Unauthorized): spec.source.secretName"),
        (403, Fault.SOURCE, "(403 Forbidden)"),
        (404, Fault.SOURCE, "has no http://127.0.0.1:PORT/words.bin (404 Not Found): correct spec.source.uri"),
        (410, Fault.SOURCE, "410 Gone"),
        (400, Fault.SOURCE, "answers 400 Bad Request"),
        (503, Fault.NETWORK, "127.0.0.1 answers 503 Service Unavailable; tried 4 times without getting further"),
        (429, Fault.NETWORK, "429 Too Many Requests"),
    ],
)
async def test_what_a_server_answers_is_told(tmp_path: Path, status: int, fault: Fault, words: str) -> None:
    async with serve(Server(check=lambda request: web.Response(status=status))) as server:
        end = await must_fail(build(server, tmp_path))
        assert end.fault == fault
        assert words.replace("PORT", str(server.port)) in end.message


async def test_a_server_that_is_ill_for_a_while_is_waited_for(tmp_path: Path) -> None:
    async with serve(Server(data=DATA, answers=[web.Response(status=503), web.Response(status=502)])) as server:
        said: list[Report] = []
        await must_fetch(build(server, tmp_path), said)
    assert [each.reason for each in said if each.reason] == [
        "127.0.0.1 answers 503 Service Unavailable",
        "127.0.0.1 answers 502 Bad Gateway",
    ]


async def test_tries_are_counted_from_where_a_file_last_got_further(tmp_path: Path) -> None:
    """More cuts than tries in a row are allowed, each a little further."""
    async with serve(Server(data=DATA, cuts=[30_000] * 15)) as server:
        await must_fetch(build(server, tmp_path))
    assert len(server.requests) == 16


async def test_a_server_that_never_gets_further_is_given_up(tmp_path: Path) -> None:
    async with serve(Server(data=DATA, cuts=[100_000] * 99, ranges=False)) as server:
        end = await must_fail(build(server, tmp_path))
    assert end.fault == Fault.NETWORK
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    ("secret", "header"),
    [
        ({"token": "hush"}, "Bearer hush"),
        ({"username": "ann", "password": "hush"}, "Basic YW5uOmh1c2g="),
        ({}, None),
    ],
)
async def test_credentials_go_to_their_host_alone(tmp_path: Path, secret: dict, header: str | None) -> None:
    async with serve(Server(data=DATA)) as other, serve(Server()) as server:
        url = other.url("real.bin").replace("127.0.0.1", "localhost")
        server.check = lambda request: redirect(url)
        await must_fetch(build(server, tmp_path, secret=secret))
    assert server.requests[0].get("Authorization") == header
    assert "Authorization" not in other.requests[0]
    assert read_tree(tmp_path / "t") == {"words.bin": DATA}


@pytest.mark.parametrize(
    ("secret", "header"),
    [
        ({}, "Basic YW5uOmh1c2g="),
        ({"username": "bob", "password": "né"}, "Basic Ym9iOm7DqQ=="),
        ({"token": "token"}, "Bearer token"),
    ],
)
async def test_a_secret_counts_before_what_the_address_has(tmp_path: Path, secret: dict, header: str) -> None:
    async with serve(Server(data=DATA)) as server:
        url = server.url().replace("://", "://ann:hush@")
        await must_fetch(Request(uri=url, target=str(tmp_path / "t"), secret=secret))
    assert server.requests[0]["Authorization"] == header


async def test_a_token_that_no_header_can_have_is_told(tmp_path: Path) -> None:
    end = await must_fail(Request(uri="http://127.0.0.1:9/x", target=str(tmp_path / "t"), secret={"token": "a\nb"}))
    assert (end.fault, end.message) == (
        Fault.SOURCE,
        "the token of the Secret has a character that no header can have: correct it",
    )


@pytest.mark.parametrize("location", ["http://ann:hush@127.0.0.1:PORT/x", "http://127.0.0.1:99999/x", "http://[::1/x"])
async def test_a_redirect_that_cannot_be_asked_for_is_told(tmp_path: Path, location: str) -> None:
    async with serve_raw(lambda head: answer) as server:
        place = location.replace("PORT", str(server.port))
        told = f"Location: {place}".encode(errors="surrogateescape").decode("latin-1")
        answer = build_answer("302 Found", told, "Content-Length: 0")
        end = await must_fail(Request(uri=f"{server.url}/x", target=str(tmp_path / "t"), secret={"token": "t" * 9}))
    assert end.fault == Fault.SOURCE
    assert f"{server.url}/x leads to " in end.message and "hush" not in end.message and end.message.isprintable()


@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://127.0.0.1/x"])
async def test_no_redirect_leaves_http(tmp_path: Path, location: str) -> None:
    async with serve(Server(check=lambda request: redirect(location))) as server:
        end = await must_fail(build(server, tmp_path))
    assert end.fault == Fault.SOURCE
    assert f"leads to {location}" in end.message


async def test_redirects_without_end_are_told(tmp_path: Path) -> None:
    async with serve(Server()) as server:
        server.check = lambda request: redirect(server.url())
        end = await must_fail(build(server, tmp_path))
    assert "from one address to the next" in end.message


async def test_packed_bytes_are_not_taken_for_the_file(tmp_path: Path) -> None:
    def pack(request: web.Request) -> web.Response:
        return web.Response(body=b"xx", headers={"Content-Encoding": "gzip"})

    async with serve(Server(check=pack)) as server:
        end = await must_fail(build(server, tmp_path))
    assert "packed by gzip" in end.message


async def test_names_that_are_not_known_and_closed_ports_are_the_networks(tmp_path: Path) -> None:
    target = str(tmp_path / "t")
    for url, words in (
        ("http://nobody.invalid/x", "the name nobody.invalid is not known"),
        ("http://127.0.0.1:9/x", "127.0.0.1:9 cannot be reached (Connect"),
    ):
        end = await must_fail(Request(uri=url, target=target))
        assert end.fault == Fault.NETWORK
        assert words in end.message


async def test_nothing_secret_is_in_a_message(tmp_path: Path) -> None:
    async with serve(Server(check=lambda request: web.Response(status=403))) as server:
        url = server.url("x?signature=hush1").replace("//", "//ann:hush2@")
        end = await must_fail(Request(uri=url, target=str(tmp_path / "t")))
    assert "hush" not in end.message and "ann" not in end.message


class TestAgain:
    async def test_a_later_round_asks_whether_it_has_changed(self, tmp_path: Path) -> None:
        async with serve(Server(data=DATA)) as server:
            await must_fetch(build(server, tmp_path))
            same = await must_fetch(build(server, tmp_path, round=1))
            assert server.requests[1]["If-None-Match"] == '"one"'
            assert (same.fetched, same.size, same.revision) == (0, len(DATA), '"one"')
            server.data, server.etag = b"new", '"two"'
            await must_fetch(build(server, tmp_path, round=2))
        assert read_tree(tmp_path / "t") == {"words.bin": b"new"}

    async def test_a_checksum_that_agrees_needs_no_server(self, tmp_path: Path) -> None:
        async with serve(Server(data=DATA)) as server:
            await must_fetch(build(server, tmp_path))
            end = await must_fetch(build(server, tmp_path, sha256=CHECKSUM))
        assert (len(server.requests), end.fetched, end.size) == (1, 0, len(DATA))

    async def test_another_address_replaces_the_file(self, tmp_path: Path) -> None:
        async with serve(Server(data=DATA)) as server:
            await must_fetch(build(server, tmp_path))
            server.data = b"other"
            await must_fetch(Request(uri=server.url("other.bin"), target=str(tmp_path / "t")))
        assert read_tree(tmp_path / "t") == {"other.bin": b"other"}

    async def test_a_spoilt_file_is_fetched_again(self, tmp_path: Path) -> None:
        async with serve(Server(data=DATA)) as server:
            await must_fetch(build(server, tmp_path))
            (tmp_path / "t/words.bin").write_bytes(b"short")
            await must_fetch(build(server, tmp_path))
        assert read_tree(tmp_path / "t") == {"words.bin": DATA}


async def test_a_certificate_that_is_not_trusted_is_told_and_can_be(tmp_path: Path) -> None:
    file, certificate = make_certificate(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(file)
    async with serve(Server(data=DATA), context) as server:
        request = Request(uri=server.url().replace("http:", "https:"), target=str(tmp_path / "t"))
        end = await must_fail(request)
        assert end.fault == Fault.MACHINE
        assert "its certificate is not trusted here" in end.message and "SSL_CERT_FILE" in end.message
        (tmp_path / "authority.pem").write_text(certificate)
        code, _ = await (await start(request, {"SSL_CERT_FILE": str(tmp_path / "authority.pem")})).end()
    assert code == 0
    assert read_tree(tmp_path / "t") == {"words.bin": DATA}


async def test_a_proxy_of_the_environment_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve(Server(data=DATA)) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url("").rstrip("/"))
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        await must_fetch(Request(uri="http://nobody.invalid/words.bin", target=str(tmp_path / "t")))
    assert proxy.requests[0]["Host"] == "nobody.invalid"
