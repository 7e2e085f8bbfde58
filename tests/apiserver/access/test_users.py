"""Who asks, and as whom: accounts, impersonation, tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jwt
import pytest
from multidict import CIMultiDict

from paddock.apiserver.access.token_requests import TokenWish, read_token_request
from paddock.apiserver.access.tokens import AUDIENCE, Bound, Tokens
from paddock.apiserver.access.users import User, account_user, list_impersonated, read_impersonated, split_account
from paddock.apiserver.http.files import write_private
from paddock.kube.errors import BadRequest, Invalid
from paddock.kube.meta import Key

BOB = Key("team", "bob")


@pytest.mark.parametrize(
    ("name", "account"),
    [
        ("system:serviceaccount:team:bob", BOB), ("bob", None), ("system:serviceaccount:team", None),
        ("system:serviceaccount::bob", None), ("system:serviceaccount:team:", None),
    ],
)  # fmt: skip
def test_a_service_account_is_a_user_of_its_name(name: str, account: Key | None) -> None:
    assert split_account(name) == account
    if account is not None:
        assert account_user(account).name == name


HEADERS: dict[str, tuple[list[tuple[str, str]], User | None]] = {
    "none": ([], None),
    "a user": ([("Impersonate-User", "ann")], User("ann")),
    "with groups": (
        [("Impersonate-User", "ann"), ("Impersonate-Group", "dev"), ("impersonate-group", "ops")],
        User("ann", ("dev", "ops", "system:authenticated")),
    ),
    "an account has its groups": ([("Impersonate-User", "system:serviceaccount:team:bob")], account_user(BOB)),
    "more about them": (
        [("Impersonate-User", "ann"), ("Impersonate-Uid", "7"), ("Impersonate-Extra-acme.com%2Fproject", "x")],
        User("ann", uid="7", extra={"acme.com/project": ("x",)}),
    ),
}


@pytest.mark.parametrize("case", HEADERS)
def test_whom_a_request_is_done_as(case: str) -> None:
    sent, user = HEADERS[case]
    assert read_impersonated(CIMultiDict(sent)) == user


@pytest.mark.parametrize("header", ["Impersonate-Group", "Impersonate-Uid", "Impersonate-Extra-x"])
def test_nobody_is_impersonated_by_halves(header: str) -> None:
    with pytest.raises(BadRequest, match="--as"):
        read_impersonated(CIMultiDict({header: "x"}))


def test_the_number_of_groups_is_bounded() -> None:
    sent = [("Impersonate-User", "ann"), *(("Impersonate-Group", f"g{number}") for number in range(101))]
    with pytest.raises(BadRequest, match="101 groups"):
        read_impersonated(CIMultiDict(sent))


def test_each_part_of_another_user_needs_a_right() -> None:
    ann = User("ann", ("dev", "system:authenticated"), "7", {"project": ("x", "y")})
    assert list(list_impersonated(ann)) == [
        ("", "users", "", "ann"), ("", "groups", "", "dev"), ("authentication.k8s.io", "uids", "", "7"),
        ("authentication.k8s.io", "userextras/project", "", "x"),
        ("authentication.k8s.io", "userextras/project", "", "y"),
    ]  # fmt: skip
    assert list(list_impersonated(account_user(BOB))) == [("", "serviceaccounts", "team", "bob")]
    masters = User("ann", ("system:masters", "system:authenticated"))
    assert ("", "groups", "", "system:masters") in list_impersonated(masters)


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def build(directory: Path, clock: Clock | None = None) -> Tokens:
    return Tokens(directory / "key", write_private, clock or Clock())


def test_a_token_says_whose_it_is_and_for_which_pod(tmp_path: Path) -> None:
    bound = Bound("Pod", "p", "pod-uid")
    token, expires = build(tmp_path).make(BOB, "bob-uid", 600, bound=bound)
    claims = build(tmp_path).read(token)  # by the key of the file
    assert claims is not None and expires == 1_000_600.0
    assert (claims.account, claims.uid, claims.audiences, claims.bound) == (BOB, "bob-uid", (AUDIENCE,), bound)
    assert claims.user.build_info() == {
        "username": "system:serviceaccount:team:bob", "uid": "bob-uid",
        "groups": ["system:serviceaccounts", "system:serviceaccounts:team", "system:authenticated"],
        "extra": {
            "authentication.kubernetes.io/pod-name": ["p"], "authentication.kubernetes.io/pod-uid": ["pod-uid"]
        },
    }  # fmt: skip
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600


def test_a_token_ends_by_the_clock_of_the_cluster(tmp_path: Path) -> None:
    clock = Clock()
    tokens = build(tmp_path, clock)
    token, expires = tokens.make(BOB, "u", 600)
    clock.now = expires - 1
    assert tokens.read(token) is not None
    clock.now = expires
    assert tokens.read(token) is None


def forge(token: str, **changed: Any) -> list[str]:
    """As whoever has no key writes them."""
    claims = jwt.decode(token, options={"verify_signature": False}) | changed
    head, body, mark = token.split(".")
    fresh = jwt.encode(claims, "secret" * 8, algorithm="HS256").split(".")
    return [
        jwt.encode(claims, None, algorithm="none"), ".".join(fresh), ".".join((head, fresh[1], mark)),
        f"{head}.{body}.", f"{head}.{body}", "..", "a.b.c", "", "é.é.é", "x" * 9_000 + "..",
    ]  # fmt: skip


def test_nobody_else_makes_tokens(tmp_path: Path) -> None:
    tokens = build(tmp_path)
    token, _ = tokens.make(BOB, "u", 600)
    for each in forge(token, sub="system:serviceaccount:kube-system:admin"):
        assert tokens.read(each) is None
    other = Tokens(tmp_path / "other", write_private, Clock())
    assert other.read(token) is None


def test_a_key_that_is_damaged_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"-----BEGIN")
    token, _ = build(tmp_path).make(BOB, "u", 600)
    assert build(tmp_path).read(token) is not None


WISHES: dict[str, tuple[Any, TokenWish | str]] = {
    "nothing": ({}, TokenWish((AUDIENCE,), 3600, None)),
    "no spec": ({"spec": None}, TokenWish((AUDIENCE,), 3600, None)),
    "all": (
        {"spec": {"audiences": ["vault"], "expirationSeconds": 700,
                  "boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "p"}}},
        TokenWish(("vault",), 700, Bound("Pod", "p", "")),
    ),
    "too short": ({"spec": {"expirationSeconds": 599}}, "less than 10 minutes"),
    "too long": ({"spec": {"expirationSeconds": 2**32 + 1}}, "more than"),
    "a text": ({"spec": {"expirationSeconds": "1h"}}, "expirationSeconds"),
    "bound to what cannot be": ({"spec": {"boundObjectRef": {"kind": "Node", "name": "n"}}}, "a Pod or a Secret"),
    "audiences that are none": ({"spec": {"audiences": [7]}}, "a list of texts"),
}  # fmt: skip


@pytest.mark.parametrize("case", WISHES)
def test_what_a_token_is_asked_for(case: str) -> None:
    body, wish = WISHES[case]
    if isinstance(wish, TokenWish):
        assert read_token_request(body) == wish
        return
    with pytest.raises(Invalid, match=wish):
        read_token_request(body)


def test_what_is_no_request_for_a_token() -> None:
    with pytest.raises(BadRequest, match="TokenRequest"):
        read_token_request([])
