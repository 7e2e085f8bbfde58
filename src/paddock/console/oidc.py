"""OpenID Connect as a console speaks it: the authorization code flow with PKCE (OpenID Connect Core 1.0, RFC 6749, RFC
7636, RFC 9207). Pure, but for random secrets: `app.consoles.oidc` sends what is built here, and brings what is read.

The signature of an ID token is not checked: it comes from the provider over TLS, without the browser between (Core
3.1.3.7, 6), and the API server checks it with each request.
"""

from __future__ import annotations

import hmac
import re
import secrets
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, quote_plus, urlsplit

import jwt
import msgspec
from oauthlib.oauth2 import OAuth2Error, WebApplicationClient

from paddock.kube.times import Moment
from paddock.words.phrases import Foreign, Phrase, phrase

LONGEST_TOKEN = 16 * 2**10
"""Bytes: an API server takes no longer header."""
LONGEST_ANSWER = 2**20
"""Bytes of an answer of a provider; those of large providers have some KiB."""
BEGUN_SECONDS = 600.0
MOST_BEGUN = 1000
"""Sign-ins that are begun and not done; more than `sign_in_limit.OVER_ALL` lets begin in that time are none."""
_SKEW_SECONDS = 60.0
"""How far the clocks of console and provider may differ."""
_SECRET_BYTES = 32
_LONGEST_SAID = 300
"""Characters of a provider's own words that are shown."""


class Refused(Exception):
    """No sign-in. `said`: whose fault it is, and what to do."""

    def __init__(self, said: Phrase) -> None:
        super().__init__(str(said))
        self.said = said


class Unreachable(Refused):
    """The provider does not answer, or not now: the same may work later."""


@dataclass(frozen=True, slots=True)
class Registration:
    """This console as the provider knows it."""

    issuer: str
    client: str
    secret: str = field(default="", repr=False)
    """Empty of a public client."""
    scopes: tuple[str, ...] = ()

    @property
    def host(self) -> str:
        """How pages call the provider."""
        return urlsplit(self.issuer).netloc.rpartition("@")[2]


