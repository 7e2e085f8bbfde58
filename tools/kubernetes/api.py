"""Requests to the API server as its administrator, with nothing but the standard library."""

from __future__ import annotations

import json
import socket
import ssl
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from processes import Failure, State


def ask(home: Path, state: State, path: str) -> int | None:
    """The status of GET path as the administrator, or None while nobody answers."""
    try:
        with get(home, state, path) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None


def fetch(home: Path, state: State, path: str, server: str | None = None) -> Any:
    """The object at path, or None."""
    try:
        with get(home, state, path, server=server) as answer:
            return json.load(answer)
    except OSError:
        return None


def get(
    home: Path, state: State, path: str, body: Any = None, method: str | None = None, server: str | None = None
) -> Any:
    """An open answer to GET path, or to POST when there is a body, or to another method."""
    server = server or f"https://{state['address']}:{state['ports']['kube-apiserver']}"
    request = urllib.request.Request(
        server + path,
        headers={"Authorization": "Bearer " + state["users"]["admin"]["token"], "Content-Type": "application/json"},
        data=None if body is None else json.dumps(body).encode(),
        method=method,
    )
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}),
        urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=home / "certs/ca.crt")),
    )
    return opener.open(request, timeout=5)


def create(home: Path, state: State, path: str, body: Any) -> None:
    try:
        get(home, state, path, body=body).close()
    except urllib.error.HTTPError as error:
        if error.code != 409:
            raise Failure(f"POST {path}: {error.code} {error.read().decode()}") from None


def is_open(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False
