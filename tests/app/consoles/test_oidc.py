"""Readers sign in by an OpenID Connect provider: from the button to their pages, and what goes wrong on the way."""

from __future__ import annotations

import asyncio
import html
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, TCPConnector, web
from yarl import URL

from paddock.apiserver.http.certificates import make_certificates
from paddock.app.consoles.oidc import AGAIN_SECONDS, OidcProvider, RenewedCredentials, build_trust, read_secret
from paddock.app.health import CannotServe
from paddock.client.identity import Credential
from paddock.console import oidc
from paddock.console.page_context import PageContext, Screen
from paddock.console.sessions import Sessions
from paddock.kube.errors import ApiError, Unauthorized, Unavailable
from paddock.words.phrases import phrase
from support.consoles import PADDLE
from support.oidc_console import HOST, Cluster, serving
from support.oidc_provider import (
    CLIENT,
    SECRET,
    Provider,
    ask_provider,
    come_back,
    providing,
    read,
    sign_in,
    start_sign_in,
)
from support.readers import reading

HTTPS = {"Host": HOST, "X-Forwarded-Proto": "https"}
NOW = 1_000_000.0


async def test_a_reader_signs_in_by_the_provider_and_nothing_secret_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with providing(tmp_path) as provider, serving(Cluster(), provider) as url, reading(url) as ann:
        async with ann.get("/new?x=1") as asked:
            text = await read(asked)
        name = URL(provider.issuer).authority
        assert f'href="/sign-in/start?next=/new%3Fx%3D1">Sign in with {name}</a>' in text
        assert 'name="token"' in text, "a token still does"
        done = await sign_in(ann, provider, "/new?x=1")
        assert done.status == 200
        assert f'url={ann.root}/new?x=1"' in await done.text()
        async with ann.get("/") as page:
            assert "of-ann" in await page.text()
        for secret in (SECRET, *provider.given, *(form.get("code_verifier", "-") for form in provider.posts)):
            assert secret not in caplog.text
            assert secret not in await done.text()