@dataclass(frozen=True, slots=True)
class Endpoints:
    authorization: str
    token: str
    secret_in_body: bool = False
    """`client_secret_post`; else it goes by HTTP Basic, which each provider takes unless it says otherwise."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A sign-in that is under way."""

    state: str = field(repr=False)
    nonce: str = field(repr=False)
    verifier: str = field(repr=False)
    browser: str = field(repr=False)
    """What the cookie of the browser that began it says."""
    redirect: str
    """Where the provider sends the browser back to."""
    following: str
    """The page to which the reader goes on."""
    at: Moment


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a provider gives for a code, or for a refresh token."""

    id: str = field(repr=False)
    refresh: str = field(repr=False)
    """Empty if the provider gave none."""
    subject: str
    """Whose they are."""
    nonce: str = field(repr=False)
    expires: Moment
    """Of the ID token."""


@dataclass(frozen=True, slots=True)
class Post:
    """A request to a provider: a form."""

    address: str
    body: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)


class Beginnings:
    """Sign-ins that are under way, each for ten minutes and for one use. Beyond `most`, the oldest gives way."""

    def __init__(self, most: int = MOST_BEGUN) -> None:
        self._most = most
        self._begun: dict[str, Begun] = {}

    def add(self, begun: Begun) -> None:
        """Drops those whose time is over, which stand first."""
        fresh = [each for each in self._begun.values() if begun.at - each.at <= BEGUN_SECONDS]
        self._begun = {each.state: each for each in (*fresh[-(self._most - 1) :], begun)}

    def take(self, state: str, browser: str, now: Moment) -> Begun | None:
        """The one of this state, for the browser that began it; it is used up by that. None for any other: who has not
        the cookie uses nothing up."""
        found = self._begun.get(state)
        if found is None or not hmac.compare_digest(found.browser.encode(), browser.encode(errors="surrogateescape")):
            return None
        del self._begun[state]
        return found if now - found.at <= BEGUN_SECONDS else None

    def __len__(self) -> int:
        return len(self._begun)


def find_misfit(issuer: str) -> Phrase | None:
    """Why this is no issuer; None if it is one (Core 1.2: HTTPS, no query and no fragment; Kubernetes wants the
    same)."""
    try:
        read = urlsplit(issuer)
        _ = read.port
    except ValueError:
        return phrase("it is no address")
    if read.scheme != "https" or not read.hostname or not issuer.isascii() or not issuer.isprintable():
        return phrase("it has to begin with https:// and the name of a host")
    if "?" in issuer or "#" in issuer or "@" in read.netloc:
        return phrase("it has no user, no query and no fragment")
    return None


def begin(redirect: str, following: str, now: Moment) -> Begun:
    state, nonce, browser = (secrets.token_urlsafe(_SECRET_BYTES) for _ in range(3))
    verifier = WebApplicationClient("").create_code_verifier(64)
    return Begun(state, nonce, verifier, browser, redirect, following, now)


def address_of_discovery(issuer: str) -> str:
    return issuer.rstrip("/") + "/.well-known/openid-configuration"


class _Discovery(msgspec.Struct):
    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    token_endpoint_auth_methods_supported: Sequence[str] = ("client_secret_basic",)


def read_endpoints(registration: Registration, status: int, body: bytes) -> Endpoints:
    """Of a discovery document (OpenID Connect Discovery 1.0, 4). Raises `Refused`."""
    host, address = registration.host, address_of_discovery(registration.issuer)
    if status != 200:
        said = phrase(
            "{host} answers {status} at {address}: the administrator of this console checks --oidc-issuer",
            host=host, status=status, address=address,
        )  # fmt: skip
        raise (Unreachable if status >= 500 or status == 429 else Refused)(said)
    try:
        read = msgspec.json.decode(body, type=_Discovery)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        said = phrase(
            "what {host} answers at {address} does not describe an OpenID Connect provider: the administrator of this "
            "console checks --oidc-issuer",
            host=host, address=address,
        )  # fmt: skip
        raise Refused(said) from None
    if read.issuer != registration.issuer:
        said = phrase(
            "{host} calls itself {found}, and this console trusts {issuer} alone, letter by letter: the administrator "
            "of this console checks --oidc-issuer",
            host=host, found=_cut(read.issuer), issuer=registration.issuer,
        )  # fmt: skip
        raise Refused(said)
    for each in (read.authorization_endpoint, read.token_endpoint):
        if find_misfit(each.partition("?")[0]):
            said = phrase("{host} names an address that is not of HTTPS: {found}", host=host, found=_cut(each))
            raise Refused(said)
    methods = read.token_endpoint_auth_methods_supported
    in_body = "client_secret_basic" not in methods and "client_secret_post" in methods
    return Endpoints(read.authorization_endpoint, read.token_endpoint, in_body)


def build_authorization(registration: Registration, endpoints: Endpoints, begun: Begun) -> str:
    """Where the browser goes, to be signed in."""
    client = WebApplicationClient(registration.client)
    return str(
        client.prepare_request_uri(
            endpoints.authorization,
            redirect_uri=begun.redirect,
            scope=list(dict.fromkeys(("openid", *registration.scopes))),
            state=begun.state,
            nonce=begun.nonce,
            code_challenge=client.create_code_challenge(begun.verifier, "S256"),
            code_challenge_method="S256",
        )
    )


def read_code(registration: Registration, begun: Begun, query: str) -> str:
    """The code in what the browser brought back (`query` as it stands in the address). Raises `Refused`."""
    client = WebApplicationClient(registration.client)
    issuers = parse_qs(query).get("iss", [])
    if issuers and issuers != [registration.issuer]:  # RFC 9207
        said = phrase("this answer is of {found}, not of {host}", found=_cut(issuers[0]), host=registration.host)
        raise Refused(said)
    try:
        # Only its query is read; oauthlib wants to see HTTPS, and through `kubectl port-forward` there is none.
        read = client.parse_request_uri_response(f"https://console/?{query}", begun.state)
    except OAuth2Error as error:
        raise Refused(_say_refusal(registration, begun.redirect, error.error, error.description or "")) from None
    return str(read["code"])


def build_exchange(registration: Registration, endpoints: Endpoints, begun: Begun, code: str) -> Post:
    """Asks for the tokens of a code."""
    client = WebApplicationClient(registration.client)
    body = client.prepare_request_body(
        code, begun.redirect, code_verifier=begun.verifier, **_prove_in_body(registration, endpoints)
    )
    return Post(endpoints.token, body, _build_headers(registration, endpoints))


def build_renewal(registration: Registration, endpoints: Endpoints, tokens: Tokens) -> Post:
    """Asks for new tokens in place of these."""
    client = WebApplicationClient(registration.client)
    proof = _prove_in_body(registration, endpoints)
    if proof.pop("include_client_id"):
        proof["client_id"] = registration.client
    body = client.prepare_refresh_body(refresh_token=tokens.refresh, **proof)
    return Post(endpoints.token, body, _build_headers(registration, endpoints))


def _prove_in_body(registration: Registration, endpoints: Endpoints) -> dict[str, Any]:
    if registration.secret and endpoints.secret_in_body:
        return {"include_client_id": True, "client_secret": registration.secret}
    return {"include_client_id": not registration.secret}


def _build_headers(registration: Registration, endpoints: Endpoints) -> Mapping[str, str]:
    headers = {"Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"}
    if registration.secret and not endpoints.secret_in_body:  # RFC 6749, 2.3.1
        pair = f"{quote_plus(registration.client)}:{quote_plus(registration.secret)}"
        headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
    return headers


class _Answer(msgspec.Struct):
    id_token: str = ""
    refresh_token: str = ""
    error: str = ""
    error_description: str = ""


def read_tokens(
    registration: Registration, asked: Begun | Tokens, status: int, body: bytes, now: Moment
) -> Tokens:  # fmt: skip
    """Of the answer to `build_exchange`, for a sign-in that was begun, or to `build_renewal` of these tokens: an answer
    without a new refresh token keeps the old one (RFC 6749, 6). Raises `Refused`."""
    host = registration.host
    try:
        answer = msgspec.json.decode(body, type=_Answer)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        if status >= 500 or status == 429:
            raise Unreachable(phrase("{host} answers {status}: try again later", host=host, status=status)) from None
        said = phrase(
            "{host} answers {status} and something that is no answer of OpenID Connect", host=host, status=status
        )
        raise Refused(said) from None
    redirect = asked.redirect if isinstance(asked, Begun) else ""
    if answer.error in ("temporarily_unavailable", "server_error") or (status >= 500 and not answer.error):
        raise Unreachable(phrase("{host} answers {status}: try again later", host=host, status=status))
    if answer.error or status != 200:
        raise Refused(_say_refusal(registration, redirect, answer.error or str(status), answer.error_description))
    if not answer.id_token:
        raise Refused(phrase("{host} gave no ID token: it does not speak OpenID Connect with this client", host=host))
    refresh = answer.refresh_token or (asked.refresh if isinstance(asked, Tokens) else "")
    return _read_id_token(registration, asked, answer.id_token, refresh, now)


def _read_id_token(
    registration: Registration, asked: Begun | Tokens, token: str, refresh: str, now: Moment
) -> Tokens:  # fmt: skip
    """Raises `Refused` for a token of another issuer, for another client, of another sign-in, that has expired, or that
    no request can carry (Core 3.1.3.7 and 12.2)."""
    try:
        claims = jwt.decode(
            token,
            options={
                "verify_signature": False, "verify_aud": True, "verify_iss": True, "verify_exp": False,
                "require": ["iss", "aud", "sub", "exp"],
            },
            audience=registration.client,
            issuer=registration.issuer,
        )  # fmt: skip
        subject, expires = str(claims["sub"]), float(claims["exp"])
    except (jwt.PyJWTError, TypeError, ValueError, RecursionError) as error:
        raise Refused(_say_lie(registration, str(error))) from None
    renewed = asked if isinstance(asked, Tokens) else None
    nonce = claims.get("nonce")
    if claims.get("azp", registration.client) != registration.client:
        raise Refused(_say_lie(registration, "azp"))
    if nonce != asked.nonce and not (renewed and nonce is None):
        raise Refused(_say_lie(registration, "nonce"))
    if renewed and subject != renewed.subject:
        raise Refused(_say_lie(registration, "sub"))
    if not expires > now - _SKEW_SECONDS:
        raise Refused(_say_lie(registration, "exp"))
    if len(token) > LONGEST_TOKEN:
        said = phrase(
            "the ID token of {host} has {count} bytes, and an API server takes {most} at most: your administrator lets "
            "the provider name fewer groups",
            host=registration.host, count=len(token), most=LONGEST_TOKEN,
        )  # fmt: skip
        raise Refused(said)
    return Tokens(token, refresh, subject, asked.nonce, expires)


def _say_lie(registration: Registration, what: str) -> Phrase:
    return phrase(
        "the ID token of {host} is not one of this sign-in ({what}): nobody is signed in. Try again; if it stays so, "
        "the administrator of this console looks at the provider, at --oidc-client-id, and at the clocks",
        host=registration.host, what=Foreign(_cut(what)),
    )  # fmt: skip


def _say_refusal(registration: Registration, redirect: str, error: str, description: str) -> Phrase:
    """Of the errors of RFC 6749 (4.1.2.1, 5.2) and OpenID Connect Core (3.1.2.6)."""
    host = registration.host
    why = Foreign(_cut(f"{error}: {description}" if description else error))
    if error in ("access_denied", "login_required", "consent_required", "interaction_required"):
        return phrase("{host} did not let you in ({why}). Who may sign in is decided there", host=host, why=why)
    if error in ("invalid_client", "unauthorized_client"):
        return phrase(
            "{host} does not take this console for its client ({why}): the administrator of this console checks "
            "--oidc-client-id and --oidc-client-secret-file",
            host=host, why=why,
        )  # fmt: skip
    if error == "invalid_grant" and redirect:
        return phrase(
            "{host} does not take this sign-in any more ({why}): begin again. If it stays so, the administrator of "
            "this console checks that the provider knows the address {redirect}",
            host=host, why=why, redirect=redirect,
        )  # fmt: skip
    if error == "invalid_grant":
        return phrase("{host} does not renew your sign-in any more ({why})", host=host, why=why)
    if error == "invalid_scope":
        return phrase("{host} does not give what --oidc-scope asks for ({why})", host=host, why=why)
    return phrase("{host} refused the sign-in ({why})", host=host, why=why)


def _cut(text: str) -> str:
    """Words of a provider, or of whoever wrote an address: one line, and not endless."""
    line = re.sub(r"\s+", " ", "".join(each if each.isprintable() else " " for each in text[: 2 * _LONGEST_SAID]))
    return line if len(line) <= _LONGEST_SAID else line[:_LONGEST_SAID] + "…"
