"""Who somebody is to a registry: what `docker login` has kept.

Docker's config.json has it itself (`auths`), or names a program that keeps it (`credHelpers`, `credsStore`). Source:
docs.docker.com, "docker login", "Credential stores". What is read is never printed. `find_login` is pure.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paddock.images.errors import ImageError
from paddock.images.references import DOCKER_HUB
from paddock.words.os_errors import explain_unreadable
from paddock.words.phrases import phrase

_HUB_KEY = "https://index.docker.io/v1/"
_TOKEN_USER = "<token>"  # noqa: S105 - what a helper says in place of a user
_HELPER_SECONDS = 60.0
_LONGEST = 2**20
"""Bytes of config.json and of an answer of a helper."""


@dataclass(frozen=True, slots=True)
class Login:
    """A user of a registry."""

    user: str = ""
    password: str = field(default="", repr=False)
    identity_token: str = field(default="", repr=False)
    """In place of a password: it is exchanged for tokens (OAuth 2)."""


@dataclass(frozen=True, slots=True)
class Helper:
    """The program `docker-credential-NAME`, which is asked for the key."""

    name: str
    key: str


def config_file(environ: Mapping[str, str], home: Path) -> Path:
    """Docker's config.json."""
    return Path(environ.get("DOCKER_CONFIG") or home / ".docker") / "config.json"


def read_docker_config(path: Path) -> dict[str, Any]:
    """Empty where there is none. Raises `ImageError` for one that cannot be read."""
    try:
        with path.open("rb") as stream:
            parsed = json.loads(stream.read(_LONGEST + 1))
    except FileNotFoundError:
        return {}
    except OSError as error:
        said = phrase("{file}: {why}", file=str(path), why=explain_unreadable(error))
        raise ImageError(said, is_mistake=True) from error
    except ValueError as error:
        said = phrase("{file} is no JSON, as `docker login` writes it: mend it or remove it", file=str(path))
        raise ImageError(said, is_mistake=True) from error
    return parsed if isinstance(parsed, dict) else {}


def find_login(config: Mapping[str, Any], host: str) -> tuple[Helper | None, Login | None]:
    """What config.json says of a registry: the program that is to be asked, and what stands in the file itself, which
    counts where the program knows nothing. Pure."""
    key = _HUB_KEY if host == DOCKER_HUB else host
    helpers, store = config.get("credHelpers"), config.get("credsStore")
    named = helpers.get(host) or helpers.get(key) if isinstance(helpers, Mapping) else None
    program = named or store
    helper = Helper(program, key) if isinstance(program, str) and re.fullmatch(r"[\w.-]+", program) else None
    auths = config.get("auths")
    entries = auths if isinstance(auths, Mapping) else {}
    found = entries.get(key) or next((each for name, each in entries.items() if _host_of(str(name)) == host), None)
    return helper, _read_entry(found) if isinstance(found, Mapping) else None


def _host_of(key: str) -> str:
    """`https://registry.example.com/v2/` -> `registry.example.com`"""
    host = re.sub(r"^https?://", "", key).partition("/")[0]
    return DOCKER_HUB if host in ("index.docker.io", "registry-1.docker.io") else host


def _read_entry(entry: Mapping[str, Any]) -> Login | None:
    user, password = str(entry.get("username") or ""), str(entry.get("password") or "")
    if encoded := entry.get("auth"):
        try:
            user, _, password = base64.b64decode(str(encoded)).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return None
    token = str(entry.get("identitytoken") or "")
    # a NUL ends what some versions of Docker wrote
    return Login(user, password.rstrip("\0"), token) if token or user else None


async def fetch_login(host: str, environ: Mapping[str, str] | None = None, home: Path | None = None) -> Login | None:
    """The user of a registry; None where nobody has logged in. Raises `ImageError`."""
    environ = os.environ if environ is None else environ
    helper, written = find_login(read_docker_config(config_file(environ, home or Path.home())), host)
    asked = await _ask(helper, environ) if helper is not None else None
    return asked or written


async def _ask(helper: Helper, environ: Mapping[str, str]) -> Login | None:
    program = f"docker-credential-{helper.name}"
    try:
        child = await asyncio.create_subprocess_exec(
            program, "get", env=dict(environ), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
    except OSError as error:
        said = phrase(
            "Docker's config.json names {program} for {registry}, and it cannot be started: {why}",
            program=program, registry=helper.key, why=error.strerror or str(error),
        )  # fmt: skip
        raise ImageError(said, is_mistake=True) from error
    try:
        output, _ = await asyncio.wait_for(child.communicate(helper.key.encode()), _HELPER_SECONDS)
    except TimeoutError as error:
        said = phrase(
            "{program}, which Docker's config.json names for {registry}, has not answered within {seconds} s",
            program=program, registry=helper.key, seconds=f"{_HELPER_SECONDS:.0f}",
        )  # fmt: skip
        raise ImageError(said) from error
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    # it ends with 1 where it knows nothing of the registry: others may be asked without a user
    return read_answer(output) if child.returncode == 0 else None


def read_answer(output: bytes) -> Login | None:
    """What a helper has answered: `{"ServerURL": …, "Username": …, "Secret": …}`. Pure."""
    try:
        said = json.loads(output[:_LONGEST])
    except ValueError:
        return None
    if not isinstance(said, dict) or not said.get("Secret"):
        return None
    user, secret = str(said.get("Username") or ""), str(said["Secret"])
    return Login(identity_token=secret) if user == _TOKEN_USER else Login(user, secret)