async def test_the_provider_is_told_no_password_of_netrc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "netrc").write_text("default login other password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    told = list[str | None]()

    async def answer(request: web.Request) -> web.StreamResponse:
        told.append(request.headers.get("Authorization"))
        raise web.HTTPServiceUnavailable

    async with providing(tmp_path) as provider, serving(Cluster(), provider) as url, reading(url) as ann:
        provider.instead["/.well-known/openid-configuration"] = answer
        await start_sign_in(ann)
    assert told == [None]


async def test_the_cookies_of_a_sign_in_go_to_the_sign_in_alone_and_that_of_the_session_to_no_other_site(
    tmp_path: Path,
) -> None:
    async with (
        providing(tmp_path) as provider,
        serving(Cluster(), provider, behind_tls=True) as url,
        reading(url) as ann,
    ):
        begun = await start_sign_in(ann, **HTTPS)
        (cookie,) = begun.cookies.values()
        assert cookie.key.startswith("__Secure-paddock-sign-in-")
        assert (cookie["path"], cookie["samesite"], cookie["max-age"]) == ("/sign-in", "Lax", "600")
        assert cookie["secure"] and cookie["httponly"] and not cookie["domain"]
        assert "redirect_uri=https%3A%2F%2Fconsole.example.com%2Fsign-in%2Fdone" in begun.headers["Location"]
        back = await ask_provider(provider, begun.headers["Location"])
        carried = f"{cookie.key}={cookie.value}"
        done = await come_back(ann, back, Cookie=carried, **HTTPS)
        session = done.cookies["__Secure-paddock-session"]
        assert (session["samesite"], session["path"]) == ("Strict", ann.root)
        assert done.cookies[cookie.key]["max-age"] == "0", "it is not wanted any more"
        assert "default-src 'none'" in done.headers["Content-Security-Policy"]


async def test_a_sign_in_is_done_once_and_in_the_browser_that_began_it(tmp_path: Path) -> None:
    async with (
        providing(tmp_path) as provider,
        serving(Cluster(), provider) as url,
        reading(url) as ann,
        reading(url) as eve,
    ):
        begun = await start_sign_in(ann)
        back = await ask_provider(provider, begun.headers["Location"])
        for stranger in (await come_back(eve, back), await come_back(ann, "/sign-in/done?code=c&state=none")):
            assert stranger.status == 401
            assert "was not begun in this browser" in await read(stranger)
            assert not stranger.cookies
        assert provider.posts == [], "nobody is asked for what nobody began"
        assert (await come_back(ann, back)).status == 200
        assert (await come_back(ann, back)).status == 401


async def test_two_tabs_of_one_browser_both_sign_in(tmp_path: Path) -> None:
    async with providing(tmp_path) as provider, serving(Cluster(), provider) as url, reading(url) as ann:
        both = [(await start_sign_in(ann)).headers["Location"] for _ in range(2)]
        for address in both:
            assert (await come_back(ann, await ask_provider(provider, address))).status == 200


async def test_another_site_begins_nobodys_sign_in(tmp_path: Path) -> None:
    async with providing(tmp_path) as provider, serving(Cluster(), provider) as url, reading(url) as ann:
        for site in ("cross-site", "same-site"):
            answer = await start_sign_in(ann, **{"Sec-Fetch-Site": site})
            assert (answer.status, len(answer.cookies)) == (200, 0)
        async with ann.head("/sign-in/start") as answer:
            assert answer.status == 405
        assert (await start_sign_in(ann, **{"Sec-Fetch-Site": "same-origin"})).status == 303


async def test_a_sign_in_goes_on_to_no_other_site(tmp_path: Path) -> None:
    async with providing(tmp_path) as provider, serving(Cluster(), provider) as url, reading(url) as ann:
        for following in ("https://evil.example", "//evil.example", "/\\evil.example", "/\tx", "/sign-in/start", "x"):
            done = await sign_in(ann, provider, following)
            assert f'content="0; url={ann.root}/"' in await done.text()
        for following in ('/new?a="><script>', "/new?text='&b=1#r"):
            done = await sign_in(ann, provider, following)
            text = await done.text()
            assert f'content="0; url={ann.root}{following}"' in html.unescape(text).replace("&#39;", "'")
            assert "<script>" not in text


async def test_nobody_is_sent_to_the_provider_over_plain_http(tmp_path: Path) -> None:
    async with providing(tmp_path) as provider, serving(Cluster(), provider) as url, reading(url) as ann:
        answer = await start_sign_in(ann, Host=HOST)
        assert "this page came over plain HTTP" in await read(answer)
        assert "Sign in with" not in await answer.text()
        assert not answer.cookies


async def test_who_begins_too_often_waits_and_who_gets_in_does_not_count(tmp_path: Path) -> None:
    async with providing(tmp_path) as provider, serving(Cluster(), provider) as url, reading(url) as ann:
        for _ in range(12):
            assert (await sign_in(ann, provider)).status == 200
        tries = [await start_sign_in(ann) for _ in range(12)]
        assert tries[-1].status == 429
        assert int(tries[-1].headers["Retry-After"]) > 0


async def test_what_the_provider_says_against_a_sign_in_is_told_and_is_text(tmp_path: Path) -> None:
    async with (
        providing(tmp_path, denies="access_denied") as provider,
        serving(Cluster(), provider) as url,
        reading(url) as ann,
    ):
        answer = await sign_in(ann, provider)
        assert answer.status == 401
        assert "did not let you in (access_denied: no <b>)" in await read(answer)
        assert "no <b>" not in await answer.text()


async def test_a_wrong_secret_is_told_with_its_flag(tmp_path: Path) -> None:
    async with (
        providing(tmp_path) as provider,
        serving(Cluster(), provider, secret="wrong") as url,
        reading(url) as ann,
    ):
        assert "--oidc-client-secret-file" in await read(await sign_in(ann, provider))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Unauthorized("nobody"), "its API server trust the same issuer and client (--oidc-issuer-url"),
        (Unavailable("nothing answers"), "does not say who you are: nothing answers"),
    ],
)
async def test_a_cluster_that_does_not_take_the_provider_at_its_word_says_so(
    tmp_path: Path, error: ApiError, said: str
) -> None:
    cluster = Cluster()
    cluster.refuses = error
    async with providing(tmp_path) as provider, serving(cluster, provider) as url, reading(url) as ann:
        answer = await sign_in(ann, provider, "/new")
        assert answer.status == 401
        text = await read(answer)
        assert said in text
        assert 'name="next" value="/new"' in text, "the page that was asked for is not lost"


