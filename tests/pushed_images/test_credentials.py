"""Who somebody is to a registry, by what `docker login` has kept."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from paddock.images.challenges import Challenge, read_challenge
from paddock.images.credentials import Helper, Login, fetch_login, find_login, read_answer, read_docker_config
from paddock.images.errors import ImageError


def encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


ME = {"auth": encode("me:pass:word")}


@pytest.mark.parametrize(
    ("config", "host", "helper", "login"),
    [
        ({}, "ghcr.io", None, None),
        ({"auths": {"ghcr.io": ME}}, "ghcr.io", None, Login("me", "pass:word")),
        ({"auths": {"https://ghcr.io/v2/": ME}}, "ghcr.io", None, Login("me", "pass:word")),
        ({"auths": {"ghcr.io": ME}}, "quay.io", None, None),
        ({"auths": {"https://index.docker.io/v1/": ME}}, "docker.io", None, Login("me", "pass:word")),
        ({"auths": {"ghcr.io": {"username": "me", "password": "x"}}}, "ghcr.io", None, Login("me", "x")),
        ({"auths": {"a.io": {"auth": encode("me:"), "identitytoken": "t"}}}, "a.io", None, Login("me", "", "t")),
        ({"auths": {"ghcr.io": {"auth": "%%%"}}}, "ghcr.io", None, None),
        ({"auths": {"ghcr.io": {}}, "credsStore": "pass"}, "ghcr.io", Helper("pass", "ghcr.io"), None),
        ({"credHelpers": {"ghcr.io": "gh"}, "credsStore": "pass"}, "ghcr.io", Helper("gh", "ghcr.io"), None),
        ({"credsStore": "pass"}, "docker.io", Helper("pass", "https://index.docker.io/v1/"), None),
        ({"credsStore": "../evil"}, "ghcr.io", None, None),
        ({"auths": [], "credHelpers": 3, "credsStore": 4}, "ghcr.io", None, None),
    ],
)
def test_what_dockers_config_says_of_a_registry(
    config: dict[str, Any], host: str, helper: Helper | None, login: Login | None
) -> None:
    assert find_login(config, host) == (helper, login)


def test_a_password_is_not_in_the_text_of_a_login() -> None:
    assert "hush" not in repr(Login("me", "hush", "hush"))


@pytest.mark.parametrize(
    ("output", "login"),
    [
        (b'{"ServerURL":"x","Username":"me","Secret":"s"}', Login("me", "s")),
        (b'{"ServerURL":"x","Username":"<token>","Secret":"s"}', Login(identity_token="s")),
        (b'{"Username":"me"}', None),
        (b"credentials not found in native keychain", None),
        (b"[]", None),
    ],
)
def test_what_a_helper_answers(output: bytes, login: Login | None) -> None:
    assert read_answer(output) == login


async def test_a_helper_is_asked_and_the_file_counts_where_it_knows_nothing(tmp_path: Path) -> None:
    program = tmp_path / "docker-credential-mine"
    program.write_text(
        '#!/bin/sh\nread key\n[ "$key" = known.io ] || exit 1\necho \'{"Username":"me","Secret":"s"}\'\n'
    )
    program.chmod(0o755)
    config = {"credsStore": "mine", "auths": {"other.io": ME}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    environ = {"DOCKER_CONFIG": str(tmp_path), "PATH": f"{tmp_path}:/usr/bin:/bin"}
    assert await fetch_login("known.io", environ) == Login("me", "s")
    assert await fetch_login("other.io", environ) == Login("me", "pass:word")
    assert await fetch_login("unknown.io", environ) is None


async def test_a_helper_that_is_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"credsStore": "gone"}')
    with pytest.raises(ImageError, match=r"names docker-credential-gone for ghcr.io, and it cannot be started"):
        await fetch_login("ghcr.io", {"DOCKER_CONFIG": str(tmp_path), "PATH": str(tmp_path)})


def test_a_config_that_is_no_json_is_named(tmp_path: Path) -> None:
    assert read_docker_config(tmp_path / "none.json") == {}
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ImageError, match=r"config\.json is no JSON"):
        read_docker_config(tmp_path / "config.json")


@pytest.mark.parametrize(
    ("headers", "challenge"),
    [
        (['Basic realm="x"'], Challenge("basic")),
        (['Bearer realm="https://a/t",service="s",scope="repository:x:pull"'], Challenge("bearer", "https://a/t", "s")),
        (["bearer realm=https://a/t"], Challenge("bearer", "https://a/t")),
        (['Basic realm="x"', 'Bearer realm="https://a/t"'], Challenge("bearer", "https://a/t")),
        (["Negotiate"], None),
        (["Bearer"], None),
        ([], None),
    ],
)  # fmt: skip
def test_what_a_registry_wants_to_know(headers: list[str], challenge: Challenge | None) -> None:
    assert read_challenge(headers) == challenge
