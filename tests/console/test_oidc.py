"""What a console asks of an OpenID Connect provider, and what it takes for an answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest

from paddock.console import oidc

ISSUER = "https://id.example.com/realms/lab"
US = oidc.Registration(ISSUER, "console", "s3cret:+", ("groups", "openid", "groups"))
ENDPOINTS = oidc.Endpoints(f"{ISSUER}/authorize?tenant=1", f"{ISSUER}/token")
NOW = 1_000_000.0
BEGUN = oidc.begin("https://console.example.com/sign-in/done", "/new", NOW)
TOKENS = oidc.Tokens("old", "refresh-1", "ann", BEGUN.nonce, NOW)


def discovery(**other: Any) -> bytes:
    told = {"issuer": ISSUER, "authorization_endpoint": f"{ISSUER}/authorize", "token_endpoint": f"{ISSUER}/token"}
    return json.dumps({**told, **other}).encode()


def id_token(**other: Any) -> str:
    claims = {"iss": ISSUER, "aud": "console", "sub": "ann", "exp": NOW + 300, "nonce": BEGUN.nonce, **other}
    return jwt.encode({name: value for name, value in claims.items() if value is not None}, "k" * 32)


def answer(token: str = "", **other: Any) -> bytes:
    return json.dumps({"access_token": "a", "id_token": token or id_token(), **other}).encode()


@pytest.mark.parametrize(
    ("issuer", "good"),
    [
        (ISSUER, True),
        ("https://id.example.com", True),
        ("https://[::1]:8443", True),
        ("http://id.example.com", False),
        ("id.example.com", False),
        ("https://", False),
        ("https://id.example.com?x=1", False),
        ("https://id.example.com#x", False),
        ("https://me@id.example.com", False),
        ("https://id.example.com:port", False),
        ("https://[::1", False),
        ("https://id.exa\nmple.com", False),
    ],
)
def test_an_issuer_is_an_address_of_https_alone(issuer: str, good: bool) -> None:
    assert (oidc.find_misfit(issuer) is None) == good


def test_a_sign_in_is_for_one_use_for_ten_minutes_and_for_the_browser_that_began_it() -> None:
    table = oidc.Beginnings()
    table.add(BEGUN)
    assert table.take(BEGUN.state, "another", NOW) is None
    assert table.take(BEGUN.state, "", NOW) is None
    assert table.take("another", BEGUN.browser, NOW) is None
    assert table.take(BEGUN.state, BEGUN.browser, NOW + 600) == BEGUN, "who has not its cookie has not used it up"
    assert table.take(BEGUN.state, BEGUN.browser, NOW) is None
    table.add(BEGUN)
    assert table.take(BEGUN.state, BEGUN.browser, NOW + 601) is None


def test_sign_ins_that_nobody_finishes_take_a_bounded_room() -> None:
    table = oidc.Beginnings(most=3)
    all_of_them = [oidc.begin("r", "/", NOW + number) for number in range(5)]
    for each in all_of_them:
        table.add(each)
    assert len(table) == 3
    assert [table.take(each.state, each.browser, NOW) for each in all_of_them] == [None, None, *all_of_them[2:]]
    table.add(oidc.begin("r", "/", NOW))
    table.add(oidc.begin("r", "/", NOW + 601))
    assert len(table) == 1


def test_the_browser_is_sent_with_state_nonce_and_a_challenge_and_with_no_secret() -> None:
    address = oidc.build_authorization(US, ENDPOINTS, BEGUN)
    query = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    assert query.pop("code_challenge") != BEGUN.verifier
    assert query == {
        "tenant": "1",
        "response_type": "code",
        "client_id": "console",
        "redirect_uri": "https://console.example.com/sign-in/done",
        "scope": "openid groups",
        "state": BEGUN.state,
        "nonce": BEGUN.nonce,
        "code_challenge_method": "S256",
    }
    for secret in (BEGUN.verifier, BEGUN.browser, "s3cret"):
        assert secret not in address
    assert len({BEGUN.state, BEGUN.nonce, BEGUN.verifier, BEGUN.browser, oidc.begin("", "", NOW).state}) == 5


@pytest.mark.parametrize(
    ("registration", "endpoints", "in_body", "in_header"),
    [
        (US, ENDPOINTS, {}, True),
        (US, replace(ENDPOINTS, secret_in_body=True), {"client_id": "console", "client_secret": "s3cret:+"}, False),
        (replace(US, secret=""), ENDPOINTS, {"client_id": "console"}, False),
    ],
)
def test_the_console_proves_itself_as_the_provider_wants_it(
    registration: oidc.Registration, endpoints: oidc.Endpoints, in_body: Mapping[str, str], in_header: bool
) -> None:
    exchange = oidc.build_exchange(registration, endpoints, BEGUN, "c0de")
    renewal = oidc.build_renewal(registration, endpoints, TOKENS)
    own: Mapping[str, Mapping[str, str]] = {
        exchange.body: {
            "grant_type": "authorization_code", "code": "c0de", "code_verifier": BEGUN.verifier,
            "redirect_uri": BEGUN.redirect,
        },
        renewal.body: {"grant_type": "refresh_token", "refresh_token": "refresh-1"},
    }  # fmt: skip
    for post in (exchange, renewal):
        assert {name: values[0] for name, values in parse_qs(post.body).items()} == {**own[post.body], **in_body}
        # RFC 6749, 2.3.1: both are written as in a form first
        assert (post.headers.get("Authorization") == "Basic Y29uc29sZTpzM2NyZXQlM0ElMkI=") == in_header


def test_nothing_secret_is_shown_of_a_value() -> None:
    shown = repr([US, BEGUN, TOKENS, oidc.build_exchange(US, ENDPOINTS, BEGUN, "c0de")])
    for secret in ("s3cret", "c0de", "refresh-1", BEGUN.state, BEGUN.verifier, BEGUN.browser, BEGUN.nonce):
        assert secret not in shown


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (200, discovery(issuer=f"{ISSUER}/"), "letter by letter"),
        (200, discovery(issuer="https://evil.example"), "calls itself https://evil.example"),
        (200, discovery(token_endpoint="http://id.example.com/token"), "an address that is not of HTTPS"),
        (200, discovery(authorization_endpoint="javascript:alert(1)"), "an address that is not of HTTPS"),
        (200, discovery(issuer=None), "does not describe an OpenID Connect provider"),
        (200, b"<html>", "does not describe an OpenID Connect provider"),
        (200, b"[" * 100_000, "does not describe an OpenID Connect provider"),
        (200, b"\xff", "does not describe an OpenID Connect provider"),
        (404, b"", "answers 404"),
        (302, b"", "answers 302"),
        (503, b"", "answers 503"),
    ],
)
def test_a_provider_that_does_not_describe_itself_truly_signs_nobody_in(status: int, body: bytes, said: str) -> None:
    with pytest.raises(oidc.Refused, match=said) as raised:
        oidc.read_endpoints(US, status, body)
    assert isinstance(raised.value, oidc.Unreachable) == (status == 503)
    assert len(str(raised.value)) < 1000


def test_a_provider_says_where_a_secret_belongs() -> None:
    assert not oidc.read_endpoints(US, 200, discovery()).secret_in_body
    methods = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    assert oidc.read_endpoints(US, 200, discovery(**methods)).secret_in_body


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("error=access_denied&error_description=not%20of%20the%20lab", "did not let you in (access_denied: not of the"),
        ("error=unauthorized_client", "checks --oidc-client-id"),
        ("error=invalid_scope", "what --oidc-scope asks for"),
        ("error=new_error&error_description=" + "x" * 5000, "refused the sign-in (new_error: xxx"),
        ("", "refused the sign-in"),
        ("code=c0de&iss=https://evil.example", "this answer is of https://evil.example"),
    ],
)
def test_why_a_provider_let_nobody_in_is_a_sentence(query: str, said: str) -> None:
    with pytest.raises(oidc.Refused) as raised:
        oidc.read_code(US, BEGUN, f"{query}&state={BEGUN.state}")
    assert said in str(raised.value)
    assert len(str(raised.value)) < 1000


def test_a_code_is_read_with_its_own_state_alone() -> None:
    issuer = "&iss=https%3A%2F%2Fid.example.com%2Frealms%2Flab"
    assert oidc.read_code(US, BEGUN, f"code=c%2Fe&state={BEGUN.state}{issuer}") == "c/e"
    with pytest.raises(oidc.Refused):
        oidc.read_code(US, BEGUN, "code=c0de&state=another")


@pytest.mark.parametrize(
    ("claims", "what"),
    [
        ({"iss": "https://evil.example"}, "issuer"),
        ({"iss": None}, "iss"),
        ({"aud": "another"}, "Audience"),
        ({"aud": None}, "aud"),
        ({"azp": "another"}, "azp"),
        ({"nonce": "another"}, "nonce"),
        ({"nonce": None}, "nonce"),
        ({"sub": None}, "sub"),
        ({"exp": None}, "exp"),
        ({"exp": NOW - 61}, "exp"),
        ({"exp": "soon"}, "could not convert"),
        ({"exp": "nan"}, "exp"),
    ],
)
def test_an_id_token_that_is_not_of_this_sign_in_lets_nobody_in(claims: Mapping[str, Any], what: str) -> None:
    with pytest.raises(oidc.Refused, match="is not one of this sign-in") as raised:
        oidc.read_tokens(US, BEGUN, 200, answer(id_token(**claims)), NOW)
    assert what in str(raised.value)


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (200, answer("no.jwt.here"), "is not one of this sign-in"),
        (200, answer("x"), "is not one of this sign-in"),
        (200, answer(id_token(groups=["g" * 100] * 200)), "name fewer groups"),
        (200, b'{"access_token": "a"}', "gave no ID token"),
        (200, b'{"id_token": 7}', "no answer of OpenID Connect"),
        (200, b"[]", "no answer of OpenID Connect"),
        (200, b"id_token=x", "no answer of OpenID Connect"),
        (200, b"", "no answer of OpenID Connect"),
        (401, b'{"error": "invalid_client"}', "checks --oidc-client-id and --oidc-client-secret-file"),
        (400, b'{"error": "invalid_grant"}', "knows the address https://console.example.com/sign-in/done"),
        (307, b"{}", "refused the sign-in (307)"),
        (500, b"<html>", "answers 500: try again later"),
        (503, b"{}", "answers 503: try again later"),
    ],
)
def test_an_answer_that_gives_no_token_is_a_sentence(status: int, body: bytes, said: str) -> None:
    with pytest.raises(oidc.Refused) as raised:
        oidc.read_tokens(US, BEGUN, status, body, NOW)
    assert said in str(raised.value)
    assert isinstance(raised.value, oidc.Unreachable) == (status >= 500)


def test_renewed_tokens_are_of_the_same_reader_and_keep_what_is_not_new() -> None:
    first = oidc.read_tokens(US, BEGUN, 200, answer(refresh_token="r1"), NOW)
    assert (first.subject, first.refresh, first.expires) == ("ann", "r1", NOW + 300)
    second = oidc.read_tokens(US, first, 200, answer(id_token(nonce=None, exp=NOW + 600)), NOW)
    assert (second.refresh, second.expires) == ("r1", NOW + 600)
    assert oidc.read_tokens(US, second, 200, answer(refresh_token="r2"), NOW).refresh == "r2"
    for other in ({"sub": "ben"}, {"nonce": "another"}, {"iss": "https://evil.example"}):
        with pytest.raises(oidc.Refused, match="is not one of this sign-in"):
            oidc.read_tokens(US, first, 200, answer(id_token(**other)), NOW)