async def test_when_there_is_no_room_for_another_session_it_is_said(tmp_path: Path) -> None:
    async with (
        providing(tmp_path) as provider,
        serving(Cluster(), provider, sessions=Sessions(over_all=0)) as url,
        reading(url) as ann,
    ):
        answer = await sign_in(ann, provider)
        assert answer.status == 503
        assert "no room for another one" in await read(answer)


async def _lie(_: web.Request) -> web.StreamResponse:
    return web.Response(text="<html>", status=200)


async def _redirect(_: web.Request) -> web.StreamResponse:
    raise web.HTTPTemporaryRedirect("https://localhost:1/")


async def _have_no_end(request: web.Request) -> web.StreamResponse:
    answer = web.StreamResponse()
    await answer.prepare(request)
    with_room = b"x" * 2**16
    for _ in range(200):  # 12 MB, of which nobody reads more than one
        await answer.write(with_room)
    return answer


@pytest.mark.parametrize(
    ("path", "instead", "said"),
    [
        ("/.well-known/openid-configuration", _lie, "does not describe an OpenID Connect provider"),
        ("/.well-known/openid-configuration", _redirect, "answers 307"),
        ("/.well-known/openid-configuration", _have_no_end, "more than 1048576 bytes"),
        ("/token", _lie, "no answer of OpenID Connect"),
        ("/token", _redirect, "no answer of OpenID Connect"),
        ("/token", _have_no_end, "more than 1048576 bytes"),
    ],
)
async def test_a_provider_that_answers_nonsense_is_named(tmp_path: Path, path: str, instead: Any, said: str) -> None:
    async with providing(tmp_path) as provider, serving(Cluster(), provider) as url, reading(url) as ann:
        provider.instead[path] = instead
        begun = await start_sign_in(ann)
        answer = begun
        if begun.status == 303:
            answer = await come_back(ann, await ask_provider(provider, begun.headers["Location"]))
        text = await read(answer)
        assert said in text
        assert URL(provider.issuer).authority in text
        del provider.instead[path]
        assert (await sign_in(ann, provider)).status == 200, "the next one is not held up"


async def test_a_provider_that_is_not_there_or_not_trusted_is_named(tmp_path: Path) -> None:
    async with providing(tmp_path) as provider:
        for issuer, trust, said in (
            (
                "https://localhost:1",
                provider.trust(),
                "localhost:1 cannot be reached from the console: Connection refused",
            ),
            (provider.issuer, build_trust(None), "gives its authority with --oidc-ca"),
        ):
            asked = OidcProvider(oidc.Registration(issuer, CLIENT), trust, Cluster().enter)
            with pytest.raises(oidc.Unreachable) as raised:
                await asked.begin("https://console/sign-in/done", "/")
            assert said in str(raised.value)
            await asked.close()


async def test_a_provider_is_asked_for_its_addresses_once_an_hour(tmp_path: Path) -> None:
    now, asked = [NOW], []
    async with providing(tmp_path) as provider:
        right = provider._discover

        async def count(request: web.Request) -> web.StreamResponse:
            asked.append(now[0])
            return await right(request)

        provider.instead["/.well-known/openid-configuration"] = count
        by_provider = OidcProvider(
            oidc.Registration(provider.issuer, CLIENT), provider.trust(), Cluster().enter, clock=lambda: now[0]
        )
        for moment in (NOW, NOW + 3599, NOW + 3600):
            now[0] = moment
            await by_provider.begin("https://console/sign-in/done", "/")
        await by_provider.close()
    assert asked == [NOW, NOW + 3600]


# -- sessions that go on


def tokens(number: int, expires: float, refresh: str = "r") -> oidc.Tokens:
    return oidc.Tokens(f"token-{number}", refresh, "ann", "n", expires)


class Renewing:
    """Credentials whose tokens live for 300 s. `answers`: what the provider gives, an error or seconds of life."""

    def __init__(self, *answers: oidc.Refused | float, refresh: str = "r") -> None:
        self.now, self.asked, self._answers = NOW, 0, list(answers)
        first = tokens(0, NOW + 300, refresh)
        self.credentials = RenewedCredentials(first, self._renew, "id.example.com", lambda: self.now)

    async def _renew(self, _: oidc.Tokens) -> oidc.Tokens:
        self.asked += 1
        await asyncio.sleep(0)
        answer = self._answers.pop(0)
        if isinstance(answer, oidc.Refused):
            raise answer
        return tokens(self.asked, self.now + answer)

    async def show(self, after: float) -> str:
        """The token of a request, or how it fails."""
        self.now = NOW + after
        try:
            return (await self.credentials.get()).token
        except ApiError as error:
            return f"{error.code} {error.message}"


SILENT = oidc.Unreachable(phrase("{host} answers 503: try again later", host="id.example.com"))
REFUSED = oidc.Refused(phrase("{host} does not renew your sign-in any more (gone)", host="id.example.com"))


async def test_a_token_is_renewed_before_it_expires_once_for_all_requests() -> None:
    world = Renewing(300.0, 40.0, 300.0)
    assert await world.show(239) == "token-0"
    world.now = NOW + 241
    assert {each.token for each in await asyncio.gather(*(world.credentials.get() for _ in range(9)))} == {"token-1"}
    assert world.asked == 1
    assert await world.show(482) == "token-2"
    assert await world.show(511) == "token-2", "of a token that lives for 40 s, a quarter is left"
    assert await world.show(513) == "token-3"


async def test_a_provider_that_does_not_answer_is_asked_again_and_ends_no_session() -> None:
    world = Renewing(SILENT, SILENT, SILENT, 300.0)
    assert await world.show(250) == "token-0", "it is good for some time"
    assert await world.show(250 + AGAIN_SECONDS - 1) == "token-0" and world.asked == 1
    assert await world.show(250 + AGAIN_SECONDS) == "token-0" and world.asked == 2
    assert await world.show(301) == "503 your sign-in is not renewed: id.example.com answers 503: try again later"
    assert await world.show(302) == "503 your sign-in is not renewed: id.example.com answers 503: try again later"
    assert world.asked == 3, "nobody asks it in a loop"
    assert await world.show(330) == "token-4"


async def test_a_provider_that_refuses_ends_the_session_and_is_not_asked_again() -> None:
    world = Renewing(REFUSED)
    for after in (250, 251, 400):
        assert await world.show(after) == "401 id.example.com does not renew your sign-in any more (gone)"
    assert world.asked == 1
    assert str(world.credentials.over) == "id.example.com does not renew your sign-in any more (gone)"


async def test_without_a_refresh_token_a_session_ends_with_its_token() -> None:
    world = Renewing(refresh="")
    assert await world.show(299) == "token-0"
    assert await world.show(300) == "401 your sign-in by id.example.com has expired, and it gave nothing to renew it"
    assert world.asked == 0


async def test_a_token_that_the_api_never_took_is_not_renewed_and_one_that_it_took_is_renewed_once() -> None:
    world = Renewing(300.0)
    first = await world.credentials.get()
    assert await world.credentials.replace(first) is None
    world.credentials.accept(first)
    second = await world.credentials.replace(first)
    assert second is not None and second.token == "token-1"
    assert await world.credentials.replace(first) == second, "another request had the old one"
    assert await world.credentials.replace(second) is None
    assert world.asked == 1


async def test_who_has_left_is_forgotten() -> None:
    world = Renewing()
    await world.credentials.close()
    assert (await world.show(1)).startswith("401 ")
    assert "token-0" not in repr(vars(world.credentials)) and world.credentials._credential == Credential("", expires=0)


async def _ask(page: PageContext) -> Mapping[str, Any]:
    await page.api.get(PADDLE, "default", "any")
    return {"status": 200, "said": f"of-{page.identity.name}"}


ASKING = Screen("notice", "/", phrase("Jobs"), lambda *_: (), _ask)
"""A page that asks the API each time."""


async def test_requests_of_a_reader_carry_renewed_tokens_and_a_refusal_ends_the_session_with_its_reason(
    tmp_path: Path,
) -> None:
    now = [time.time()]
    cluster = Cluster()
    async with (
        providing(tmp_path, lives=300.0, now=lambda: now[0], renewed={"nonce": None}) as provider,
        serving(cluster, provider, clock=lambda: now[0], screens=[ASKING]) as url,
        reading(url) as ann,
    ):
        await sign_in(ann, provider)
        first = await cluster.credentials["ann"].get()
        now[0] += 290
        async with ann.get("/") as page:
            assert "of-ann" in await page.text()
        assert await cluster.credentials["ann"].get() != first
        assert [form["grant_type"] for form in provider.posts] == ["authorization_code", "refresh_token"]
        provider.renewed = {"sub": "ben"}
        now[0] += 290
        async with ann.get("/") as page:
            assert page.status == 401
            text = await read(page)
        assert "your session has ended: the ID token of" in text and "(sub)" in text
        assert "Sign in with" in text
        async with ann.get("/") as page:
            assert "has expired or was not renewed" in await read(page)
    assert cluster.credentials == {}


async def test_an_open_page_says_that_its_sign_in_was_not_renewed(tmp_path: Path) -> None:
    now = [time.time()]
    async with (
        providing(tmp_path, renews=False, now=lambda: now[0]) as provider,
        serving(Cluster(), provider, clock=lambda: now[0]) as url,
        reading(url) as ann,
    ):
        await sign_in(ann, provider)
        now[0] += 3601
        async with asyncio.timeout(180), ann.get("/live") as stream:
            text = (await stream.content.read()).decode()
        assert "your session has ended: your sign-in by localhost" in text


# -- a provider that others wrote


@contextmanager
def mocking(directory: Path) -> Iterator[Provider]:
    """oidc-provider-mock, with the certificate of a test's own authority."""
    import werkzeug.serving  # late, as all that it brings along is for one test
    from oidc_provider_mock import app as build_mock

    certificates = make_certificates(directory, time.time())
    context = certificates.context()
    server = werkzeug.serving.make_server("localhost", 0, build_mock(), threaded=True, ssl_context=context)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield Provider(certificates, f"https://localhost:{server.server_port}")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def test_a_reader_signs_in_by_a_provider_that_others_wrote(tmp_path: Path) -> None:
    with mocking(tmp_path) as provider:
        async with serving(Cluster(), provider) as url, reading(url) as ann:
            begun = await start_sign_in(ann, "/new")
            async with ClientSession(connector=TCPConnector(ssl=provider.trust())) as browser:
                address = URL(begun.headers["Location"], encoded=True)
                async with browser.post(address, data={"sub": "ann"}, allow_redirects=False) as answer:
                    back = answer.headers["Location"]
            done = await come_back(ann, back)
            assert done.status == 200, await read(done)
            async with ann.get("/") as page:
                assert "of-ann" in await page.text()


# -- settings


def test_files_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    empty, missing = tmp_path / "empty", tmp_path / "missing"
    empty.write_text("\n")
    for read_file, path, said in (
        (read_secret, missing, "--oidc-client-secret-file: cannot use"),
        (read_secret, empty, "is empty"),
        (build_trust, missing, "--oidc-ca: cannot use"),
        (build_trust, empty, "--oidc-ca: cannot use"),
    ):
        with pytest.raises(CannotServe, match=said):
            read_file(path)  # type: ignore[operator]
    (tmp_path / "secret").write_text("s3cret\n")
    assert (read_secret(tmp_path / "secret"), read_secret(None)) == ("s3cret", "")


@pytest.mark.slow
def test_nothing_of_it_is_imported_without_the_flags() -> None:
    program = (
        "import sys, paddock.app.consoles.cluster, paddock.cli.verbs.console\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('oauthlib', 'jwt') or 'oidc' in name])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_registration_names_its_provider_by_the_host() -> None:
    registration = oidc.Registration("https://id.example.com:8443/realms/lab", CLIENT)
    assert registration.host == "id.example.com:8443"
    assert replace(registration, issuer="https://id.example.com").host == "id.example.com"
